"""How large is the difference, and how sure: one value a launch, a ratio of the two sides, a 95 % interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ledger.benchmark import Benchmark
from ledger.run import Role
from sitegen.comparison import items
from sitegen.comparison.evidence import Measured, TrialRun
from sitegen.comparison.meaning import metric_of, title_of
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import (
    CONFIDENCE,
    Interval,
    NoInterval,
    geometric_mean,
    look_level,
    paired_ratio,
    unpaired_ratio,
)
from sitegen.comparison.verdict import Effect, Judged, Launch
from sitegen.format import count

LEAST_LAUNCHES = 3
"""Fewer a side give no verdict."""


@dataclass(frozen=True)
class Values:
    """The values of one metric over a side's timed launches, all of one definition."""

    side: Side
    rows: dict[str, Measured]
    """{run_id: row}; launches that did not measure it are not in it."""

    @property
    def runs(self) -> tuple[TrialRun, ...]:
        """The launches that have a value."""
        return tuple(run for run in self.side.timed if run.run_id in self.rows)

    @property
    def numbers(self) -> list[float]:
        """Their values, in launch order."""
        return [self.number(run) for run in self.runs]

    def number(self, run: TrialRun) -> float:
        """The value of one of `runs`."""
        value = self.rows[run.run_id].value
        assert value is not None  # noqa: S101 (`measure` keeps only rows with a value)
        return value


@dataclass(frozen=True)
class Order:
    """What the launch orders prove about the two sides' timed launches."""

    blocks: tuple[tuple[TrialRun, TrialRun], ...]
    """(baseline, candidate) launches of one repeat that ran next to each other in one batch."""
    interleaved: bool
    """Whether every repeat that both sides ran in one batch is such a block, and there is one."""
    balanced: bool
    """Whether each side went first in at least one block."""


def measure(side: Side, metric: str, version: int | None) -> Values:
    """A metric's values on one side; `version` None takes each launch's newest definition."""
    rows = {run.run_id: run.find(metric, version) for run in side.timed}
    return Values(side, {run: row for run, row in rows.items() if row is not None and row.value is not None})


def common_version(selection: Selection, metric: str) -> int | None:
    """The newest definition that every timed launch of both sides knows, or None where there is no such."""
    known = [
        {row.version for row in run.measured if row.metric == metric and row.rank is None}
        for side in selection.sides
        for run in side.timed
    ]
    shared = set.intersection(*known) if known else set()
    return max(shared, default=None)


def definitions_differ(selection: Selection, metric: str) -> bool:
    """Whether both sides have values under this name, but of no common definition."""
    measured = all(measure(side, metric, None).runs for side in selection.sides)
    return measured and common_version(selection, metric) is None


def launch_order(baseline: Sequence[TrialRun], candidate: Sequence[TrialRun]) -> Order:
    """Whether launches were interleaved, from their recorded order and start times."""
    batches: dict[str, list[tuple[int, TrialRun]]] = defaultdict(list)
    for index, side in enumerate((baseline, candidate)):
        for run in side:
            batches[run.batch].append((index, run))
    blocks: list[tuple[TrialRun, TrialRun]] = []
    first: set[int] = set()
    proven = True
    for launches in batches.values():
        launches.sort(key=lambda entry: entry[1].launch_order)
        in_time = all(a.started_at <= b.started_at for (_, a), (_, b) in pairwise(launches))
        found = _adjacent(launches)
        both = len({run.repeat for index, run in launches if index == 0} & {r.repeat for i, r in launches if i == 1})
        proven = proven and in_time and len(found) == both
        for (index, run), (_, other) in found:
            first.add(index)
            blocks.append((run, other) if index == 0 else (other, run))
    return Order(tuple(blocks), proven and bool(blocks), first == {0, 1})


def effect(selection: Selection, metric: str, lower_is_better: bool, benchmark: Benchmark) -> Effect:
    """The ratio candidate / baseline of a metric over the timed launches.

    Where it rests on which answers were accepted, the interval also holds the chance of which items were asked.
    """
    version = common_version(selection, metric)
    differ = definitions_differ(selection, metric)
    sides = [measure(side, metric, version) for side in selection.sides]
    sample = next((row for side in sides for row in side.rows.values()), None)
    known = metric_of(metric, benchmark)
    found, method, used = _whole_interval(selection, metric, sides, CONFIDENCE) if not differ else _DIFFER
    bounds = found if isinstance(found, Interval) else None
    positive = all(used) and min(*used[0], *used[1]) > 0
    return Effect(
        metric=metric,
        definition=sample.definition if sample else (known.definition_id if known else metric),
        unit=sample.unit if sample else (known.unit if known else ""),
        lower_is_better=lower_is_better,
        baseline=geometric_mean(used[0]) if positive else None,
        candidate=geometric_mean(used[1]) if positive else None,
        ratio=found.center,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        method=method,
        baseline_launches=len(used[0]),
        candidate_launches=len(used[1]),
        absent=found.reason if isinstance(found, NoInterval) else None,
        title=title_of(metric, benchmark),
        judged=None if differ else _judged(selection, benchmark, metric, sides),
    )


