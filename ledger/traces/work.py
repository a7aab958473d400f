"""Work on the device as disjoint pieces of time, each with one event to answer for it.

With a device in the trace a piece is a kernel, copy or fill. Without one the host is the device: a piece is a stretch
of a thread during which one operator is the innermost (its self time), so that `linear > addmm` counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ledger.traces.classes import CLASSES, ClassTable, Role
from ledger.traces.interface import Int64, Kind
from ledger.traces.intervals import Booleans
from ledger.traces.nesting import nest
from ledger.traces.room import forget_pages
from ledger.traces.trace import Events, Trace

COMMUNICATION = len(CLASSES)
COPY = COMMUNICATION + 1
INPUT_WAIT = COPY + 1
NOTHING = INPUT_WAIT + 1
"""Codes of a piece beside the index of its class in CLASSES. NOTHING: inside an annotation, but in no operator."""
KINDS = (*CLASSES, "communication", "copy", "input_wait")
"""What the codes but NOTHING mean, in their order: a class of compute, or what else a piece is."""

_OPTIMIZER = CLASSES.index("optimizer")
_OTHER = CLASSES.index("other")
_ALONE = CLASSES.index("elementwise")


Codes = npt.NDArray[np.int8]

SLAB = 2**18
"""Events that are worked on at once, so that what it takes in memory does not grow with the trace."""


def slabs(size: int, *, backwards: bool = False) -> Iterator[slice]:
    """Slices that cover `size` events, SLAB at a time; between them, pages of columns on disk are let go of."""
    firsts = range(0, size, SLAB)
    for first in reversed(firsts) if backwards else firsts:
        yield slice(first, first + SLAB)
        if size > SLAB:
            forget_pages()


@dataclass(frozen=True)
class Work:
    """Pieces as columns of equal length. Pieces of different tracks may overlap, those of one host thread never."""

    start: Int64
    end: Int64
    event: Int64
    """Index into the trace's events."""
    code: Codes
    """Index into CLASSES, or COMMUNICATION, COPY, INPUT_WAIT."""


def on_device(trace: Trace, table: ClassTable, chosen: Int64, optimizer: Booleans) -> Work:
    """Kernels, copies and fills: the events `chosen`. `optimizer`: whether an optimizer's step launched each."""
    events = trace.events
    by_name = np.array([_kernel_code(name, table) for name in trace.names] or [_OTHER], dtype=np.int8)
    code = np.where(events.kind[chosen] == Kind.KERNEL, by_name[events.name[chosen]], np.int8(COPY))
    code = np.where((code < COMMUNICATION) & optimizer, np.int8(_OPTIMIZER), code)
    return Work(events.start[chosen], events.end[chosen], chosen, code)


def on_host(trace: Trace, table: ClassTable) -> Work:
    """Self time of the host's operators, thread by thread."""
    found = list(slabs_on_host(trace, table))
    none = np.empty(0, dtype=np.int64)
    return Work(
        np.concatenate([none, *(each.start for each in found)]),
        np.concatenate([none, *(each.end for each in found)]),
        np.concatenate([none, *(each.event for each in found)]),
        np.concatenate([none.astype(np.int8), *(each.code for each in found)]),
    )


def slabs_on_host(trace: Trace, table: ClassTable) -> Iterator[Work]:
    """Self time of the host's operators, thread by thread, about SLAB events at a time."""
    events = trace.events
    codes = np.array([_host_code(name, table) for name in trace.names], dtype=np.int8)
    marks = [table.role(name) in _MARKS for name in trace.names]
    marked = np.array(marks or [False], dtype=np.bool_)[events.name] if len(events) else np.empty(0, dtype=np.bool_)
    chosen = np.flatnonzero((events.kind == Kind.OP) | ((events.kind == Kind.ANNOTATION) & marked))
    for track in _by_track(events.track[chosen]):
        for slab in free_slabs(events, chosen[track]):
            yield Work(*_innermost(trace, slab, codes))


_MARKS = (Role.COMMUNICATION, Role.INPUT_WAIT, Role.OPTIMIZER)
_INHERIT = -1
_OUTSIDE = np.array([[NOTHING], [_INHERIT]], dtype=np.int8)
"""The code of what stands around an outermost event, and what it forces on it."""


def _kernel_code(name: str, table: ClassTable) -> int:
    if table.role(name) is Role.COMMUNICATION:
        return COMMUNICATION
    kind = table.class_of(name)
    return _ALONE if kind is None else CLASSES.index(kind)


