"""All stacks of a benchmark beside each other: who holds the envelope, who leads by the objective, who is on the front.

The same selection and the same bounds as in the comparisons of two, without a verdict: that needs a declared pair and
its interleaved launches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ledger.benchmark import Benchmark, BenchmarkFile, Comparison
from sitegen.comparison import envelope, transfer, tuning, unequal_work
from sitegen.comparison.evidence import Evidence
from sitegen.comparison.meaning import metric_of
from sitegen.comparison.selection import Selection, Side, select
from sitegen.comparison.statistics import Interval
from sitegen.comparison.tuning_path import Transfer, TuningPath
from sitegen.comparison.verdict import LimitCheck, Standing

OTHERS = {
    "train": ("step_time", "tokens_per_second", "evaluation_loss", "peak_memory", "tokens_per_joule"),
    "serve": (
        "cost_per_accepted_result",
        "acceptance_rate",
        "ttft.p95",
        "e2e.mean",
        "output_token_throughput",
        "peak_memory",
    ),
    "tasks": ("cost_per_accepted_result", "acceptance_rate", "e2e.mean"),
    "command": ("step_time", "tokens_per_second", "peak_memory"),
}
"""Metrics that are shown beside the objective and the limits, where a stack has them."""


@dataclass(frozen=True)
class Cell:
    """A metric over a stack's timed launches: mean, and its 95 % interval where there is one."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Place:
    """One stack."""

    stack: str
    description: str | None
    launches: int
    failed: int
    standing: Standing
    """Whether it holds the whole envelope."""
    limits: tuple[LimitCheck, ...]
    cells: dict[str, Cell]
    """{metric: its value}, of the metrics that it has."""
    runs: tuple[str, ...]
    tuning: TuningPath | None = None
    """How its settings were found, where a search did."""


@dataclass(frozen=True)
class Column:
    """One metric of the table."""

    metric: str
    title: str
    unit: str
    lower_is_better: bool | None
    """None for a metric that is neither."""


@dataclass(frozen=True)
class Ranking:
    """The benchmark's stacks: those that hold the envelope first, by the objective; then the others."""

    benchmark: str
    question: str
    objective: str
    columns: tuple[Column, ...]
    places: tuple[Place, ...]
    transfer: Transfer | None = None
    """Each searched stack with the best settings of each; None where nothing of that was launched."""
    unordered: str | None = None
    """Why the stacks stand in the file's order, and not by the objective."""

    def front(self, first: str, second: str) -> tuple[str, ...]:
        """Stacks that hold the envelope and that no other such stack beats in one metric without losing in the other.

        A stack that equals another one in both is on the front with it. Means are compared, not intervals.
        """
        sides = {column.metric: -1.0 if column.lower_is_better is False else 1.0 for column in self.columns}
        points = {
            place.stack: (sides[first] * place.cells[first].value, sides[second] * place.cells[second].value)
            for place in self.places
            if place.standing is Standing.HOLDS and first in place.cells and second in place.cells
        }
        return tuple(stack for stack, point in points.items() if not _beaten(point, points.values()))


def _beaten(point: tuple[float, float], others: Iterable[tuple[float, float]]) -> bool:
    return any(o[0] <= point[0] and o[1] <= point[1] and o != point for o in others)


def rank(known: Evidence, file: BenchmarkFile) -> Ranking:
    """The ranking of what a benchmark file declares."""
    benchmark = file.benchmark
    sides = {stack: _side(known, file, stack) for stack in benchmark.stacks}
    places = [_place(selection, file, stack) for stack, selection in sides.items()]
    columns = tuple(_columns(benchmark, places))
    objective = benchmark.envelope.objective
    order = {Standing.HOLDS: 0, Standing.UNKNOWN: 1, Standing.FAILS: 2}
    sign = 1.0 if objective.minimise is not None else -1.0

    def key(place: Place) -> tuple[int, bool, float, str]:
        cell = place.cells.get(objective.metric)
        return order[place.standing], cell is None, sign * cell.value if cell else 0.0, place.stack

    moved = transfer.matrix(known, benchmark, tuple(benchmark.stacks), benchmark.workload_digest)
    unordered = unequal_work.unordered(objective.metric, [selection.baseline for selection in sides.values()])
    ordered = tuple(places if unordered else sorted(places, key=key))
    return Ranking(benchmark.name, benchmark.question, objective.metric, columns, ordered, moved, unordered)


def _side(known: Evidence, file: BenchmarkFile, stack: str) -> Selection:
    """One stack as both sides of a comparison."""
    pair = Comparison.model_validate({"baseline": stack, "candidate": stack, "threshold": 0.05})
    return select(known, file, pair)


def _place(selection: Selection, file: BenchmarkFile, stack: str) -> Place:
    side, benchmark = selection.baseline, file.benchmark
    checks = tuple(envelope.check_limits(selection, benchmark)[::2])  # each is there twice: the pair is one stack
    cells = {name: cell for name in _wanted(benchmark) if (cell := _cell(selection, side, name)) is not None}
    return Place(
        stack=stack,
        description=benchmark.stacks[stack].description,
        launches=len(side.timed),
        failed=len(envelope.counted(side)) - len(side.timed),
        standing=envelope.qualifies(side, checks),
        limits=checks,
        cells=cells,
        runs=tuple(run.run_id for run in side.timed),
        tuning=next(iter(tuning.paths(replace(selection, candidate=Side(stack, (), ())), benchmark)), None),
    )


def _wanted(benchmark: Benchmark) -> tuple[str, ...]:
    """The objective, the limits' metrics, then the others of this kind of work."""
    limits = [name for name in benchmark.envelope.limits if name != envelope.LAUNCH_RELIABILITY]
    names = (benchmark.envelope.objective.metric, *limits, *OTHERS.get(benchmark.workload.kind, ()))
    return tuple(dict.fromkeys(names))


def _cell(selection: Selection, side: Side, metric: str) -> Cell | None:
    """The metric as the envelope judges it: over launches, or over items where it is a share of those."""
    found, _ = envelope.over_launches(selection, side, metric)
    if found.center is None:
        return None
    if isinstance(found, Interval) and found.low < found.high:
        return Cell(found.center, found.low, found.high)
    return Cell(found.center, None, None)


def _columns(benchmark: Benchmark, places: list[Place]) -> Iterable[Column]:
    """Metrics that at least one stack has a value of."""
    for name in _wanted(benchmark):
        known = metric_of(name, benchmark)
        if known is not None and any(name in place.cells for place in places):
            lower = {"lower": True, "higher": False}.get(known.direction)
            yield Column(name, known.title, known.unit, lower)
