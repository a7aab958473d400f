"""What the site's tables show of every stack, in a form in which statements can be looked up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ledger.metrics import registry
from sitegen.comparison.ranking import Ranking
from sitegen.comparison.verdict import Standing, Verdict
from sitegen.prose import words


@dataclass(frozen=True)
class Shown:
    """One value that a table shows, with its 95 % interval where it has one."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MetricShown:
    """What is known of a metric that some table shows."""

    id: str
    title: str
    unit: str
    lower_is_better: bool | None


@dataclass(frozen=True)
class BenchmarkTables:
    """The tables of one benchmark: its page of all stacks, and its comparisons."""

    name: str
    objective: str
    stacks: tuple[str, ...]
    holding: frozenset[str]
    """Stacks that hold the envelope."""
    failing: frozenset[str]
    metrics: dict[str, MetricShown]
    columns: tuple[str, ...]
    """Metrics of the page of all stacks."""
    values: dict[tuple[str, str], tuple[Shown, ...]]
    """{(stack, metric): every value that some table shows}; that of the page of all stacks is the first."""
    verdicts: tuple[Verdict, ...]

    def mean(self, stack: str, metric: str) -> float | None:
        """What the page of all stacks shows, or else a comparison."""
        found = self.values.get((stack, metric))
        return found[0].value if found else None

    def between(self, first: str, second: str) -> tuple[Verdict, ...]:
        """The comparisons of two stacks, whichever is the baseline."""
        return tuple(each for each in self.verdicts if {each.baseline, each.candidate} == {first, second})

    def meant_by(self, of: str) -> tuple[str, ...]:
        """The metrics that `speed`, `time`, `cost` … may mean: the objective alone where it is one of them."""
        if of == "objective":
            return (self.objective,) if self.objective in self.metrics else ()
        found = tuple(name for name in self.columns if _is_of(self.metrics[name], of))
        return (self.objective,) if self.objective in found else found


@dataclass(frozen=True)
class Tables:
    """The tables of a workspace."""

    benchmarks: dict[str, BenchmarkTables]

    @property
    def stacks(self) -> frozenset[str]:
        """All names of stacks."""
        return frozenset(stack for each in self.benchmarks.values() for stack in each.stacks)

    @property
    def metrics(self) -> dict[str, MetricShown]:
        """All metrics, by id."""
        return {name: metric for each in self.benchmarks.values() for name, metric in each.metrics.items()}


def tables(verdicts: Iterable[Verdict], rankings: Iterable[Ranking]) -> Tables:
    """What the pages made of these verdicts and rankings show."""
    known = list(verdicts)
    return Tables(
        {each.benchmark: _benchmark(each, [v for v in known if v.benchmark == each.benchmark]) for each in rankings}
    )


def _benchmark(ranking: Ranking, verdicts: list[Verdict]) -> BenchmarkTables:
    metrics = {c.metric: MetricShown(c.metric, c.title, c.unit, c.lower_is_better) for c in ranking.columns}
    values: dict[tuple[str, str], list[Shown]] = defaultdict(list)
    for place in ranking.places:
        for name, cell in place.cells.items():
            values[place.stack, name].append(Shown(cell.value, cell.low, cell.high))
    for verdict in verdicts:
        for metric, stack, shown in _of_comparison(verdict):
            metrics.setdefault(metric.id, metric)
            values[stack, metric.id].append(shown)
    standing = {place.stack: place.standing for place in ranking.places}
    return BenchmarkTables(
        name=ranking.benchmark,
        objective=ranking.objective,
        stacks=tuple(standing),
        holding=frozenset(stack for stack, each in standing.items() if each is Standing.HOLDS),
        failing=frozenset(stack for stack, each in standing.items() if each is Standing.FAILS),
        metrics=metrics,
        columns=tuple(column.metric for column in ranking.columns),
        values={key: tuple(shown) for key, shown in values.items()},
        verdicts=tuple(verdicts),
    )


def _of_comparison(verdict: Verdict) -> Iterator[tuple[MetricShown, str, Shown]]:
    """(metric, stack, value) of every number that a comparison's page shows of one side."""
    effect, sides = verdict.effect, (verdict.baseline, verdict.candidate)
    objective = MetricShown(effect.metric, effect.title or effect.metric, effect.unit, effect.lower_is_better)
    for stack, mean in zip(sides, (effect.baseline, effect.candidate), strict=True):
        if mean is not None:
            yield objective, stack, Shown(mean, None, None)
    for check in verdict.limits:
        if check.value is not None:
            yield _metric(check.metric, check.unit), check.stack, Shown(check.value, check.low, check.high)
    for number in (number for claim in verdict.claims for number in claim.numbers):
        for stack, value in zip(sides, (number.baseline, number.candidate), strict=True):
            yield _metric(number.metric, number.unit, number.title), stack, Shown(value, None, None)
    for part in verdict.accounting.parts:
        for stack, seconds in zip(sides, (part.baseline, part.candidate), strict=True):
            if seconds is not None:
                yield _metric(part.id, "s", part.title), stack, Shown(seconds, None, None)


def _metric(name: str, unit: str, title: str = "") -> MetricShown:
    known = registry.get(name)
    lower = {"lower": True, "higher": False}.get(known.direction) if known else None
    return MetricShown(name, title or (known.title if known else name.replace("_", " ")), unit, lower)


def _is_of(metric: MetricShown, of: str) -> bool:
    """Whether a metric tells how fast, how dear or how good a stack's work is."""
    if metric.lower_is_better is None or metric.id in words.listed("set_aside"):
        return False
    if of == "quality":
        return metric.id in words.listed("quality")
    if of == "cost":
        return metric.unit == "money"
    if metric.lower_is_better:
        return metric.unit == "s"
    return of == "speed" and metric.unit.endswith("/s")
