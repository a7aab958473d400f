"""How much dearer the cheaper side could become: the objective's own interval, as a cost goes with its price."""

from __future__ import annotations

from ledger.benchmark import Benchmark
from sitegen.comparison.flips.found import PriceFlip
from sitegen.comparison.selection import Selection
from sitegen.comparison.verdict import Effect

COST = "cost_per_accepted_result"


def absent(benchmark: Benchmark, effect: Effect) -> str | None:
    """Why there is no price at which the order turns round."""
    if not benchmark.envelope.objective.metric.startswith(COST):
        return f"the objective is {benchmark.envelope.objective.metric}, in which no price takes part"
    if not effect.ratio:
        return effect.absent or "no cost is known on both sides"
    return None


def flip(selection: Selection, benchmark: Benchmark, effect: Effect) -> PriceFlip | None:
    """The factor and the price at which both sides' accepted results would cost the same."""
    if absent(benchmark, effect) or not effect.ratio:
        return None
    baseline, candidate = selection.baseline.stack, selection.candidate.stack
    cheaper, dearer = (candidate, baseline) if effect.ratio < 1 else (baseline, candidate)
    factor, low, high = effect.ratio, effect.low, effect.high
    if cheaper == candidate:
        factor, low, high = 1 / factor, 1 / high if high else None, 1 / low if low else None
    stack = benchmark.stacks.get(cheaper)
    single = stack.price[0] if stack is not None and len(stack.price) == 1 else None
    scale = single.amount if single else None
    return PriceFlip(
        cheaper=cheaper,
        dearer=dearer,
        factor=factor,
        low=low,
        high=high,
        amount=None if scale is None else scale * factor,
        amount_low=None if scale is None or low is None else scale * low,
        amount_high=None if scale is None or high is None else scale * high,
        currency=single.currency if single else None,
        per=single.per if single else None,
        absent=effect.absent if low is None else None,
    )
