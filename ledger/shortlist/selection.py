"""Which public rows fit the workload at hand, why each is in, and in which order, if there is one.

An order needs a published metric whose definition is that of the objective, and rows under the same conditions: step
times of unequal work and latencies of unequal loads are never put in one order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ledger.benchmark import Benchmark
from ledger.shortlist import models
from ledger.shortlist.rows import PublicRow
from ledger.workloads.serve import ServeWorkload
from ledger.workloads.train import TrainWorkload

AT_SEND = "@sent"
"""Times from when a client sent a request: ours start when it was due, which is the same in a closed loop."""
PER_STEP = frozenset({"step_time"})
"""Metrics of one step, which say nothing where the work of a step is unknown."""
_LOAD = ("concurrency", "request_rate")
_LENGTHS = ("input_length", "output_length")
_WORK = ("samples_per_step", "tokens_per_step")

Conditions = tuple[tuple[str, float], ...]


class Standing(StrEnum):
    """How a fact of a row stands to what is asked."""

    SAME = "same"
    UNKNOWN = "unknown"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Asked:
    """The workload at hand; None is what it does not tell."""

    kind: str | None = None
    model: str | None = None
    hardware: str | None = None
    """A class, device or vendor."""
    objective: str | None = None
    lower_is_better: bool = True
    closed_loop: bool = False
    conditions: Conditions = ()
    """Work of a step or load, as far as the benchmark file tells it."""


@dataclass(frozen=True)
class Fact:
    """One fact of a row beside what is asked."""

    name: str
    standing: Standing
    there: str | None
    asked: str | None


@dataclass(frozen=True)
class Group:
    """Rows with values of one metric under the same conditions: only among them there is an order."""

    metric: str
    conditions: Conditions
    rows: int
    asked: bool
    """Whether these are the conditions of the benchmark, as far as both tell them."""


@dataclass(frozen=True)
class Entry:
    """A row that fits: why it is in, and its place among the rows of its group."""

    row: PublicRow
    facts: tuple[Fact, ...]
    rank: int | None = None
    group: Group | None = None
    value: float | None = None
    """What it is ranked by."""
    unranked: str | None = None
    """Why it has no place."""

    def named(self, standing: Standing) -> tuple[str, ...]:
        """Names of the facts that stand so."""
        return tuple(fact.name for fact in self.facts if fact.standing is standing)


@dataclass(frozen=True)
class Shortlist:
    """The rows that fit: those of the benchmark's own conditions first, each group in its order, then the unranked."""

    entries: tuple[Entry, ...]
    left_out: dict[str, int]
    """{fact: rows that differ there}; of each row the first such fact counts."""
    doubles: int
    """Rows left out because another collection holds the same result."""
    metrics: tuple[str, ...]
    """Published metrics that mean what the objective means and that a row has a value of."""
    unranked: str | None
    """Why there is no order at all."""
    asked: Asked | None = None
    """What the rows were held against."""


_Fitting = tuple[PublicRow, tuple[Fact, ...]]


def asked(
    benchmark: Benchmark, hardware: str | None = None, model: str | None = None, rows: Iterable[PublicRow] = ()
) -> Asked:
    """What a benchmark asks for. `hardware` and `model` say what the file does not, or say it otherwise.

    A `command` benchmark tells neither phase nor model: those of the `rows` that its stacks were drafted from stand in.
    """
    workload, objective = benchmark.workload, benchmark.envelope.objective
    kind: str | None = workload.kind if workload.kind != "command" else None
    conditions: dict[str, float] = {}
    closed = False
    if kind is None:
        links = {stack.public for stack in benchmark.stacks.values()}
        drafted = [row for row in rows if row.link in links]
        kind = _one_of(row.kind for row in drafted)
        model = model or _one_of(row.model for row in drafted)
    if isinstance(workload, TrainWorkload):
        model = model or workload.model.name
        conditions["samples_per_step"] = workload.global_batch_size
        conditions["tokens_per_step"] = workload.global_batch_size * workload.sequence_length
    elif isinstance(workload, ServeWorkload):
        model = model or workload.model.name or workload.model.path
        closed = not workload.load.is_open
        if workload.load.concurrency is not None:
            conditions["concurrency"] = workload.load.concurrency
        elif workload.load.arrivals is not None:
            conditions["request_rate"] = workload.load.arrivals.rate
    return Asked(
        kind, model, hardware, objective.metric, objective.minimise is not None, closed, tuple(conditions.items())
    )


def _one_of(told: Iterable[str | None]) -> str | None:
    """What all of them tell; None where they differ."""
    found = set(told)
    return found.pop() if len(found) == 1 else None


def select(rows: Iterable[PublicRow], wanted: Asked | None) -> Shortlist:
    """The rows that fit `wanted`, in order; without it all of them, unranked."""
    rows = tuple(rows)
    if wanted is None:
        entries = [Entry(row, (), unranked="no benchmark is asked about") for row in rows]
        return Shortlist(tuple(sorted(entries, key=_worth)), {}, 0, (), "no benchmark is asked about")
    fitting: list[_Fitting] = []
    left_out: Counter[str] = Counter()
    for row in rows:
        facts = tuple(_facts(row, wanted))
        different = next((fact.name for fact in facts if fact.standing is Standing.DIFFERENT), None)
        if different is None:
            fitting.append((row, facts))
        else:
            left_out[different] += 1
    found = len(fitting)
    fitting = _once(fitting)
    metrics = tuple(sorted({each for row, _ in fitting for each in row.values if _means(each, row, wanted)}))
    entries = _ranked(fitting, wanted)
    return Shortlist(
        tuple(entries), dict(left_out), found - len(fitting), metrics, _no_order(entries, metrics, wanted), wanted
    )


