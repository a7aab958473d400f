"""Which operator of the host launched each piece of device work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ledger.traces.interface import ABSENT, Int64, Kind
from ledger.traces.nesting import nest
from ledger.traces.trace import Trace
from ledger.traces.work import free_slabs, slabs

NONE = -1
"""Where no operator is known."""


def launched_by(trace: Trace) -> Int64:
    """For each of `trace.device`: the innermost operator that launched it, an index into the events, or NONE.

    It is the operator of the same external id if the launch call lies in it; else the innermost operator around the
    launch call on its thread; where the launch call is not in the trace, the operator of the external id as it is.
    """
    call = launch_calls(trace)
    told = _by_external(trace)
    found = np.where(call == NONE, told, _if_around(trace, told, call))
    missing = np.flatnonzero((found == NONE) & (call != NONE))
    if missing.size:
        found[missing] = _around(trace, call[missing])
    return found


def launch_calls(trace: Trace) -> Int64:
    """For each of `trace.device`: the runtime call of its correlation, an index into the events, or NONE."""
    events = trace.events
    return matching(events.correlation, events.where(Kind.RUNTIME), trace.device)


def _by_external(trace: Trace) -> Int64:
    events = trace.events
    return matching(events.external, events.where(Kind.OP), trace.device)


def matching(ids: Int64, sources: Int64, asking: Int64) -> Int64:
    """For each of the events `asking`: the first of the events `sources` with the same id, or NONE."""
    asked = ids[asking]
    known = asked[asked != ABSENT]
    if not known.size or not sources.size:
        return np.full(asking.size, NONE, dtype=np.int64)
    low, high = int(known.min()), int(known.max())
    if high - low <= 16 * len(ids) + 1024:
        return _by_table(ids, sources, asked, low, high)
    sources = sources[ids[sources] != ABSENT]
    if not sources.size:
        return np.full(asking.size, NONE, dtype=np.int64)
    sources = sources[np.argsort(ids[sources], kind="stable")]
    told = ids[sources]
    place = np.minimum(np.searchsorted(told, asked), told.size - 1)
    return np.where((told[place] == asked) & (asked != ABSENT), sources[place], NONE)


def _by_table(ids: Int64, sources: Int64, asked: Int64, low: int, high: int) -> Int64:
    """The same where the ids that are asked for lie close together, by a table of all of them."""
    first = np.full(high - low + 1, NONE, dtype=np.int32)
    for slab in slabs(sources.size, backwards=True):  # of several with one id the first counts
        mine = sources[slab][::-1]
        told = ids[mine]
        near = (told >= low) & (told <= high) & (told != ABSENT)
        first[told[near] - low] = mine[near]
    found = np.full(asked.size, NONE, dtype=np.int64)
    for slab in slabs(asked.size):
        known = asked[slab] != ABSENT
        found[slab][known] = first[asked[slab][known] - low]
    return found


def _if_around(trace: Trace, operator: Int64, call: Int64) -> Int64:
    """The operators in which the calls begin; old profilers number launches and operators apart, with the same word."""
    events = trace.events
    at = events.start[call]
    around = (operator != NONE) & (events.start[operator] <= at) & (at < events.end[operator])
    return np.where(around, operator, NONE)


def _around(trace: Trace, calls: Int64) -> Int64:
    """The innermost operator around each call on its own thread, or NONE."""
    events = trace.events
    found = np.full(calls.size, NONE, dtype=np.int64)
    operators = events.where(Kind.OP)
    for mine, theirs in _by_thread(events.track[calls], events.track[operators]):
        at = events.start[calls[mine]]
        for slab in free_slabs(events, operators[theirs]):
            inside = (at >= events.start[slab[0]]) & (at < events.end[slab].max())
            found[mine[inside]] = _innermost(trace, at[inside], slab)
    return found


def _by_thread(calls: npt.NDArray[np.int32], operators: npt.NDArray[np.int32]) -> Iterator[tuple[Int64, Int64]]:
    for thread in np.unique(calls).tolist():
        theirs = np.flatnonzero(operators == thread)
        if theirs.size:
            yield np.flatnonzero(calls == thread), theirs


def _innermost(trace: Trace, at: Int64, operators: Int64) -> Int64:
    events = trace.events
    found = nest(events.start[operators], events.end[operators])
    if found is None or not found.order.size:
        return np.full(at.size, NONE, dtype=np.int64)
    start, end, owner = found.self_times()
    order = np.argsort(start, kind="stable")
    start, end, owner = start[order], end[order], owner[order]
    place = np.searchsorted(start, at, side="right") - 1
    inside = (place >= 0) & (at < end[place])
    return np.where(inside, operators[found.order[owner[place]]], NONE)
