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

    Where neither is in the trace: EARLIER for what ran before all work with a known launch (it was launched before the
    profiler looked), else UNKNOWN.
    """
    events, device = trace.events, trace.device
    launch: Int64 = trace.room.empty(device.size, np.int64)
    launch[:] = UNKNOWN
    _find_launches(launch, events, device, Kind.RUNTIME, events.correlation)
    _find_launches(launch, events, device, Kind.OP, events.external)
    unknown = launch == UNKNOWN
    if unknown.any() and not unknown.all():
        start = events.start[device]
        launch[unknown & (start < start[~unknown].min())] = EARLIER
    return launch


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
    for slab in reversed([*slabs(len(events))]):  # of several with one id the first counts
        told = np.flatnonzero((events.kind[slab] == kind) & (ids[slab] >= low) & (ids[slab] <= high))[::-1]
        by_id[ids[slab][told] - low] = events.start[slab][told]
    launch[missing] = by_id[asked - low]