def _once(fitting: list[_Fitting]) -> list[_Fitting]:
    """Each result once: of several collections that hold it, from the one that tells most."""
    best: dict[tuple[object, ...], _Fitting] = {}
    for each in sorted(fitting, key=lambda each: _worth(Entry(*each))):
        best.setdefault(each[0].result, each)
    return list(best.values())


def _facts(row: PublicRow, wanted: Asked) -> Iterable[Fact]:
    yield _fact("phase", row.kind, wanted.kind, row.kind == wanted.kind)
    there, here = models.family(row.model), models.family(wanted.model)
    yield _fact("model family", there, here, there == here)
    large, own = models.size(row.model), models.size(wanted.model)
    alike = large is not None and own is not None and models.same_size(large, own)
    yield _fact("model size", _parameters(large), _parameters(own), alike)
    names = [each for each in (row.device_class, row.device, row.vendor) if each]
    found = wanted.hardware is not None and wanted.hardware.casefold() in {each.casefold() for each in names}
    yield _fact("hardware", ", ".join(names) or None, wanted.hardware, found)


def _fact(name: str, there: str | None, here: str | None, same: bool) -> Fact:
    if there is None or here is None:
        return Fact(name, Standing.UNKNOWN, there, here)
    return Fact(name, Standing.SAME if same else Standing.DIFFERENT, there, here)


def _parameters(count: float | None) -> str | None:
    if count is None:
        return None
    return f"{count / 1e9:g}B" if count >= 1e9 else f"{count / 1e6:g}M"


def _means(metric: str, row: PublicRow, wanted: Asked) -> bool:
    """Whether a row's metric is the objective by definition."""
    if row.value(metric) is None:
        return False
    if metric == wanted.objective:
        return True
    both_closed = wanted.closed_loop and row.workload.get("load") == "closed loop"
    return metric == f"{wanted.objective}{AT_SEND}" and both_closed


def _ranked(fitting: Sequence[_Fitting], wanted: Asked) -> list[Entry]:
    groups: dict[tuple[str, Conditions], list[_Fitting]] = defaultdict(list)
    rest: list[Entry] = []
    for row, facts in fitting:
        metric = next((each for each in sorted(row.values) if _means(each, row, wanted)), None)
        conditions = _conditions(row)
        if metric is None:
            rest.append(Entry(row, facts, unranked=f"it has no value that is {wanted.objective} by definition"))
        elif row.kind == "serve" and not {*_LOAD} & dict(conditions).keys():
            rest.append(Entry(row, facts, unranked="its load is not told"))
        elif metric in PER_STEP and not conditions:
            rest.append(Entry(row, facts, unranked="its work per step is not told"))
        else:
            # By the objective: a closed loop's time from sending is the same quantity under another name.
            groups[str(wanted.objective), conditions].append((row, facts))
    ordered = [_group(metric, conditions, members, wanted) for (metric, conditions), members in groups.items()]
    ordered.sort(key=lambda entries: _group_order(entries[0]))
    return [*(entry for entries in ordered for entry in entries), *sorted(rest, key=_worth)]


def _group(metric: str, conditions: Conditions, members: list[_Fitting], wanted: Asked) -> list[Entry]:
    sign = 1.0 if wanted.lower_is_better else -1.0
    known = dict(conditions)
    same = all(known.get(name) == value for name, value in wanted.conditions)
    group = Group(metric, conditions, len(members), same)
    values = {row.link: sign * _objective(row, wanted) for row, _ in members}
    entries = [
        Entry(
            row,
            facts,
            1 + sum(each < values[row.link] for each in values.values()),
            group,
            sign * values[row.link],
        )
        for row, facts in members
    ]
    return sorted(entries, key=lambda entry: (entry.rank, entry.row.link))


def _objective(row: PublicRow, wanted: Asked) -> float:
    return next(float(row.value(each) or 0.0) for each in sorted(row.values) if _means(each, row, wanted))


def _conditions(row: PublicRow) -> Conditions:
    """What decides the work of a row, as far as it is told; a mean length counts with two digits."""
    if row.kind != "serve":
        found = {name: _told(row, name) for name in _WORK}
    else:
        found = {name: _told(row, name) for name in (*_LOAD, *_LENGTHS)}
        for name in _LENGTHS:
            mean = _told(row, f"mean_{name}")
            if found[name] is None and mean is not None:
                found[name] = float(f"{mean:.2g}")
    return tuple((name, value) for name, value in found.items() if value is not None)


def _told(row: PublicRow, name: str) -> float | None:
    value = row.workload.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _group_order(first: Entry) -> tuple[bool, int, Conditions]:
    group = first.group
    return (not group.asked, -group.rows, group.conditions) if group else (True, 0, ())


def _worth(entry: Entry) -> tuple[bool, int, int, int, str]:
    """Of rows without an order those come first that hold a result, fit in most, show most and have fewest problems."""
    row = entry.row
    same = len(entry.named(Standing.SAME))
    return (row.state != "completed", -same, -len(row.shows), len(row.problems), row.link)


def _no_order(entries: Sequence[Entry], metrics: tuple[str, ...], wanted: Asked) -> str | None:
    if any(entry.rank is not None for entry in entries):
        return None
    if not entries:
        return "no row fits"
    if wanted.objective is None:
        return "there is no objective yet"
    if metrics:
        return "no row tells the work or the load that its value belongs to"
    stem = str(wanted.objective).partition(".")[0]
    near = sorted(
        {each for entry in entries for each in entry.row.values if each.partition(".")[0].partition("@")[0] == stem}
    )
    other = f"; {', '.join(near)} {'is' if len(near) == 1 else 'are'} of another definition" if near else ""
    return f"no published value is {wanted.objective} by its definition here{other}"
