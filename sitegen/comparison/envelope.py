"""Limits come first: which of the two sides holds each limit of the envelope, judged by bounds and not by points."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.benchmark import Benchmark
from ledger.quantity import Limit
from ledger.run import Reason, Role, State
from sitegen.comparison import items
from sitegen.comparison.effect import LEAST_LAUNCHES, common_version, measure
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.meaning import metric_of
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import Interval, NoInterval, t_interval, wilson_interval
from sitegen.comparison.verdict import LimitCheck, Standing
from sitegen.format import count, value

LAUNCH_RELIABILITY = "launch_reliability"
"""Share of timed launches that complete: over runs, so no metric of one run folder."""


def check_limits(selection: Selection, benchmark: Benchmark) -> tuple[LimitCheck, ...]:
    """Every limit for the baseline, then for the candidate, in the order of the file."""
    return tuple(
        _check(selection, side, metric, limit, benchmark)
        for metric, limit in benchmark.envelope.limits.items()
        for side in selection.sides
    )


def limit_text(limit: Limit, unit: str) -> str:
    """A limit for people: `<= 3`, `<= 500 ms`."""
    return f"{limit.operator} {value(limit.bound, unit)}"


def qualifies(side: Side, checks: Iterable[LimitCheck]) -> Standing:
    """Whether a side holds the whole envelope; a stack that never completes a launch does not."""
    if never_completes(side):
        return Standing.FAILS
    standings = {check.standing for check in checks if check.stack == side.stack}
    if Standing.FAILS in standings:
        return Standing.FAILS
    return Standing.UNKNOWN if Standing.UNKNOWN in standings or not side.timed else Standing.HOLDS


def never_completes(side: Side) -> bool:
    """Whether enough timed launches were made and not one completed."""
    return len(counted(side)) >= LEAST_LAUNCHES and not side.timed


def counted(side: Side) -> list[TrialRun]:
    """Timed launches that say something about reliability: one that somebody cancelled does not."""
    return [run for run in side.of(Role.TIMED) if run.reason != Reason.CANCELLED]


def unit_of(metric: str, benchmark: Benchmark) -> str:
    """The unit of a metric, or of launch reliability."""
    known = metric_of(metric, benchmark)
    return "share" if metric == LAUNCH_RELIABILITY else known.unit if known else ""


def _check(selection: Selection, side: Side, metric: str, limit: Limit, benchmark: Benchmark) -> LimitCheck:
    found, basis = over_launches(selection, side, metric)
    center = found.center
    low, high = (found.low, found.high) if isinstance(found, Interval) else (None, None)
    margin = None if center is None else (limit.bound - center if limit.is_upper else center - limit.bound)
    return LimitCheck(
        stack=side.stack,
        metric=metric,
        unit=unit_of(metric, benchmark),
        value=center,
        low=low,
        high=high,
        limit=limit_text(limit, unit_of(metric, benchmark)),
        margin=margin,
        standing=Standing.FAILS if never_completes(side) else _standing(limit, found),
        basis=basis,
    )


def over_launches(selection: Selection, side: Side, metric: str) -> tuple[Interval | NoInterval, str]:
    """A metric over a side's launches; what is a share of items or requests is judged over those."""
    if metric == LAUNCH_RELIABILITY:
        return _reliability(side)
    if any(run.items for run in side.timed):
        if metric == "acceptance_rate":
            return items.acceptance(side)
        if metric == "request_reliability":
            return items.reliability(side)
    return _metric(selection, side, metric)


def _standing(limit: Limit, found: Interval | NoInterval) -> Standing:
    """`holds` when even the worse bound is inside, `fails` when even the better one is outside."""
    if isinstance(found, NoInterval):
        return Standing.UNKNOWN
    worse, better = (found.high, found.low) if limit.is_upper else (found.low, found.high)
    if limit.allows(worse):
        return Standing.HOLDS
    return Standing.UNKNOWN if limit.allows(better) else Standing.FAILS


def _reliability(side: Side) -> tuple[Interval | NoInterval, str]:
    runs = counted(side)
    completed = sum(run.state is State.COMPLETED for run in runs)
    return wilson_interval(
        completed, len(runs)
    ), f"{completed} of {count(len(runs), 'launch')} completed, Wilson interval"


def _metric(selection: Selection, side: Side, metric: str) -> tuple[Interval | NoInterval, str]:
    """The mean over a side's timed launches, and what it rests on."""
    values = measure(side, metric, common_version(selection, metric))
    numbers, ran = values.numbers, len(side.timed)
    if not numbers:
        return NoInterval("not measured"), _why_absent(side, metric)
    made = count(len(numbers), "launch") if len(numbers) == ran else f"{len(numbers)} of {count(ran, 'launch')}"
    if len(numbers) < 2:
        return NoInterval("one launch", numbers[0]), f"{made}, no interval"
    found = t_interval(numbers)
    if isinstance(found, Interval):
        return found, f"{made}, t interval"
    # Equal values (a deterministic loss) have no estimated spread, but they are what every launch gave.
    return Interval(numbers[0], numbers[0], numbers[0]), f"{made}, all equal"


def _why_absent(side: Side, metric: str) -> str:
    if never_completes(side):
        return f"0 of {count(len(counted(side)), 'launch')} completed"
    rows = (run.find(metric) for run in side.timed)
    reasons = {row.missing_reason for row in rows if row is not None and row.missing_reason}
    return "; ".join(sorted(reasons)) or ("not measured" if side.timed else "no timed launch")
