"""A trace that holds several ranks, such as one file merged of several, taken apart into one trace a rank.

A profiler records one process. So where the host's work is of several processes, each is a rank, and a device is the
rank's whose launches its work answers: by correlation, and after them; where that is so of several, the one of its
number. Where that does not tell each rank's device apart (merged files may call all devices 0) the trace stays whole,
and its integrity record says what it is.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ledger.traces.interface import ABSENT, MEMORY, Int64, Kind
from ledger.traces.intervals import Booleans
from ledger.traces.operators import NONE, matching
from ledger.traces.trace import Events, Sparse, Trace
from ledger.traces.work import slabs

_SHARED = 0.01
"""Share of the host's work above which a process is a rank."""
_MOST = 0.5
"""Share of a device's work, of that which names its launch, above which a rank's launches must answer for it: some was
launched before the profiler looked."""
_RANK = re.compile(r"rank[-_. ]?(\d{1,9})", re.IGNORECASE)


def working(trace: Trace) -> list[str]:
    """The processes that the host's work is of, in the order of the file."""
    work: Counter[str] = Counter()
    for slab in slabs(len(trace.events)):
        on_host = np.isin(trace.events.kind[slab], (Kind.OP, Kind.RUNTIME))
        counts = np.bincount(trace.events.track[slab][on_host])
        for track in np.flatnonzero(counts).tolist():
            work[trace.tracks[track].process] += int(counts[track])
    return [process for process, count in work.items() if count > _SHARED * work.total()]


def apart(trace: Trace) -> tuple[Trace, ...]:
    """One trace a rank; the trace itself where it holds one, or its ranks cannot be told apart."""
    processes = working(trace)
    if len(processes) < 2:
        return (trace,)
    owners = _owners(trace, processes)
    if owners is None:
        return (trace,)
    return tuple(
        _of(trace, process, {device for device, owner in owners.items() if owner == process}) for process in processes
    )


def _owners(trace: Trace, processes: list[str]) -> dict[str, str] | None:
    """The process of each device; None where they cannot be told apart."""
    candidates = _candidates(trace, processes)
    found: dict[str, str] = {}
    for device, able in sorted(candidates.items(), key=lambda row: len(row[1])):
        free = [process for process in able if process not in found.values()] if len(able) > 1 else able
        if len(free) > 1:  # their ids are the same, and no work is too early for either
            free = [process for process in free if _number(process) == _number(device) is not None]
        if len(free) != 1:
            return None
        found[device] = free[0]
    return found if not candidates or _launching(trace, processes) <= set(found.values()) else None


def _candidates(trace: Trace, processes: list[str]) -> dict[str, list[str]]:
    """For each device the processes whose launches answer for most of its work: more than one where they do alike."""
    events, device = trace.events, trace.device
    where = np.array([track.process for track in trace.tracks], dtype=np.object_)
    calls = events.where(Kind.RUNTIME)
    of_call, of_device = where[events.track[calls]], where[events.track[device]]
    found = {}
    for name in dict.fromkeys(of_device.tolist()):
        work = device[of_device == name]
        work = work[events.correlation[work] != ABSENT]
        told = {process: _answered(events, calls[of_call == process], work) for process in processes}
        most = max(told.values())
        found[name] = [process for process in processes if told[process] == most > _MOST * work.size]
    return found


def _launching(trace: Trace, processes: list[str]) -> set[str]:
    """The processes whose launches some work of a device answers."""
    events = trace.events
    calls = events.where(Kind.RUNTIME)
    calls = calls[np.isin(events.correlation[calls], events.correlation[trace.device])]
    told = {
        trace.tracks[track].process for track in np.unique(events.track[calls[events.correlation[calls] != ABSENT]])
    }
    return told & set(processes)


def _answered(events: Events, calls: Int64, work: Int64) -> int:
    """How many pieces of work begin after a call of their correlation."""
    call = matching(events.correlation, calls, work)
    known = call != NONE
    return int((events.start[call[known]] <= events.start[work[known]]).sum())


def _number(process: str) -> int | None:
    """The rank or device that a process is named after."""
    found = _RANK.search(process) or re.fullmatch(r"(\d{1,9})", process)
    return int(found[1]) if found else None


def _of(trace: Trace, process: str, devices: set[str]) -> Trace:
    """The share of one process and its devices."""
    mine = np.array(
        [each.process in devices if each.is_device else each.process == process for each in trace.tracks],
        dtype=np.bool_,
    )
    kept = np.flatnonzero(mine[trace.events.track])
    columns = {name: getattr(trace.events, name)[kept] for name in Events.__dataclass_fields__}
    told = _RANK.search(process)
    facts = replace(trace.facts, rank=int(told[1]) if told else None, share=f"process {process}")
    facts.notes = [*facts.notes]
    if len(trace.memory):
        facts.notes.append("the file's allocations do not tell which rank they are of: they are left out")
    return replace(
        trace,
        events=Events(**columns),
        flops=_some(trace.flops, kept),
        bytes=_some(trace.bytes, kept),
        blocks=_some(trace.blocks, kept),
        calls=trace.calls.filter(_called(trace.calls, process, devices)),
        memory=MEMORY.empty_table(),
        facts=facts,
    )


def _called(calls: pa.Table, process: str, devices: set[str]) -> pa.ChunkedArray:
    on_device = pc.equal(calls["kind"], int(Kind.KERNEL))
    where = calls["process"].cast(pa.string())
    return pc.if_else(on_device, pc.is_in(where, pa.array(sorted(devices), pa.string())), pc.equal(where, process))


def _some(sparse: Sparse, kept: Int64) -> Sparse:
    here: Booleans = np.isin(sparse.event, kept)
    return Sparse(np.searchsorted(kept, sparse.event[here]).astype(np.int64), sparse.value[here])
