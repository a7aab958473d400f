"""Work on the device as disjoint pieces of time, each with one event to answer for it.

With a device in the trace a piece is a kernel, copy or fill. Without one the host is the device: a piece is a stretch
of a thread during which one operator is the innermost (its self time), so that `linear > addmm` counts once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ledger.traces.classes import CLASSES, ClassTable, Role
from ledger.traces.interface import DEVICE_KINDS, Int64, Kind
from ledger.traces.intervals import Booleans
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
    codes = [_host_code(name, table) for name in trace.names]
    marks = [table.role(name) in _MARKS for name in trace.names]
    marked = np.array(marks or [False], dtype=np.bool_)[events.name] if len(events) else np.empty(0, dtype=np.bool_)
    chosen = np.flatnonzero((events.kind == Kind.OP) | ((events.kind == Kind.ANNOTATION) & marked))
    pieces: list[tuple[int, int, int, int]] = []
    for track in np.unique(events.track[chosen]):
        _sweep(trace, chosen[events.track[chosen] == track].astype(np.int64), codes, pieces)
    columns = np.array(pieces, dtype=np.int64).reshape(-1, 4)
    return Work(*(np.ascontiguousarray(columns[:, column]) for column in range(4)))


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


def _sweep(trace: Trace, chosen: Int64, codes: list[int], pieces: list[tuple[int, int, int, int]]) -> None:
    """Cut one thread's time among its innermost events and append (start, end, event, code) to `pieces`."""
    events = trace.events
    order = chosen[np.lexsort((-events.end[chosen], events.start[chosen]))]
    stack: list[
        tuple[int, int, int, int]
    ] = []  # event, end, code of its own time, code that it forces on what it calls
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
        code, forced = _code(trace, event, codes, stack)
        stack.append((event, end, code, forced))
    while stack:
        emit(stack[-1][1])
        cursor = max(cursor, stack.pop()[1])


def _code(trace: Trace, event: int, codes: list[int], stack: list[tuple[int, int, int, int]]) -> tuple[int, int]:
    """An event's own code and the one it forces on what it calls (_INHERIT for none), given what it stands in."""
    forced = stack[-1][3] if stack else _INHERIT
    own = codes[int(trace.events.name[event])]
    if int(trace.events.kind[event]) == Kind.ANNOTATION and own < COMMUNICATION:  # an optimizer's step
        return (NOTHING if forced == _INHERIT else forced), (_OPTIMIZER if forced == _INHERIT else forced)
    if own >= COMMUNICATION and forced in (_INHERIT, _OPTIMIZER):
        return own, own
    if forced != _INHERIT:
        return forced, forced
    if own == _INHERIT:
        caller = stack[-1][2] if stack else NOTHING
        return (_ALONE if caller in (NOTHING, _OTHER) else caller), _INHERIT
    return own, _INHERIT
