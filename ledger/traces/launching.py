"""When the work of a device was launched: by correlation with a call of its runtime, else by operator."""

from __future__ import annotations

import numpy as np

from ledger.traces.interface import ABSENT, Int64, Kind
from ledger.traces.operators import NONE, matching
from ledger.traces.trace import Events, Trace
from ledger.traces.work import slabs

UNKNOWN = np.iinfo(np.int64).min
EARLIER = UNKNOWN + 1
"""Launch times of device work whose launch is not in the trace."""


def launches(trace: Trace) -> Int64:
    """When each of the device's events was launched: at the runtime call of its correlation, else at the operator of
    its external id.

    Where neither is in the trace: EARLIER for what ran before all work of its stream with a known launch, else UNKNOWN.
    A stream works in the order of its launches, so that was launched before the profiler looked.
    """
    events, device = trace.events, trace.device
    launch: Int64 = trace.room.empty(device.size, np.int64)
    launch[:] = UNKNOWN
    _find_launches(launch, events, device, Kind.RUNTIME, events.correlation)
    _find_launches(launch, events, device, Kind.OP, events.external)
    unknown = np.flatnonzero(launch == UNKNOWN)
    if 0 < unknown.size < device.size:
        work = device[unknown]
        launch[unknown[events.start[work] < known_from(trace, launch)[events.track[work]]]] = EARLIER
    return launch


def known_from(trace: Trace, launch: Int64) -> Int64:
    """For each of `trace.tracks`: when its first work with a known launch began; where a stream has none, the first of
    all streams. `launch`: what `launches` gives, with one known launch at least."""
    known = np.flatnonzero(launch > EARLIER)
    start = trace.events.start[trace.device[known]]
    first = np.full(len(trace.tracks), np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(first, trace.events.track[trace.device[known]], start)
    return np.where(first == np.iinfo(np.int64).max, start.min(), first)


def _find_launches(launch: Int64, events: Events, device: Int64, kind: Kind, ids: Int64) -> None:
    """Fill in `launch` for device events that share an id with an event of this kind."""
    missing = np.flatnonzero(launch == UNKNOWN)
    missing = missing[ids[device[missing]] != ABSENT]
    if not missing.size:
        return
    asked = ids[device[missing]]
    low, high = int(asked.min()), int(asked.max())
    if high - low > 16 * len(events) + 1024:  # too far apart for a table of all ids
        source = matching(ids, events.where(kind), device[missing])
        launch[missing] = np.where(source == NONE, UNKNOWN, events.start[source])
        return
    by_id = np.full(high - low + 1, UNKNOWN, dtype=np.int64)
    for slab in slabs(len(events), backwards=True):  # of several with one id the first counts
        told = np.flatnonzero((events.kind[slab] == kind) & (ids[slab] >= low) & (ids[slab] <= high))[::-1]
        by_id[ids[slab][told] - low] = events.start[slab][told]
    launch[missing] = by_id[asked - low]
