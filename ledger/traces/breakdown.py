"""Where the time of a step goes, on one rank: disjoint parts that add up to the step's window exactly.

A step's window on the device begins when the step begins or, if later, when the device is done with what earlier
steps launched; it ends when the step ends or, if later, when the device is done with what this step launched. So
device work belongs to the step that launched it, windows never overlap, and consecutive ones leave no gap.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ledger.traces import work as pieces
from ledger.traces.classes import CLASSES, ClassTable, Role, table
from ledger.traces.flops import has_no_rule
from ledger.traces.interface import Int64, Kind
from ledger.traces.intervals import EMPTY, Intervals, joined, union_of
from ledger.traces.launching import UNKNOWN, launches
from ledger.traces.room import trim
from ledger.traces.trace import Trace

PARTS = ("compute", "exposed_communication", "exposed_copy", "input_wait", "host_gap", "idle")
"""The parts, in precedence: a nanosecond belongs to the first that claims it."""

_TOLERATED = 0.05
"""Share of device work without a known launch above which steps are not told apart."""


@dataclass(frozen=True)
class Step:
    """One step, or several that cannot be told apart. All times are nanoseconds over the whole window."""

    number: int | None
    """The profiler's number; None where the trace has no steps."""
    count: int
    """Steps in the window: 1 unless they cannot be told apart."""
    annotated: tuple[int, int]
    """Start and end of the annotation."""
    window: tuple[int, int]
    """Start and end on the device."""
    parts: dict[str, int]
    """One entry for each of PARTS; they add up to the window."""
    classes: dict[str, int]
    """One entry for each of CLASSES; they add up to `parts["compute"]`."""
    communication: int
    """Communication, covered by compute or not."""
    launches: int
    """Device kernels, copies and fills that the step launched; on a host without a device, operators called."""
    flops: int | None
    """Operations by recorded shapes; None where there are no shapes, or operators whose operations they do not give."""

    @property
    def duration(self) -> int:
        """Length of the window."""
        return self.window[1] - self.window[0]


@dataclass(frozen=True)
class Hotspot:
    """One kernel or operator name within the steps' windows."""

    name: str
    kind: str
    """Its class, `communication`, `copy` or `input_wait`; of several, the one with most of its time."""
    calls: int
    time: int
    """Self time in nanoseconds, added up over threads or streams."""


@dataclass(frozen=True)
class Breakdown:
    """One rank's trace, explained."""

    rank: int | None
    world_size: int | None
    has_device: bool
    steps: tuple[Step, ...]
    hotspots: tuple[Hotspot, ...]
    """Every name, the most time first."""
    warnings: tuple[str, ...]
    """What had to be assumed; what the file is like tells `ledger.traces.integrity`."""

    @property
    def step_count(self) -> int:
        """Steps covered."""
        return sum(step.count for step in self.steps)

    @property
    def duration(self) -> int:
        """All windows together."""
        return sum(step.duration for step in self.steps)

    def part(self, name: str) -> int:
        """Nanoseconds of a part over all steps."""
        return sum(step.parts[name] for step in self.steps)

    def kind(self, name: str) -> int:
        """Nanoseconds of a class of compute over all steps."""
        return sum(step.classes[name] for step in self.steps)


def explain(trace: Trace) -> Breakdown:
    """The breakdown of one trace; without a single timed event it has no steps."""
    trim()
    return _Explainer(trace, table()).breakdown()


def worked(trace: Trace) -> Iterator[pieces.Work]:
    """The pieces of work that `explain` measures, some at a time."""
    return _Explainer(trace, table()).work()


@dataclass(frozen=True)
class _Span:
    number: int | None
    start: int
    end: int
    count: int = 1


