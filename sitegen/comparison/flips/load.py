"""What decides, over the offered load; and the highest load up to which each side holds its limits."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ledger.benchmark import Benchmark
from ledger.metrics.load_levels import FAMILIES, SATURATED
from ledger.metrics.registry import Missing
from ledger.quantity import Limit
from ledger.workloads.serve import Load
from sitegen.comparison.effect import LEAST_LAUNCHES
from sitegen.comparison.flips.curves import FEW, Launches, fill
from sitegen.comparison.flips.found import Curve, Held
from sitegen.comparison.meaning import metric_of, title_of
from sitegen.comparison.request_rows import Level
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import Interval, geometric_mean, t_interval
from sitegen.format import count

SATURATION = "achieved_load"
"""What breaks where a server does not keep up with an open loop."""


@dataclass(frozen=True)
class _Launch:
    """How far one launch held the limits."""

    load: float
    """Where the first limit broke, between two driven levels; the highest level where none broke."""
    breaks: str | None
    """The limit; None where none broke."""
    none: bool = False
    """Whether not even the lowest level held."""
    unknown: str | None = None
    """Why it is not known whether it held."""


def absent(benchmark: Benchmark) -> str | None:
    """Why nothing can be told by load; None where levels of load are declared."""
    load = getattr(benchmark.workload, "load", None)
    if not isinstance(load, Load):
        return f"a {benchmark.workload.kind} workload has no levels of load"
    if not load.sweep:
        return "no level of load beside the declared one was driven (`workload.load.sweep` names them)"
    return None


def unit(benchmark: Benchmark) -> str:
    """What a level counts."""
    load = getattr(benchmark.workload, "load", None)
    if not isinstance(load, Load) or load.arrivals is not None:
        return "requests/s"
    return "requests in flight" if load.concurrency is not None else "times production's rate"


def curves(selection: Selection, benchmark: Benchmark, runs: Launches, threshold: float) -> tuple[Curve, ...]:
    """The objective, then each latency that the envelope limits; in the order of the file.

    `threshold` is the smallest relative difference of the objective that matters.
    """
    objective = benchmark.envelope.objective
    metrics = {objective.metric: objective.minimise is not None}
    metrics |= {name: True for name in benchmark.envelope.limits if name.partition(".")[0] in FAMILIES}
    found = [_curve(selection, benchmark, runs, name, lower) for name, lower in metrics.items()]
    return (replace(found[0], threshold=threshold), *found[1:])


def _curve(selection: Selection, benchmark: Benchmark, runs: Launches, metric: str, lower_is_better: bool) -> Curve:
    known = metric_of(metric, benchmark)
    empty = Curve(
        metric=metric,
        title=title_of(metric, benchmark),
        unit=known.unit if known else "",
        lower_is_better=lower_is_better,
        over="load",
        over_unit=unit(benchmark),
    )
    values = {
        run.run_id: {
            each.level: Missing("it is told for a whole launch only, and not by level of load")
            if (value := each.value(metric)) is None
            else value
            for each in run.levels
        }
        for side in selection.sides
        for run in side.timed
    }
    return fill(empty, (selection.baseline.stack, selection.candidate.stack), runs, values, {})


def held(selection: Selection, benchmark: Benchmark) -> tuple[Held, ...]:
    """For baseline and candidate: the highest load that holds all limits which a level of load can break."""
    return tuple(_held(side, benchmark) for side in selection.sides)


def _held(side: Side, benchmark: Benchmark) -> Held:
    limits = benchmark.envelope.limits
    driven = [run.levels for run in side.timed if run.levels]
    found = [_launch(levels, limits) for levels in driven]
    unknown = next((each.unknown for each in found if each.unknown), None)
    empty = Held(side.stack, unit(benchmark), None, None, None, None, None, len(found), 0, 0, None, "")
    if not found or unknown or not any(_breakable(levels, limits) for levels in driven):
        why = unknown or ("no timed launch was driven" if not found else "no declared limit depends on the load")
        return replace(empty, absent=why)
    all_of_it = sum(each.breaks is None for each in found)
    none = sum(each.none for each in found)
    broken = Counter(each.breaks for each in found if each.breaks).most_common(1)
    shared: dict[str, Any] = {
        "least": None if none else min(each.load for each in found),
        "most": max(level.level for levels in driven for level in levels),
        "held_all": all_of_it,
        "held_none": none,
        "breaks": broken[0][0] if broken else None,
    }
    if all_of_it or none:
        return replace(empty, basis=count(len(found), "launch"), **shared)
    loads = [each.load for each in found]
    interval = t_interval([math.log(load) for load in loads]) if len(loads) >= LEAST_LAUNCHES else None
    bounds = interval if isinstance(interval, Interval) else None
    basis = "t interval on logarithms" if bounds else FEW if interval is None else "all equal"
    return replace(
        empty,
        load=geometric_mean(loads),
        low=math.exp(bounds.low) if bounds else None,
        high=math.exp(bounds.high) if bounds else None,
        basis=f"{count(len(found), 'launch')}, {basis}",
        **shared,
    )


def _breakable(levels: tuple[Level, ...], limits: dict[str, Limit]) -> bool:
    return any(_margins(level, level, limits) for level in levels)


def _launch(levels: tuple[Level, ...], limits: dict[str, Limit]) -> _Launch:
    """Levels from the lowest up, until one breaks a limit: there the load is interpolated."""
    first = _first_broken(levels[0], limits)
    if isinstance(first, Missing):
        return _Launch(levels[0].level, None, unknown=f"at {levels[0].level:g}, {first.reason}")
    if first:
        return _Launch(levels[0].level, first, none=True)
    for before, after in pairwise(levels):
        broken = _first_broken(after, limits)
        if isinstance(broken, Missing):
            return _Launch(before.level, None, unknown=f"at {after.level:g}, {broken.reason}")
        if broken:
            share, name = min((_share(*pair), name) for name, pair in _margins(before, after, limits).items())
            width = math.log(after.level) - math.log(before.level)
            return _Launch(before.level * math.exp(share * width), name)
    return _Launch(levels[-1].level, None)


def _first_broken(level: Level, limits: dict[str, Limit]) -> str | Missing | None:
    if level.achieved is not None and level.achieved < SATURATED:
        return SATURATION
    for metric, limit in limits.items():
        value = level.value(metric)
        if isinstance(value, Missing):
            return Missing(f"{metric}: {value.reason}")
        if value is not None and not limit.allows(value):
            return metric
    return None


def _margins(before: Level, after: Level, limits: dict[str, Limit]) -> dict[str, tuple[float, float]]:
    """{limit: how far inside it the two levels are, negative outside}, of limits that a level has a value for."""
    found: dict[str, tuple[float, float]] = {}
    if before.achieved is not None and after.achieved is not None:
        found[SATURATION] = before.achieved - SATURATED, after.achieved - SATURATED
    for metric, limit in limits.items():
        values = before.value(metric), after.value(metric)
        if isinstance(values[0], float | int) and isinstance(values[1], float | int):
            found[metric] = _inside(limit, values[0], values[1])
    return found


def _inside(limit: Limit, before: float, after: float) -> tuple[float, float]:
    """Logarithms of positive values, as latencies grow by factors; differences of others."""
    sign = 1 if limit.is_upper else -1
    if min(before, after, limit.bound) > 0:
        edge = math.log(limit.bound)
        return sign * (edge - math.log(before)), sign * (edge - math.log(after))
    return sign * (limit.bound - before), sign * (limit.bound - after)


def _share(before: float, after: float) -> float:
    """How far between two levels a margin is used up; 1 where it is not."""
    if after > 0:
        return 1.0
    return before / (before - after) if before > after else 0.0
