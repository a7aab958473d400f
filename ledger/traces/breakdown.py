"""Where the time of a step goes, on one rank: disjoint parts that add up to the step's window exactly.

A step's window on the device begins when the step begins or, if later, when the device is done with what earlier
steps launched; it ends when the step ends or, if later, when the device is done with what this step launched. So
device work belongs to the step that launched it, windows never overlap, and consecutive ones leave no gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ledger.traces import work as pieces
from ledger.traces.classes import CLASSES, ClassTable, Role, table
from ledger.traces.flops import has_no_rule
from ledger.traces.interface import ABSENT, DEVICE_KINDS, Int64, Kind
from ledger.traces.intervals import EMPTY, Booleans, Intervals, union_of
from ledger.traces.trace import Events, Trace

PARTS = ("compute", "exposed_communication", "exposed_copy", "input_wait", "host_gap", "idle")
"""The parts, in precedence: a nanosecond belongs to the first that claims it."""

UNKNOWN = np.iinfo(np.int64).min
EARLIER = UNKNOWN + 1
"""Launch times of device work whose launch is not in the trace."""
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
    return _Explainer(trace, table()).breakdown()


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
        self.warnings = list(trace.warnings)
        self.roles = [table.role(name) for name in trace.names]

    def breakdown(self) -> Breakdown:
        spans = self._spans() if len(self.events) else []
        launch = _launches(self.events) if self.trace.has_device else self.events.start
        spans, windows = self._windows(spans, launch)
        work = self._work(launch)
        steps = tuple(self._steps(spans, windows, work, launch))
        hotspots = tuple(self._hotspots(work, windows))
        trace = self.trace
        return Breakdown(
            trace.rank, trace.facts.world_size, trace.has_device, steps, hotspots, tuple(dict.fromkeys(self.warnings))
        )

    def _with_role(self, role: Role, *kinds: Kind) -> Int64:
        named = np.array([found is role for found in self.roles] or [False], dtype=np.bool_)
        chosen = self.events.where(*kinds)
        return chosen[named[self.events.name[chosen]]]

    def _spans(self) -> list[_Span]:
        """The steps by their annotations, else the engine's iterations, else everything as one."""
        found = self._with_role(Role.STEP, Kind.ANNOTATION)
        numbers = [int(self.trace.names[name].rpartition("#")[2]) for name in self.events.name[found].tolist()]
        if not found.size:
            found = self._with_role(Role.ITERATION, Kind.ANNOTATION)
            found = found[np.argsort(self.events.start[found], kind="stable")]
            numbers = list(range(found.size))
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

    def _in_order(self, spans: list[_Span]) -> list[_Span]:
        if any(after.start < before.end for before, after in pairwise(spans)):
            self.warnings.append("step annotations overlap: the shared time is counted to the earlier one")
        return spans

    def _windows(self, spans: list[_Span], launch: Int64) -> tuple[list[_Span], list[tuple[int, int]]]:
        """Each step's window; where too many launches are unknown, all steps as one."""
        windows: list[tuple[int, int]] = []
        if not spans:
            return spans, windows
        device = self.events.where(*DEVICE_KINDS)
        ends = self.events.end[device]
        unknown = launch[device] == UNKNOWN
        launched = np.where(unknown, self.events.start[device], launch[device])
        spans = self._merged(spans, int((unknown & (ends > spans[0].start)).sum()), device.size)
        edge = max([spans[0].start, *_last_end(ends, launched < spans[0].start)])
        for span in spans:
            start = max(edge, span.start)
            edge = max([start, span.end, *_last_end(ends, launched < span.end)])
            windows.append((start, edge))
        return spans, windows

    def _merged(self, spans: list[_Span], unknown: int, total: int) -> list[_Span]:
        if not unknown:
            return spans
        merge = unknown / total > _TOLERATED and len(spans) > 1
        then = "the steps are averaged, not told apart" if merge else "they are counted where they ran"
        self.warnings.append(f"{unknown} of {total} device events have no known launch: {then}")
        if merge:
            return [_Span(None, spans[0].start, max(span.end for span in spans), len(spans))]
        return spans

    def _work(self, launch: Int64) -> pieces.Work:
        if not self.trace.has_device:
            return pieces.on_host(self.trace, self.table)
        stepping = self._with_role(Role.OPTIMIZER, Kind.ANNOTATION, Kind.OP)
        inside = union_of(self.events.start[stepping], self.events.end[stepping]).contains(launch)
        return pieces.on_device(self.trace, self.table, inside)

    def _host(self) -> tuple[Intervals, Intervals]:
        """When the host waited for input, and when it was inside an operator or a runtime call."""
        waits = self._with_role(Role.INPUT_WAIT, Kind.OP, Kind.ANNOTATION)
        busy = self.events.where(Kind.OP, Kind.RUNTIME)
        return (
            union_of(self.events.start[waits], self.events.end[waits]),
            union_of(self.events.start[busy], self.events.end[busy]),
        )

    def _claims(self, work: pieces.Work) -> dict[str, Intervals]:
        """What each part but `idle` claims, before precedence."""

        def having(chosen: Booleans) -> Intervals:
            return union_of(work.start[chosen], work.end[chosen])

        waits, busy = self._host() if self.trace.has_device else (having(work.code == pieces.INPUT_WAIT), EMPTY)
        return {
            "compute": having(work.code < len(CLASSES)),
            "exposed_communication": having(work.code == pieces.COMMUNICATION),
            "exposed_copy": having(work.code == pieces.COPY),
            "input_wait": waits,
            "host_gap": busy,
        }

    def _steps(
        self, spans: list[_Span], windows: list[tuple[int, int]], work: pieces.Work, launch: Int64
    ) -> Iterator[Step]:
        claims = self._claims(work)
        parts = _disjoint(claims)
        classes = _disjoint(
            {
                kind: union_of(work.start[work.code == code], work.end[work.code == code])
                for code, kind in enumerate(CLASSES)
            }
        )
        counted = self.events.where(*(DEVICE_KINDS if self.trace.has_device else (Kind.OP,)))
        launched = np.where(launch == UNKNOWN, self.events.start, launch)[counted]
        flops = self.trace.flops
        counted_at = self.events.start[flops.event]
        complete = not any(has_no_rule(name) for name in self.trace.names)
        for span, window in zip(spans, windows, strict=True):
            mine = {name: found.clip(*window).length for name, found in parts.items()}
            during = (counted_at >= span.start) & (counted_at < span.end)
            yield Step(
                number=span.number,
                count=span.count,
                annotated=(span.start, span.end),
                window=window,
                parts={**mine, "idle": window[1] - window[0] - sum(mine.values())},
                classes={kind: found.clip(*window).length for kind, found in classes.items()},
                communication=claims["exposed_communication"].clip(*window).length,
                launches=int(((launched >= span.start) & (launched < span.end)).sum()),
                flops=int(flops.value[during].sum()) if complete and len(flops) else None,
            )

    def _hotspots(self, work: pieces.Work, windows: list[tuple[int, int]]) -> list[Hotspot]:
        edges = np.array(windows, dtype=np.int64).reshape(-1, 2)
        inside = union_of(edges[:, 0], edges[:, 1])
        spent = inside.before(work.end) - inside.before(work.start)
        names, kinds = len(self.trace.names), len(_KINDS)
        time = np.zeros((names, kinds), dtype=np.int64)
        np.add.at(time, (self.events.name[work.event], work.code), spent)
        called = np.zeros(len(self.events), dtype=np.bool_)
        called[work.event[inside.contains(work.start)]] = True
        calls = np.bincount(self.events.name[called], minlength=names)
        found = [
            Hotspot(self.trace.names[name], _KINDS[int(time[name].argmax())], int(calls[name]), int(time[name].sum()))
            for name in np.flatnonzero(time.any(axis=1)).tolist()
        ]
        return sorted(found, key=lambda spot: (-spot.time, spot.name))