class _Explainer:
    """The working state of `explain`."""

    def __init__(self, trace: Trace, table: ClassTable) -> None:
        self.trace, self.events, self.table = trace, trace.events, table
        self.warnings: list[str] = []
        self.roles = [table.role(name) for name in trace.names]
        self.device = trace.device
        self.launch = launches(trace)

    def breakdown(self) -> Breakdown:
        spans, edges = self._windows(self._spans() if len(self.events) else [])
        claims, classes, hotspots = self._worked(edges)
        steps = self._steps(spans, edges, claims, classes)
        trace = self.trace
        return Breakdown(
            trace.rank, trace.facts.world_size, trace.has_device, steps, hotspots, tuple(dict.fromkeys(self.warnings))
        )

    def _with_role(self, role: Role, *kinds: Kind) -> Int64:
        named = np.array([found is role for found in self.roles] or [False], dtype=np.bool_)
        found = [np.empty(0, dtype=np.int64)]
        for slab in pieces.slabs(len(self.events)):
            here = np.isin(self.events.kind[slab], kinds) & named[self.events.name[slab]]
            found.append(np.flatnonzero(here) + slab.start)
        return np.concatenate(found)

    def _spans(self) -> list[_Span]:
        """The steps by their annotations, else the engine's iterations, else everything as one."""
        if self.trace.facts.steps:
            return self._in_order(
                sorted((_Span(*step) for step in self.trace.facts.steps), key=lambda span: span.start)
            )
        found = self._with_role(Role.STEP, Kind.ANNOTATION)
        numbers = [int(self.trace.names[name].rpartition("#")[2][-18:]) for name in self.events.name[found].tolist()]
        if not found.size:
            found = self._outermost(self._with_role(Role.ITERATION, Kind.ANNOTATION))
            numbers = _numbered([self.trace.names[name] for name in self.events.name[found].tolist()])
        if not found.size:
            self.warnings.append("no step annotation: the whole trace is taken as one step")
            return [_Span(None, int(self.events.start.min()), int(self.events.end.max()))]
        best: dict[int, _Span] = {}
        for number, event in zip(numbers, found.tolist(), strict=True):
            span = _Span(number, int(self.events.start[event]), int(self.events.end[event]))
            if number not in best or span.end - span.start > best[number].end - best[number].start:
                best[number] = span
        if len(best) < len(numbers):
            self.warnings.append(f"{len(numbers) - len(best)} step annotations repeat a number: the longest is used")
        return self._in_order(sorted(best.values(), key=lambda span: (span.start, span.end)))

    def _outermost(self, found: Int64) -> Int64:
        """In the order of their start, those that stand in no other: engines number what is inside an iteration too."""
        found = found[np.lexsort((-self.events.end[found], self.events.start[found]))]
        before = np.maximum.accumulate(np.concatenate([[UNKNOWN], self.events.end[found]]))[:-1]
        return found[self.events.end[found] > before]

    def _in_order(self, spans: list[_Span]) -> list[_Span]:
        if any(after.start < before.end for before, after in pairwise(spans)):
            self.warnings.append("step annotations overlap: the shared time is counted to the earlier one")
        return spans

    def _windows(self, spans: list[_Span]) -> tuple[list[_Span], Int64]:
        """Each step's window, a row of start and end; where too many launches are unknown, all steps as one."""
        if not spans:
            return spans, np.empty((0, 2), dtype=np.int64)
        unknown = self.device[self.launch == UNKNOWN]
        spans = self._merged(spans, int((self.events.end[unknown] > spans[0].start).sum()))
        times = np.unique([spans[0].start, *(span.end for span in spans)])
        done = dict(zip(times.tolist(), self._done_with(times), strict=True))
        edges = []
        edge = max(spans[0].start, done[spans[0].start])
        for span in spans:
            start = max(edge, span.start)
            edge = max(start, span.end, done[span.end])
            edges.append((start, edge))
        return spans, np.array(edges, dtype=np.int64)

    def _done_with(self, times: Int64) -> list[int]:
        """For each of the times (ascending): when the device is done with what was launched before it."""
        done = np.full(len(times) + 1, UNKNOWN, dtype=np.int64)
        for slab in pieces.slabs(self.device.size):
            later = np.searchsorted(times, self._launched_at(slab), side="right")
            np.maximum.at(done, later, self.events.end[self.device[slab]])
        return list(np.maximum.accumulate(done)[:-1].tolist())

    def _launched_at(self, slab: slice) -> Int64:
        """When device work was launched; where that is not known, when it ran."""
        launch = self.launch[slab]
        return np.where(launch == UNKNOWN, self.events.start[self.device[slab]], launch)

    def _merged(self, spans: list[_Span], unknown: int) -> list[_Span]:
        if not unknown:
            return spans
        total = self.device.size
        merge = unknown / total > _TOLERATED and len(spans) > 1
        then = "the steps are averaged, not told apart" if merge else "they are counted where they ran"
        self.warnings.append(f"{unknown} of {total} device events have no known launch: {then}")
        if merge:
            return [_Span(None, spans[0].start, max(span.end for span in spans), len(spans))]
        return spans

    def work(self) -> Iterator[pieces.Work]:
        """All pieces of work, some at a time."""
        if not self.trace.has_device:
            yield from pieces.slabs_on_host(self.trace, self.table)
            return
        stepping = self._with_role(Role.OPTIMIZER, Kind.ANNOTATION, Kind.OP)
        optimizing = union_of(self.events.start[stepping], self.events.end[stepping])
        for slab in pieces.slabs(self.device.size):
            inside = optimizing.contains(self.launch[slab])
            yield pieces.on_device(self.trace, self.table, self.device[slab], inside)

    def _worked(self, edges: Int64) -> tuple[dict[str, Intervals], dict[str, Intervals], tuple[Hotspot, ...]]:
        """What each part but `idle` and each class claim before precedence, and the names with the most time."""
        by_code: list[list[Intervals]] = [[] for _ in pieces.KINDS]
        hotspots = _Hotspots(self.trace, union_of(edges[:, 0], edges[:, 1]))
        for work in self.work():
            hotspots.add(work)
            for code, found in enumerate(by_code):
                mine = work.code == code
                found.append(union_of(work.start[mine], work.end[mine]))
        kinds = dict(zip(pieces.KINDS, map(joined, by_code), strict=True))
        classes = {name: kinds[name] for name in CLASSES}
        claims = {
            "compute": joined(classes.values()),
            "exposed_communication": kinds["communication"],
            "exposed_copy": kinds["copy"],
            "input_wait": kinds["input_wait"],
            "host_gap": EMPTY,
        }
        if self.trace.has_device:
            claims["input_wait"], claims["host_gap"] = self._host()
        return claims, classes, hotspots.found()

    def _host(self) -> tuple[Intervals, Intervals]:
        """When the host waited for input, and when it was inside an operator or a runtime call."""
        waits = self._with_role(Role.INPUT_WAIT, Kind.OP, Kind.ANNOTATION)
        busy = []
        for slab in pieces.slabs(len(self.events)):
            chosen = np.isin(self.events.kind[slab], (Kind.OP, Kind.RUNTIME))
            busy.append(union_of(self.events.start[slab][chosen], self.events.end[slab][chosen]))
        return union_of(self.events.start[waits], self.events.end[waits]), joined(busy)

    def _steps(
        self, spans: list[_Span], edges: Int64, claims: dict[str, Intervals], classes: dict[str, Intervals]
    ) -> tuple[Step, ...]:
        parts, by_class = _measured(claims, edges), _measured(classes, edges)
        communication = claims["exposed_communication"].within(edges)
        annotated = np.array([(span.start, span.end) for span in spans], dtype=np.int64).reshape(-1, 2)
        launches, flops = self._launched(annotated), self._flops(annotated)
        return tuple(
            Step(
                number=span.number,
                count=span.count,
                annotated=(span.start, span.end),
                window=(low, high),
                parts={**parts[place], "idle": high - low - sum(parts[place].values())},
                classes=by_class[place],
                communication=int(communication[place]),
                launches=launches[place],
                flops=flops[place],
            )
            for place, (span, (low, high)) in enumerate(zip(spans, edges.tolist(), strict=True))
        )

    def _launched(self, annotated: Int64) -> list[int]:
        """How many pieces of device work, or of operators on a host alone, each step launched."""
        counts = np.zeros(2 * len(annotated), dtype=np.int64)
        for slab in pieces.slabs(self.device.size if self.trace.has_device else len(self.events)):
            if self.trace.has_device:
                at = self._launched_at(slab)
            else:
                at = self.events.start[slab][self.events.kind[slab] == Kind.OP]
            counts += _before(annotated, at, np.ones(len(at), dtype=np.int64))
        return list((counts[1::2] - counts[::2]).tolist())

    def _flops(self, annotated: Int64) -> list[int | None]:
        """Operations that each step called for."""
        flops = self.trace.flops
        if not len(flops) or any(has_no_rule(name) for name in self.trace.names):
            return [None] * len(annotated)
        before = _before(annotated, self.events.start[flops.event], flops.value)
        return list((before[1::2] - before[::2]).tolist())