def _host_code(name: str, table: ClassTable) -> int:
    role = table.role(name)
    if role is Role.COMMUNICATION:
        return COMMUNICATION
    if role is Role.INPUT_WAIT:
        return INPUT_WAIT
    kind = table.class_of(name)
    return _INHERIT if kind is None else CLASSES.index(kind)


def free_slabs(events: Events, thread: Int64) -> Iterator[Int64]:
    """One thread's events in the order of their start, cut where nothing is open, in about SLAB at a time."""
    thread = thread[np.argsort(events.start[thread], kind="stable")]
    first = 0
    while len(thread) - first > SLAB:
        ends = np.maximum.accumulate(events.end[thread[first:-1]])
        free = np.flatnonzero(events.start[thread[first + 1 :]] >= ends) + 1
        enough = free[np.searchsorted(free, SLAB) :]
        if not enough.size:
            break
        yield thread[first : first + int(enough[0])]
        first += int(enough[0])
    yield thread[first:]


def _by_track(track: npt.NDArray[np.int32]) -> list[Int64]:
    """The positions of each track's events."""
    order = np.argsort(track, kind="stable")
    edges = np.flatnonzero(np.diff(track[order])) + 1
    return np.split(order, edges) if order.size else []


_Pieces = tuple[Int64, Int64, Int64, Codes]
"""Starts, ends, events, codes."""


def _innermost(trace: Trace, chosen: Int64, codes: Codes) -> _Pieces:
    """One thread's time cut among its innermost events."""
    events = trace.events
    found = nest(events.start[chosen], events.end[chosen])
    if found is None:
        return _swept(trace, chosen, codes)
    event = chosen[found.order]
    code, forced = np.empty((2, len(event)), dtype=np.int8)
    for depth, level in enumerate(found.levels):
        caller = found.caller[level]
        above = (
            (code[caller], forced[caller])
            if depth
            else np.full((2, len(level)), [[NOTHING], [_INHERIT]], dtype=np.int8)
        )
        own, is_mark = codes[events.name[event[level]]], events.kind[event[level]] == Kind.ANNOTATION
        code[level], forced[level] = _coded(own, is_mark, *above)
    start, end, owner = found.self_times()
    known = code[owner] != NOTHING
    return start[known], end[known], event[owner][known], code[owner][known]


def _coded(own: Codes, is_mark: Booleans, caller: Codes, forced: Codes) -> tuple[Codes, Codes]:
    """Events' own codes and those that they force on what they call (_INHERIT for none), given what they stand in.

    `own`: by name; `caller`: the code of the event around each; `forced`: what it forces on them.
    """
    free = forced == _INHERIT
    steps = is_mark & (own < COMMUNICATION)  # an optimizer's step
    waits = (own >= COMMUNICATION) & (free | (forced == _OPTIMIZER))
    inherited = np.where((caller == NOTHING) | (caller == _OTHER), _ALONE, caller)
    code = np.select(
        [steps, waits, ~free, own == _INHERIT], [np.where(free, NOTHING, forced), own, forced, inherited], own
    )
    passed = np.select([steps, waits], [np.where(free, _OPTIMIZER, forced), own], forced)
    return code, passed


def _swept(trace: Trace, chosen: Int64, codes: Codes) -> _Pieces:
    """The same for a thread whose events overlap without one holding the other: the later one is the innermost."""
    events = trace.events
    order = chosen[np.lexsort((-events.end[chosen], events.start[chosen]))]
    pieces: list[tuple[int, int, int, int]] = []
    stack: list[tuple[int, int, int, int]] = []  # event, end, its code, the code that it forces on what it calls
    cursor = 0

    def emit(until: int) -> None:
        event, _, code, _ = stack[-1]
        if until > cursor and code != NOTHING:
            pieces.append((cursor, until, event, code))

    for event in order.tolist():
        start, end = int(events.start[event]), int(events.end[event])
        while stack and stack[-1][1] <= start:
            emit(stack[-1][1])
            cursor = max(cursor, stack.pop()[1])
        if stack:
            emit(start)
        cursor = max(cursor, start)
        _, _, caller, forced = stack[-1] if stack else (0, 0, NOTHING, _INHERIT)
        own, is_mark = codes[events.name[[event]]], events.kind[[event]] == Kind.ANNOTATION
        code, passed = _coded(own, is_mark, np.array([caller], dtype=np.int8), np.array([forced], dtype=np.int8))
        stack.append((event, end, int(code[0]), int(passed[0])))
    while stack:
        emit(stack[-1][1])
        cursor = max(cursor, stack.pop()[1])
    columns = np.array(pieces, dtype=np.int64).reshape(-1, 4)
    return columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3].astype(np.int8)