_KINDS = (*CLASSES, "communication", "copy", "input_wait")


def _disjoint(claims: dict[str, Intervals]) -> dict[str, Intervals]:
    """Each claim without what the claims before it hold."""
    taken, left = EMPTY, {}
    for name, claim in claims.items():
        left[name] = claim - taken
        taken = taken | claim
    return left


def _last_end(ends: Int64, chosen: Booleans) -> list[int]:
    return [int(ends[chosen].max())] if chosen.any() else []


def _launches(events: Events) -> Int64:
    """When each device event was launched: the runtime call of its correlation, else the operator of its external id.

    Where neither is in the trace: EARLIER for what ran before all work with a known launch (it was launched before the
    profiler looked), else UNKNOWN. A column over all events; those of the host keep their own start.
    """
    launch = events.start.copy()
    device = events.where(*DEVICE_KINDS)
    launch[device] = UNKNOWN
    calls, ops = events.where(Kind.RUNTIME), events.where(Kind.OP)
    _find_launches(events, launch, device, calls, events.correlation)
    _find_launches(events, launch, device, ops, events.external)
    known = device[launch[device] != UNKNOWN]
    if known.size:
        missing = device[launch[device] == UNKNOWN]
        launch[missing[events.start[missing] < events.start[known].min()]] = EARLIER
    return launch


def _find_launches(events: Events, launch: Int64, device: Int64, sources: Int64, ids: Int64) -> None:
    """Fill in `launch` for device events that share an id with one of the sources."""
    asked = device[(launch[device] == UNKNOWN) & (ids[device] != ABSENT)]
    told = sources[ids[sources] != ABSENT]
    if not told.size or not asked.size:
        return
    told = told[np.argsort(ids[told], kind="stable")]
    place = np.minimum(np.searchsorted(ids[told], ids[asked]), told.size - 1)
    matched = ids[told[place]] == ids[asked]
    launch[asked[matched]] = events.start[told[place[matched]]]