def _before(edges: Int64, at: Int64, amount: Int64) -> Int64:
    """For each edge, the amounts that stand before it."""
    order = np.argsort(edges.ravel(), kind="stable")
    bins = np.zeros(edges.size + 1, dtype=np.int64)
    np.add.at(bins, np.searchsorted(edges.ravel()[order], at, side="right"), amount)
    sums = np.empty(edges.size, dtype=np.int64)
    sums[order] = np.cumsum(bins)[:-1]
    return sums


class _Hotspots:
    """Time and calls by name within the steps' windows."""

    def __init__(self, trace: Trace, windows: Intervals) -> None:
        self._names, self._name, self._windows = trace.names, trace.events.name, windows
        self._time = np.zeros((len(trace.names), len(pieces.KINDS)), dtype=np.int64)
        self._called = np.zeros(len(trace.events), dtype=np.bool_)

    def add(self, work: pieces.Work) -> None:
        """Count some pieces of work."""
        spent = self._windows.before(work.end) - self._windows.before(work.start)
        np.add.at(self._time, (self._name[work.event], work.code), spent)
        self._called[work.event[self._windows.contains(work.start)]] = True

    def found(self) -> tuple[Hotspot, ...]:
        """Every name with time, the most first."""
        calls = np.bincount(self._name[self._called], minlength=len(self._names))
        time = self._time
        found = [
            Hotspot(self._names[name], pieces.KINDS[int(time[name].argmax())], int(calls[name]), int(time[name].sum()))
            for name in np.flatnonzero(time.any(axis=1)).tolist()
        ]
        return tuple(sorted(found, key=lambda spot: (-spot.time, spot.name)))


