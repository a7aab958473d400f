"""Every planned trial of both sides is accounted for: planned = completed + failed + excluded + missing."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.run import Role, State
from sitegen.comparison.evidence import PlannedTrial, TrialRun
from sitegen.comparison.selection import EXCLUDED, Selection, Side
from sitegen.comparison.verdict import Count, Unsuccessful


def count_trials(selection: Selection) -> tuple[Count, ...]:
    """One row for each stack and role that was planned or ran."""
    return tuple(count for side in selection.sides for role in Role if (count := _count(side, role)).planned)


def unsuccessful(selection: Selection) -> tuple[Unsuccessful, ...]:
    """Every failed launch and every excluded trial of both sides."""
    return tuple(each for side in selection.sides for each in (*_failed(side), *_excluded(side)))


def _count(side: Side, role: Role) -> Count:
    keys = {run.trial_key for run in side.runs if run.role is role}
    keys |= {row.trial_key for row in side.plans if row.role is role}
    states = [_state(side, key) for key in keys]
    return Count(
        stack=side.stack,
        role=role,
        planned=len(keys),
        completed=states.count(State.COMPLETED.value),
        failed=states.count(State.FAILED.value),
        excluded=states.count(EXCLUDED),
        missing=states.count("missing"),
    )


def _state(side: Side, trial_key: str) -> str:
    """What became of one trial. A success settles it; a run set aside counts as excluded."""
    runs = [run for run in side.runs if run.trial_key == trial_key]
    counting = [run for run in runs if not run.set_aside]
    if any(run.state is State.COMPLETED for run in counting):
        return State.COMPLETED.value
    if counting:
        return State.FAILED.value
    return EXCLUDED if runs or _plan_row(side, trial_key) else "missing"


def _plan_row(side: Side, trial_key: str) -> PlannedTrial | None:
    """The row that excludes a trial, if its newest plan does."""
    return next((row for row in side.plans if row.trial_key == trial_key and row.state == EXCLUDED), None)


def _failed(side: Side) -> Iterable[Unsuccessful]:
    for run in side.runs:
        if run.set_aside:
            yield _aside(run)
        elif run.state is State.FAILED:
            yield Unsuccessful(
                run.stack, run.role, run.repeat, run.state.value, run.reason or "unknown", run.detail, run.run_id
            )


def _aside(run: TrialRun) -> Unsuccessful:
    cause, _, why = (run.set_aside or "").partition(": ")
    return Unsuccessful(run.stack, run.role, run.repeat, EXCLUDED, cause, why or None, run.run_id)


def _excluded(side: Side) -> Iterable[Unsuccessful]:
    ran = {run.trial_key for run in side.runs}
    for row in side.plans:
        if row.state == EXCLUDED and row.trial_key not in ran:
            yield Unsuccessful(row.stack, row.role, row.repeat, EXCLUDED, row.reason or "unknown", row.install, None)
