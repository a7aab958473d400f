"""Where the verdict on cost would turn round: at which demand, and at which price.

The demand's part counts whole machines, whose number jumps: between two jumps nothing changes but their use. The
price's part reads the objective's own interval: a cost is proportional to its price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from sitegen.charts import series
from sitegen.charts.chart import Chart
from sitegen.comparison.verdict import Decision, Verdict
from sitegen.format import number, times

MOST_MACHINES = 12
"""Machines of a side up to which the demand is followed."""
ALIKE = 1e-9


@dataclass(frozen=True)
class Fleet:
    """What one side's machines carry and cost."""

    stack: str
    carries: float
    """Requests a day of one machine, its slowest launch taken."""
    monthly: float
    """Price of one machine's month."""

    def machines(self, demand: float) -> int:
        """Whole machines for a demand in requests a day, at least one."""
        return max(1, math.ceil(demand / self.carries - ALIKE))

    def cost(self, demand: float) -> float:
        """A month of them."""
        return self.machines(demand) * self.monthly


@dataclass(frozen=True)
class Stretch:
    """Demands between which the same side costs less, or neither does."""

    start: float
    end: float
    cheaper: str | None


def stretches(baseline: Fleet, candidate: Fleet, end: float) -> list[Stretch]:
    """From no demand to `end` requests a day, without a gap."""
    jumps = {fleet.carries * count for fleet in (baseline, candidate) for count in range(1, MOST_MACHINES + 1)}
    edges = [0.0, *sorted(jump for jump in jumps if 0 < jump < end), end]
    found: list[Stretch] = []
    for start, stop in pairwise(edges):
        middle = (start + stop) / 2
        costs = [fleet.cost(middle) for fleet in (baseline, candidate)]
        same = abs(costs[0] - costs[1]) <= ALIKE * max(costs)
        cheaper = None if same else (baseline, candidate)[costs[1] < costs[0]].stack
        if found and found[-1].cheaper == cheaper:
            found[-1] = Stretch(found[-1].start, stop, cheaper)
        else:
            found.append(Stretch(start, stop, cheaper))
    return found


def reach(baseline: Fleet, candidate: Fleet, demand: float) -> float:
    """How far the demand is followed: twice what is stated, or three machines of the side that carries less."""
    least, most = sorted((baseline.carries, candidate.carries))
    return min(max(2 * demand, 3 * least, 1.2 * most), MOST_MACHINES * least)


def in_words(baseline: Fleet, candidate: Fleet, demand: float) -> tuple[str, ...]:
    """One sentence a stretch."""
    found = stretches(baseline, candidate, reach(baseline, candidate, demand))
    return tuple(_sentence(each, last=each is found[-1]) for each in found)


def _sentence(stretch: Stretch, *, last: bool) -> str:
    where = f"from {number(stretch.start)} to {number(stretch.end)} requests a day"
    if stretch.start == 0:
        where = f"up to {number(stretch.end)} requests a day"
    elif last:
        where = f"from {number(stretch.start)} requests a day on, as far as was looked ({number(stretch.end)})"
    if stretch.cheaper is None:
        return f"{where[0].upper()}{where[1:]} both cost the same a month."
    return f"{where[0].upper()}{where[1:]} {stretch.cheaper} costs less a month."


def chart(baseline: Fleet, candidate: Fleet, demand: float, currency: str) -> Chart | None:
    """A month's cost over the demand, as steps."""
    end = reach(baseline, candidate, demand)
    lines = [_steps(fleet, end) for fleet in (baseline, candidate)]
    return series.chart(
        "cost-at-demand",
        "What a month costs, by the demand",
        lines,
        x_title="Requests a day",
        y_title="Cost a month",
        unit=currency or "money",
        from_zero=True,
    )


def _steps(fleet: Fleet, end: float) -> series.Line:
    """Two points at each jump, so that a straight line draws a step."""
    x, y = [0.0], [fleet.monthly]
    for count in range(1, MOST_MACHINES + 1):
        jump = count * fleet.carries
        if jump >= end:
            break
        x += [jump, jump]
        y += [count * fleet.monthly, (count + 1) * fleet.monthly]
    return series.Line(fleet.stack, [*x, end], [*y, y[-1]])


def price(verdict: Verdict) -> str | None:
    """How much dearer the winner could become before the other side costs as much; None where cost does not decide."""
    effect = verdict.effect
    if verdict.decision is not Decision.WINS or not effect.metric.startswith("cost_per_accepted_result"):
        return None
    if effect.ratio is None or effect.low is None or effect.high is None:
        return None
    bounds = [effect.ratio, effect.low, effect.high]
    if verdict.winner == verdict.candidate:
        bounds = [1 / each for each in bounds]
    loser = verdict.baseline if verdict.winner == verdict.candidate else verdict.candidate
    factor, low, high = bounds[0], min(bounds[1:]), max(bounds[1:])
    return (
        f"The price of {verdict.winner} could be {times(factor)} times what it is ({times(low)} to {times(high)}) "
        f"before an accepted result of {loser}, at its price of today, costs as much."
    )
