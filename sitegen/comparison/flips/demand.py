"""What the stated demand costs on each side in whole machines, and between which demands which side costs less.

Machines are whole, so that a month's cost jumps: between two jumps nothing changes but their use.
"""

from __future__ import annotations

from itertools import pairwise

from ledger.benchmark import Benchmark
from ledger.metrics import registry
from sitegen.comparison.flips.found import ALIKE, Amount, AtDemand, DemandRow, Fleet, Stretch
from sitegen.comparison.selection import Selection, Side

MOST_MACHINES = 12
"""Machines of a side up to which the demand is followed."""
HOURLY = frozenset({"node_hour", "device_hour"})
METRICS = (
    "requests_a_day_of_a_machine",
    "machines_at_demand",
    "use_at_demand",
    "cost_per_month_at_demand",
    "cost_per_accepted_result_at_demand",
    "cost_per_accepted_result",
    "one_off_cost_per_accepted_result",
)


def at_demand(selection: Selection, benchmark: Benchmark) -> AtDemand | None:
    """The launches' own metrics at the demand that the benchmark states; None where it states none."""
    stated = benchmark.envelope.demand
    if stated is None or stated.requests_per_day is None:
        return None
    known = {each.id: each for each in registry.newest()}
    load = getattr(benchmark.workload, "load", None)
    fleets = [_fleet(side, benchmark) for side in selection.sides]
    one, other = fleets
    return AtDemand(
        requests_per_day=stated.requests_per_day,
        peak_factor=stated.peak_factor,
        horizon_s=stated.horizon,
        currency=_currency(selection, benchmark),
        sweeps=bool(load is not None and load.sweep),
        rows=tuple(
            DemandRow(name, known[name].title, known[name].unit, *(_amount(side, name) for side in selection.sides))
            for name in METRICS
        ),
        fleets=(one, other) if one and other else (),
        stretches=stretches(one, other, reach(one, other, stated.requests_per_day)) if one and other else (),
    )


def stretches(baseline: Fleet, candidate: Fleet, end: float) -> tuple[Stretch, ...]:
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
    return tuple(found)


def reach(baseline: Fleet, candidate: Fleet, demand: float) -> float:
    """How far the demand is followed: twice what is stated, or three machines of the side that carries less."""
    least, most = sorted((baseline.carries, candidate.carries))
    return min(max(2 * demand, 3 * least, 1.2 * most), MOST_MACHINES * least)


def steps(fleet: Fleet, end: float) -> tuple[list[float], list[float]]:
    """(demands, a month's cost): two points at each jump, so that a straight line draws a step."""
    x, y = [0.0], [fleet.monthly]
    for count in range(1, MOST_MACHINES + 1):
        jump = count * fleet.carries
        if jump >= end:
            break
        x += [jump, jump]
        y += [count * fleet.monthly, (count + 1) * fleet.monthly]
    return [*x, end], [*y, y[-1]]


def _fleet(side: Side, benchmark: Benchmark) -> Fleet | None:
    """A side's machines by their slowest launch; None where a launch lacks a value or they are not paid by the hour."""
    stack = benchmark.stacks.get(side.stack)
    if stack is None or any(price.per not in HOURLY for price in stack.price):
        return None
    carries, machines, monthly = (
        _values(side, name)
        for name in ("requests_a_day_of_a_machine", "machines_at_demand", "cost_per_month_at_demand")
    )
    if not side.timed or not len(side.timed) == len(carries) == len(machines) == len(monthly):
        return None
    return Fleet(side.stack, min(carries), monthly[0] / machines[0])


def _values(side: Side, metric: str) -> list[float]:
    rows = (run.find(metric) for run in side.timed)
    return [row.value for row in rows if row is not None and row.value is not None]


def _amount(side: Side, metric: str) -> Amount:
    values = _values(side, metric)
    if values:
        return Amount(min(values), max(values), None)
    rows = (run.find(metric) for run in side.timed)
    reason = next((row.missing_reason for row in rows if row is not None and row.missing_reason), None)
    return Amount(None, None, reason or "no launch has a value")


def _currency(selection: Selection, benchmark: Benchmark) -> str:
    stacks = [benchmark.stacks[side.stack] for side in selection.sides if side.stack in benchmark.stacks]
    return ", ".join(sorted({price.currency for stack in stacks for price in stack.price}))