def _numbered(names: list[str]) -> list[int]:
    """Iterations' numbers: those at the end of their names where each has one of its own, else in their order."""
    found = [re.search(r"\d{1,18}$", name) for name in names]
    numbers = [int(number[0]) for number in found if number]
    return numbers if len(set(numbers)) == len(names) else list(range(len(names)))


def _measured(claims: dict[str, Intervals], edges: Int64) -> list[dict[str, int]]:
    """Nanoseconds that each claim holds of each window (a row of start and end) beyond what the claims before it hold.

    Done in stretches of time, so that what it takes in memory does not grow with the trace.
    """
    totals = np.zeros((len(edges), len(claims)), dtype=np.int64)
    for low, high in pairwise(_stretches(claims.values(), edges)):
        taken = EMPTY
        for place, claim in enumerate(claims.values()):
            mine = claim.clip(low, high)
            totals[:, place] += (mine - taken).within(edges)
            taken = taken | mine
    return [dict(zip(claims, row, strict=True)) for row in totals.tolist()]


def _stretches(claims: Collection[Intervals], edges: Int64) -> list[int]:
    """Times that cut all windows into stretches of about SLAB intervals."""
    if not edges.size:
        return []
    largest = max(claims, key=lambda each: each.starts.size).starts
    count = 1 + sum(each.starts.size for each in claims) // pieces.SLAB
    cuts = largest[np.linspace(0, largest.size - 1, count + 1).astype(np.int64)[1:-1]] if largest.size else largest
    first, last = int(edges.min()), int(edges.max())
    return [first, *np.unique(cuts[(cuts > first) & (cuts < last)]).tolist(), last]
