"""Steps of unequal work: their times are never ranked. Where the work is known on both sides, throughput is offered."""

from __future__ import annotations

from collections.abc import Iterable

from sitegen.comparison.effect import common_version, measure
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import Interval, geometric_mean, unpaired_ratio
from sitegen.comparison.verdict import FieldComparison, Sameness, Treatment, WorkDone

WORK = "card.workload.work_per_step."
"""Prefix of the fields that say how much one step does."""
UNITS = {"tokens": "tokens/s", "samples": "samples/s"}
"""What work is counted in, the finer first: sequences of different lengths are different work."""
PER_STEP = "step_time"
"""Metrics of this name, also by a source's own definition (`step_time@SOURCE`), are seconds a step."""


def work_done(selection: Selection, metric: str, fields: Iterable[FieldComparison]) -> WorkDone | None:
    """Throughput of both sides where their steps do unequal work; None where they do not, or that is not known."""
    if metric.partition("@")[0] != PER_STEP or not any(_is_unequal_work(field) for field in fields):
        return None
    for name, unit in UNITS.items():
        rates = [_rates(side, metric, common_version(selection, metric), WORK + name) for side in selection.sides]
        if all(rates):
            return _compare(selection, metric, unit, rates[0], rates[1])
    return None


def unordered(metric: str, sides: Iterable[Side]) -> str | None:
    """Why stacks have no order by a metric: their steps do unequal work, or it is known of some only. Else None."""
    if metric.partition("@")[0] != PER_STEP:
        return None
    launched = [side for side in sides if side.timed]
    for name in UNITS:
        amounts = {_work(run, WORK + name) for side in launched for run in side.timed}
        if len(amounts) > 1:
            known = sorted(f"{amount:,.0f}" for amount in amounts if amount is not None)
            some = " and of some it is not known" if None in amounts else ""
            return f"a step does not do the same work on all of them ({' or '.join(known)} {name}{some})"
    return None


def _is_unequal_work(field: FieldComparison) -> bool:
    differs = field.treatment is Treatment.HELD and field.sameness is Sameness.DIFFERENT
    return differs and field.field.startswith(WORK)


def _rates(side: Side, metric: str, version: int | None, field: str) -> list[float]:
    """Work a second of each timed launch; none where one launch lacks the time or the work."""
    found = measure(side, metric, version)
    work = [_work(run, field) for run in found.runs]
    if len(found.runs) < len(side.timed) or None in work or not all(time > 0 for time in found.numbers):
        return []
    return [amount / time for amount, time in zip(work, found.numbers, strict=True) if amount is not None]


def _work(run: TrialRun, field: str) -> float | None:
    try:
        amount = float(run.fields.get(field, ""))
    except ValueError:
        return None
    return amount if amount > 0 else None


def _compare(selection: Selection, metric: str, unit: str, baseline: list[float], candidate: list[float]) -> WorkDone:
    found = unpaired_ratio(baseline, candidate)
    times = [
        geometric_mean(measure(side, metric, common_version(selection, metric)).numbers) for side in selection.sides
    ]
    rates = geometric_mean(baseline), geometric_mean(candidate)
    return WorkDone(
        unit=unit,
        baseline=rates[0],
        candidate=rates[1],
        ratio=rates[1] / rates[0],
        low=found.low if isinstance(found, Interval) else None,
        high=found.high if isinstance(found, Interval) else None,
        turns_round=(times[1] - times[0]) * (rates[1] - rates[0]) > 0,
    )
