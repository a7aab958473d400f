"""Where the difference lies for work that is done in requests: phases of the time to a result, and factors of its cost.

Phases add up to the mean time of the very same requests. Cost is a product, price x time / acceptance, so its
difference is split with the logarithmic mean (LMDI): contributions add up to it exactly, and swap signs with the sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from ledger.benchmark import Benchmark
from sitegen.comparison.effect import common_version, measure
from sitegen.comparison.meaning import title_of
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import geometric_mean
from sitegen.comparison.verdict import Accounting, Factor, Part

TOTAL = "e2e.mean"
PHASES = ("phase.client_wait", "phase.first_token", "phase.decode")
"""Disjoint, in the order in which they happen; they add up to TOTAL."""
COST = "cost_per_accepted_result"
QUALITY = "acceptance_rate"
HOURLY = frozenset({"device_hour", "node_hour"})


def account(selection: Selection, benchmark: Benchmark) -> Accounting:
    """Phases of the mean time to a result, and factors of the cost, from the timed launches."""
    parts = _phases(selection, benchmark)
    difference = _difference(selection, TOTAL)
    known = [part.difference for part in parts if part.difference is not None]
    whole = difference is not None and len(known) == len(parts) > 0
    residual = round(difference - sum(known), 12) if whole and difference is not None else None
    closure = 1 - abs(residual) / abs(difference) if residual is not None and difference else None
    factors = _factors(selection, benchmark)
    explained, absent = _explained(selection, benchmark, factors, closure)
    runs = [tuple(run.run_id for run in side.timed) for side in selection.sides]
    return Accounting(
        parts=parts if whole else (),
        difference=difference,
        residual=residual,
        closure=closure,
        explained_share=explained,
        profiler_overhead={},
        baseline_runs=runs[0],
        candidate_runs=runs[1],
        absent=absent,
        total="mean time to a result",
        of="the timed launches' own requests",
        per="result",
        factors=factors,
        gross=sum(map(abs, known)) if whole else None,
    )


def _phases(selection: Selection, benchmark: Benchmark) -> tuple[Part, ...]:
    found = []
    for name in PHASES:
        baseline, candidate = (_mean(selection, side, name) for side in selection.sides)
        if baseline is not None or candidate is not None:
            found.append(Part(name, title_of(name, benchmark), None, baseline, candidate))
    return tuple(found)


def _mean(selection: Selection, side: Side, name: str) -> float | None:
    numbers = measure(side, name, common_version(selection, name)).numbers
    return fmean(numbers) if numbers and len(numbers) == len(side.timed) else None


def _difference(selection: Selection, name: str) -> float | None:
    baseline, candidate = (_mean(selection, side, name) for side in selection.sides)
    return None if baseline is None or candidate is None else candidate - baseline


def _factors(selection: Selection, benchmark: Benchmark) -> tuple[Factor, ...]:
    """Factors of the cost, each with its contribution in money; none where the cost of a side is not known."""
    costs, shares = ([_center(selection, side, name) for side in selection.sides] for name in (COST, QUALITY))
    if None in costs or None in shares:
        return ()
    prices = [_hourly(benchmark, side.stack) for side in selection.sides]
    spent = [float(c or 0) * float(a or 0) for c, a in zip(costs, shares, strict=True)]
    refused = [1 / float(a or 1) for a in shares]
    rows: list[tuple[str, str, str, Sequence[float], Sequence[float]]] = []
    if None not in prices and all(prices):
        hourly = [float(price or 0) for price in prices]
        seconds = [each / price * 3600 for each, price in zip(spent, hourly, strict=True)]
        rows.append(("price", "Price of an hour", "money", hourly, hourly))
        rows.append(("time", "Paid time a result, accepted or not", "s", seconds, seconds))
    else:
        rows.append(("spent", "Price of a result, accepted or not", "money", spent, spent))
    rows.append((QUALITY, "Share that is accepted", "share", [float(a or 0) for a in shares], refused))
    weight = logarithmic_mean(float(costs[0] or 0), float(costs[1] or 0))
    return tuple(
        Factor(name, title, unit, shown[0], shown[1], weight * math.log(factor[1] / factor[0]))
        for name, title, unit, shown, factor in rows
    )


def logarithmic_mean(a: float, b: float) -> float:
    """(b - a) / ln(b / a) of two positive numbers; a where they are equal."""
    return a if math.isclose(a, b, rel_tol=1e-15) else (b - a) / math.log(b / a)


def _center(selection: Selection, side: Side, name: str) -> float | None:
    numbers = measure(side, name, common_version(selection, name)).numbers
    return geometric_mean(numbers) if numbers and min(numbers) > 0 and len(numbers) == len(side.timed) else None


def _hourly(benchmark: Benchmark, stack: str) -> float | None:
    declared = benchmark.stacks.get(stack)
    prices = declared.price if declared else ()
    return prices[0].amount if len(prices) == 1 and prices[0].per in HOURLY else None


def _explained(
    selection: Selection, benchmark: Benchmark, factors: tuple[Factor, ...], closure: float | None
) -> tuple[float | None, str | None]:
    """(how much of the objective's difference is explained, why that is not known)."""
    objective = benchmark.envelope.objective.metric
    if objective == COST:
        return (1.0, None) if factors else (None, "the cost of an accepted result is not known on both sides")
    if objective == QUALITY:
        judged = all(run.items for side in selection.sides for run in side.timed)
        return (1.0, None) if judged else (None, "no item was judged")
    if closure is None:
        return None, "the time to a result has no phases that both sides tell"
    return max(0.0, closure), None
