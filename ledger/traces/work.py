"""Work on the device as disjoint pieces of time, each with one event to answer for it.

With a device in the trace a piece is a kernel, copy or fill. Without one the host is the device: a piece is a stretch
of a thread during which one operator is the innermost (its self time), so that `linear > addmm` counts once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ledger.traces.classes import CLASSES, ClassTable, Role
from ledger.traces.interface import DEVICE_KINDS, Int64, Kind
from ledger.traces.intervals import Booleans
from ledger.traces.nesting import nest
from ledger.traces.trace import Trace

COMMUNICATION = len(CLASSES)
COPY = COMMUNICATION + 1
INPUT_WAIT = COPY + 1
NOTHING = INPUT_WAIT + 1
"""Codes of a piece beside the index of its class in CLASSES. NOTHING: inside an annotation, but in no operator."""

_OPTIMIZER = CLASSES.index("optimizer")
_OTHER = CLASSES.index("other")
_ALONE = CLASSES.index("elementwise")


@dataclass(frozen=True)
class Work:
    """Pieces as columns of equal length. Pieces of different tracks may overlap, those of one host thread never."""

    start: Int64
    end: Int64
    event: Int64
    """Index into the trace's events."""
    code: Int64
    """Index into CLASSES, or COMMUNICATION, COPY, INPUT_WAIT."""


def on_device(trace: Trace, table: ClassTable, optimizer: Booleans) -> Work:
    """Kernels, copies and fills. `optimizer`: for each event of the trace, whether an optimizer's step launched it."""
    events = trace.events
    chosen = events.where(*DEVICE_KINDS)
    by_name = np.array([_kernel_code(name, table) for name in trace.names] or [_OTHER], dtype=np.int64)
    code = np.where(events.kind[chosen] == Kind.KERNEL, by_name[events.name[chosen]], COPY)
    code = np.where((code < COMMUNICATION) & optimizer[chosen], _OPTIMIZER, code)
    return Work(events.start[chosen], events.end[chosen], chosen, code.astype(np.int64))


def on_host(trace: Trace, table: ClassTable) -> Work:
    """Self time of the host's operators, thread by thread."""
    events = trace.events
    codes = np.array([_host_code(name, table) for name in trace.names], dtype=np.int64)
    marks = [table.role(name) in _MARKS for name in trace.names]
    marked = np.array(marks or [False], dtype=np.bool_)[events.name] if len(events) else np.empty(0, dtype=np.bool_)
    chosen = np.flatnonzero((events.kind == Kind.OP) | ((events.kind == Kind.ANNOTATION) & marked))
    found = [_innermost(trace, chosen[track], codes) for track in _by_track(events.track[chosen])]
    empty = np.empty(0, dtype=np.int64)
    return Work(*(np.concatenate([empty, *(each[column] for each in found)]) for column in range(4)))


_MARKS = (Role.COMMUNICATION, Role.INPUT_WAIT, Role.OPTIMIZER)
_INHERIT = -1


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


def _by_track(track: npt.NDArray[np.int32]) -> list[Int64]:
    """The positions of each track's events."""
    order = np.argsort(track, kind="stable")
    edges = np.flatnonzero(np.diff(track[order])) + 1
    return np.split(order, edges) if order.size else []


_Pieces = tuple[Int64, Int64, Int64, Int64]
"""Starts, ends, events, codes."""


def _innermost(trace: Trace, chosen: Int64, codes: Int64) -> _Pieces:
    """One thread's time cut among its innermost events."""
    events = trace.events
    found = nest(events.start[chosen], events.end[chosen])
    if found is None:
        return _swept(trace, chosen, codes)
    event = chosen[found.order]
    code, forced = np.empty((2, len(event)), dtype=np.int64)
    for depth, level in enumerate(found.levels):
        caller = found.caller[level]
        above = (code[caller], forced[caller]) if depth else (np.full((2, len(level)), [[NOTHING], [_INHERIT]]))
        own, is_mark = codes[events.name[event[level]]], events.kind[event[level]] == Kind.ANNOTATION
        code[level], forced[level] = _coded(own, is_mark, *above)
    start, end, owner = found.self_times()
    known = code[owner] != NOTHING
    return start[known], end[known], event[owner][known], code[owner][known]


def _coded(own: Int64, is_mark: Booleans, caller: Int64, forced: Int64) -> tuple[Int64, Int64]:
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


def _swept(trace: Trace, chosen: Int64, codes: Int64) -> _Pieces:
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
        code, passed = _coded(own, is_mark, np.array([caller]), np.array([forced]))
        stack.append((event, end, int(code[0]), int(passed[0])))
    while stack:
        emit(stack[-1][1])
        cursor = max(cursor, stack.pop()[1])
    columns = np.array(pieces, dtype=np.int64).reshape(-1, 4)
    return columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]
