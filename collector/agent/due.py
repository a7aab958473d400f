"""What a benchmark's schedule asks for: which runs are too old to settle their trials, and when the next will be.

A trial's age is that of its last attempt, whatever came of it: one that failed is not tried again before its time. The
trials of a benchmark fall due together, since only launches that took turns can be compared: when the oldest is due,
all go along that are older than half the period. So a set that was broken off is completed, and not begun again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from collector.plan import Plan
from collector.settled import SealedRuns
from ledger.run import Reason, Role, Run
from ledger.schedule import Schedule


@dataclass(frozen=True)
class Due:
    """What a schedule asks for now."""

    renew: frozenset[str]
    """Ids of the runs that no longer settle their trials."""
    trials: int
    """How many trials that are."""
    next_at: datetime | None
    """When something falls due next, if nothing is launched before; None without a schedule or without runs."""


def look(schedule: Schedule | None, plan: Plan, sealed: SealedRuns, now: datetime) -> Due:
    """What of `plan.settled` is due `now`."""
    if schedule is None:
        return Due(frozenset(), 0, None)
    keys = {each.trial.trial_key: each.trial.role for each in plan.settled}
    timed = [key for key, role in keys.items() if role is Role.TIMED]
    due: set[str] = set()
    times: list[datetime] = []
    for period, group in ((schedule.every, timed), (schedule.stale_after, list(keys))):
        last = {key: at for key in group if (at := _last(sealed, key)) is not None}
        if period is not None and last:
            due |= _due(last, timedelta(seconds=period), now)
            times.append(min(last.values()) + timedelta(seconds=period))
    runs = {run_id for key in due for run_id, _ in sealed.of(key)}
    return Due(frozenset(runs), len(due), min(times, default=None))


def _due(last: dict[str, datetime], period: timedelta, now: datetime) -> set[str]:
    if now - min(last.values()) < period:
        return set()
    return {key for key, at in last.items() if now - at >= period / 2}


def _last(sealed: SealedRuns, key: str) -> datetime | None:
    return max((_start(run) for run in _attempts(run for _, run in sealed.of(key))), default=None)


def _attempts(runs: Iterable[Run]) -> list[Run]:
    """Those that count as an attempt: a trial that was broken off, or run twice at once, was not tried."""
    return [run for run in runs if run.outcome.reason is not Reason.CANCELLED and not run.duplicate_of_attempt]


def _start(run: Run) -> datetime:
    return datetime.fromisoformat(run.started_at)