def launches(selection: Selection, metric: str) -> tuple[Launch, ...]:
    """Every cited timed launch of both sides, failed ones too, in the order in which they ran."""
    version = common_version(selection, metric)
    runs = [run for side in selection.sides for run in side.of(Role.TIMED)]
    return tuple(
        Launch(
            run_id=run.run_id,
            stack=run.stack,
            repeat=run.repeat,
            launch_order=run.launch_order,
            value=row.value if (row := run.find(metric, version)) else None,
            state=run.state.value,
            reason=run.reason,
        )
        for run in sorted(runs, key=lambda run: (run.started_at, run.batch, run.launch_order))
    )


def _judged(selection: Selection, benchmark: Benchmark, metric: str, sides: list[Values]) -> Judged | None:
    """The interval that a verdict is read off, at the level that this look leaves."""
    seen = looks(selection)
    if not seen:
        return None
    declared = (benchmark.repeats.max, *(_own_repeats(benchmark, side.side.stack) for side in sides))
    most = max(*declared, seen[-1])
    before = seen[-2] if len(seen) > 1 else 0
    together = _together(selection, benchmark)
    level = 1 - (1 - look_level(seen[-1] / most, before / most)) / together
    found = _whole_interval(selection, metric, sides, level)[0]
    if not isinstance(found, Interval):
        return None
    return Judged(found.low, found.high, level, len(seen), seen[-1], most, together)


def _together(selection: Selection, benchmark: Benchmark) -> int:
    """How many candidates the file sets against this baseline: each may win by chance (Bonferroni)."""
    baseline = selection.baseline.stack
    return max(1, sum(each.baseline == baseline for each in benchmark.comparisons))


def looks(selection: Selection) -> list[int]:
    """Launches a side after each batch that added completed timed launches to the side that had fewer."""
    order = {run.batch: run.started_at for side in selection.sides for run in reversed(side.timed)}
    found: list[int] = []
    for batch in sorted(order, key=lambda each: order[each]):
        known = [each for each in order if order[each] <= order[batch]]
        least = min(sum(run.batch in known for run in side.timed) for side in selection.sides)
        if least > (found[-1] if found else 0):
            found.append(least)
    return found


def _own_repeats(benchmark: Benchmark, stack: str) -> int:
    declared = benchmark.stacks.get(stack)
    return (declared.repeats or 0) if declared else 0


def _whole_interval(
    selection: Selection, metric: str, sides: list[Values], confidence: float
) -> tuple[Interval | NoInterval, str, tuple[list[float], list[float]]]:
    """As `_interval`, with the chance of which items were asked where the metric rests on answers."""
    found, method, used = _interval(sides[0], sides[1], confidence)
    if metric in items.RESTS_ON_ACCEPTANCE and all(len(numbers) >= LEAST_LAUNCHES for numbers in used):
        wider = items.widened(found, selection, confidence)
        method += ", widened by the chance of which items were asked" if wider is not found else ""
        found = wider
    return found, method, used


_DIFFER: tuple[Interval | NoInterval, str, tuple[list[float], list[float]]] = (
    NoInterval("the two sides' values come from different definitions"),
    "none",
    ([], []),
)


def _adjacent(launches: list[tuple[int, TrialRun]]) -> list[tuple[tuple[int, TrialRun], tuple[int, TrialRun]]]:
    """Neighbours in launch order that are one repeat of the two sides; no launch is in two of them."""
    found = []
    position = 0
    while position + 1 < len(launches):
        a, b = launches[position : position + 2]
        if a[0] != b[0] and a[1].repeat == b[1].repeat and a[1].launch_order != b[1].launch_order:
            found.append((a, b))
            position += 2
        else:
            position += 1
    return found


def _interval(
    first: Values, second: Values, confidence: float
) -> tuple[Interval | NoInterval, str, tuple[list[float], list[float]]]:
    """The interval, how it was made, and the values of each side that it rests on."""
    numbers = first.numbers, second.numbers
    if not numbers[0] or not numbers[1]:
        return NoInterval("no timed launch measured it on at least one side"), "none", numbers
    if min(*numbers[0], *numbers[1]) <= 0:
        return NoInterval("a value is zero or negative, and has no logarithm"), "none", numbers
    order = launch_order(first.side.of(Role.TIMED), second.side.of(Role.TIMED))
    pairs = [
        (first.number(a), second.number(b))
        for a, b in order.blocks
        if a.run_id in first.rows and b.run_id in second.rows
    ]
    if order.interleaved and len(pairs) >= LEAST_LAUNCHES:
        alone = len(numbers[0]) + len(numbers[1]) - 2 * len(pairs)
        method = f"t interval on log ratios of {len(pairs)} interleaved blocks"
        method += f" ({count(alone, 'launch')} without a partner left out)" if alone else ""
        used = ([a for a, _ in pairs], [b for _, b in pairs])
        return _enough(paired_ratio(pairs, confidence), used), method, used
    method = f"Welch's t interval on logarithms of {len(numbers[0])} and {len(numbers[1])} launches"
    return _enough(unpaired_ratio(*numbers, confidence), numbers), method, numbers


def _enough(found: Interval | NoInterval, used: tuple[list[float], list[float]]) -> Interval | NoInterval:
    if min(map(len, used)) >= LEAST_LAUNCHES:
        return found
    return NoInterval(f"fewer than {LEAST_LAUNCHES} launches a side", found.center)
