"""What a benchmark file must hold beyond the kinds of its values: names that exist, units and directions that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ledger import quantity, search
from ledger.metrics import declared, registry
from ledger.metrics.registry import Metric
from ledger.suggestion import nearest
from ledger.workloads.acceptance import Threshold
from ledger.yaml_file import Location

if TYPE_CHECKING:
    from ledger.benchmark import Benchmark

LAUNCH_RELIABILITY = "launch_reliability"
"""Share of timed launches that complete: a limit may name it, though it is no metric of one run."""
_UNITS = {"s": "a time such as '500 ms'", "B": "a size such as '2 GiB'", "share": "a share such as '99%'"}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where in the file, what, and what to do."""

    location: Location
    what: str
    todo: str | None = None


def problems(benchmark: Benchmark, data: Any) -> Iterator[Problem]:
    """What is wrong with a benchmark whose plain content is `data`, first things first."""
    yield from _comparisons(benchmark)
    yield from _observed(benchmark)
    yield from _declared_metrics(benchmark)
    yield from _acceptance(benchmark, data)
    yield from _limits(benchmark, data)
    yield from _objective(benchmark)
    yield from _search(benchmark)


def nothing_to_take_away(base: Any, over: Any, at: Location) -> Iterator[Problem]:
    """Each null of a profile that stands at a key which the file does not have."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return
    for key, value in over.items():
        if value is None and key not in base:
            what = "is null, which takes a key away, and there is no such key"
            yield Problem((*at, key), what, nearest(str(key), map(str, base)))
        elif value is not None:
            yield from nothing_to_take_away(base.get(key), value, (*at, key))


def _comparisons(benchmark: Benchmark) -> Iterator[Problem]:
    seen = Counter[tuple[str, str]]()
    for index, comparison in enumerate(benchmark.comparisons):
        at: Location = ("comparisons", index)
        for side in ("baseline", "candidate"):
            stack = getattr(comparison, side)
            if stack not in benchmark.stacks:
                yield Problem((*at, side), f"no stack {stack!r}", nearest(stack, benchmark.stacks))
        if comparison.baseline == comparison.candidate:
            yield Problem(at, "compares a stack with itself", "declare it twice under two names")
        pair = comparison.baseline, comparison.candidate
        seen[pair] += 1
        if seen[pair] == 2:
            yield Problem(at, f"declares {comparison.slug} a second time", "take one of the two out")
    yield from _interventions(benchmark)


def _interventions(benchmark: Benchmark) -> Iterator[Problem]:
    names = Counter[str]()
    for index, comparison in enumerate(benchmark.comparisons):
        for name, change in comparison.interventions.items():
            at: Location = ("comparisons", index, "interventions", name)
            names[name] += 1
            if names[name] == 2:
                yield Problem(at, "is declared for two comparisons", "give each intervention a name of its own")
            if change.stack not in {comparison.baseline, comparison.candidate}:
                what = f"{change.stack!r} is not compared here"
                yield Problem((*at, "stack"), what, f"write {comparison.baseline} or {comparison.candidate}")


def _search(benchmark: Benchmark) -> Iterator[Problem]:
    declared, stacks = benchmark.search, benchmark.stacks
    searched = {name: stack.search for name, stack in stacks.items() if stack.search}
    if declared is None:
        for name in searched:
            todo = "add `search: {method: tpe, budget: {trials: 20}}` to the file"
            yield Problem(("stacks", name, "search"), "nothing says how long it is searched", todo)
        return
    if not searched:
        todo = "add `search: {SETTING: [VALUE, VALUE]}` to each stack that is to be searched"
        yield Problem(("search",), "no stack names settings to search", todo)
    for name in declared.budgets:
        if name not in searched:
            todo = nearest(name, searched)
            yield Problem(("search", "budgets", name), f"no stack {name!r} whose settings are searched", todo)
    for index, row in enumerate(declared.same):
        for name in row:
            if name not in stacks:
                yield Problem(("search", "same", index, name), f"no stack {name!r}", nearest(name, stacks))
    for name, space in searched.items() if declared.method == "grid" else ():
        for setting, values in space.items():
            if isinstance(values, search.Range) and values.step is None:
                at = ("stacks", name, "search", setting)
                yield Problem(at, "a range without a step has no grid", "give it a step, or list its values")
                return
        points = search.size(space) or 0
        if points > search.MOST_POINTS:
            what = f"a grid of {points} points, and {search.MOST_POINTS} are the most"
            yield Problem(("stacks", name, "search"), what, "use the method tpe or random")


def _observed(benchmark: Benchmark) -> Iterator[Problem]:
    """Names of libraries that no table has."""
    if not any(stack.observe for stack in benchmark.stacks.values()):
        return
    from ledger.traces.libraries import libraries  # noqa: PLC0415 (few files name any, and traces are slow to import)

    for name, stack in benchmark.stacks.items():
        for index, library in enumerate(stack.observe):
            if library not in libraries():
                what = f"no library {library!r} is known by names in traces"
                yield Problem(("stacks", name, "observe", index), what, nearest(library, libraries()))


def _declared_metrics(benchmark: Benchmark) -> Iterator[Problem]:
    own = {each.id for each in registry.newest()}
    for name in declared.of_workload(benchmark.workload):
        if name in own or name == LAUNCH_RELIABILITY:
            what = f"{name} is a metric of stackproof's own, with another definition"
            yield Problem(("workload", "metrics", name), what, f"give it another name, such as reported_{name}")


def _acceptance(benchmark: Benchmark, data: Any) -> Iterator[Problem]:
    rule = getattr(benchmark.workload, "acceptance", None)
    if not isinstance(rule, Threshold):
        return
    at: Location = ("workload", "acceptance")
    found = _measured(rule.field, benchmark)
    if isinstance(found, Metric):
        yield from _limit(
            found.id, found.unit, found.direction, rule.rule, _written(data, (*at, "rule")), (*at, "rule")
        )
    else:
        yield Problem((*at, "field"), *found)


def _limits(benchmark: Benchmark, data: Any) -> Iterator[Problem]:
    for name, limit in benchmark.envelope.limits.items():
        at: Location = ("envelope", "limits", name)
        unit, direction = "share", "higher"
        if name != LAUNCH_RELIABILITY:
            found = _measured(name, benchmark, LAUNCH_RELIABILITY)
            if not isinstance(found, Metric):
                yield Problem(at, *found)
                continue
            unit, direction = found.unit, found.direction
        yield from _limit(name, unit, direction, limit, _written(data, at), at)


def _objective(benchmark: Benchmark) -> Iterator[Problem]:
    objective = benchmark.envelope.objective
    word, better = ("minimise", "lower") if objective.minimise is not None else ("maximise", "higher")
    at: Location = ("envelope", "objective", word)
    found = _measured(objective.metric, benchmark)
    if not isinstance(found, Metric):
        yield Problem(at, *found)
    elif found.direction != better:
        other = {"lower": "minimise", "higher": "maximise"}.get(found.direction)
        todo = f"write `{other}: {found.id}`" if other else "rank by another metric"
        yield Problem(at, f"of {found.id} {_better(found.direction)} is better", todo)


def _measured(name: str, benchmark: Benchmark, *more: str) -> Metric | tuple[str, str]:
    """The metric that each timed launch of this version gives under `name`; else what is wrong, and what to do."""
    kind = benchmark.workload.kind
    metrics = {each.id: each for each in registry.newest() if kind in each.kinds}
    metrics |= declared.of_workload(benchmark.workload)
    timed = [each.id for each in metrics.values() if not any(file.startswith("traces/") for file in each.inputs)]
    if name in timed:
        return metrics[name]
    if name in metrics:
        what = f"{name} is measured in profiled launches, and timed ones are judged"
        return what, f"use one of: {', '.join([*timed, *more])}"
    return f"no metric {name!r} that this version measures", nearest(name, [*timed, *more])


def _limit(
    name: str, unit: str, direction: str, limit: quantity.Limit, written: str | None, at: Location
) -> Iterator[Problem]:
    if written is not None and written != unit:
        fitting = f"{_UNITS[unit]} or a bare number of {unit}" if unit in _UNITS else f"a bare number ({unit})"
        yield Problem(at, f"{name} is bounded by {fitting}, got one in {written}")
    elif unit == "share" and not 0 <= limit.bound <= 1:
        yield Problem(at, f"{name} is a share, from 0 to 1, got {limit.bound:g}", f"write {limit.bound:g}% or 0.99")
    elif unit in {"s", "B", "share", "tokens/s", "1/s"} and limit.bound < 0:
        yield Problem(at, f"{name} is never below 0, got {limit.bound:g}")
    elif direction in {"lower", "higher"} and limit.is_upper is not (direction == "lower"):
        turned = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}[limit.operator]
        what = f"of {name} {_better(direction)} is better, and {limit.operator} would refuse the better ones"
        yield Problem(at, what, f"write {turned}")


def _better(direction: str) -> str:
    return {"lower": "less", "higher": "more"}.get(direction, "neither less nor more")


def _written(data: Any, at: Location) -> str | None:
    """The base unit in which the file writes the limit at `at`; None for a bare number."""
    for part in at:
        data = data[part]
    return quantity.base_unit(str(data))
