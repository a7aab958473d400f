"""How a device is used within the steps of a trace: launches, occupied multiprocessors, copies, memory.

What is counted is the device work that starts within the steps' windows, as everywhere; memory is looked at over the
whole trace, for a peak does not belong to a step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ledger.traces.breakdown import Breakdown
from ledger.traces.interface import ABSENT, Int64, Kind
from ledger.traces.intervals import union_of
from ledger.traces.operators import NONE, launch_calls
from ledger.traces.room import trim
from ledger.traces.trace import Trace

DIRECTIONS = {
    "htod": re.compile(r"(?i)\bHtoD\b|HostToDevice"),
    "dtoh": re.compile(r"(?i)\bDtoH\b|DeviceToHost"),
    "dtod": re.compile(r"(?i)\bDtoD\b|DeviceToDevice"),
    "ptop": re.compile(r"(?i)\bPtoP\b|PeerToPeer"),
}
"""Directions of copies by the words of CUPTI and of ROCm, host to device first."""


_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Copies:
    """Copies of one direction of which the bytes are known."""

    count: int
    bytes: int
    time: int
    """Nanoseconds, added up over the copies."""


@dataclass(frozen=True)
class Memory:
    """What an allocator did during the trace, in bytes."""

    peak: int | None
    """The most that it says is in use, whenever that was allocated; None where the profiler did not write it down."""
    growth: int
    """The most by which what is in use grew since profiling began."""


@dataclass(frozen=True)
class DeviceUse:
    """One rank. Times are nanoseconds."""

    gaps: int
    """Kernels that were launched on an idle device."""
    gap: float | None
    """Median of the times that these began after their launch call returned, 0 for one that began before."""
    covered: float | None
    """Mean of min(1, thread blocks a multiprocessor) over kernels, by their duration; None without known blocks."""
    copies: dict[str, Copies]
    """By direction (a key of DIRECTIONS); without those of which there are none."""
    unsized: dict[str, int]
    """By direction, how many copies are recorded as of one byte, where these take most of the time of its copies: then
    the size is not known (ROCm's profiler writes 1), and the direction is not in `copies`."""
    device_memory: Memory | None
    """Of the device with the highest peak, or growth where peaks are not known; None without records."""
    host_memory: Memory | None


def device_use(trace: Trace, breakdown: Breakdown) -> DeviceUse:
    """How the trace's device is used."""
    trim()
    edges = np.array([step.window for step in breakdown.steps], dtype=np.int64).reshape(-1, 2)
    windows = union_of(edges[:, 0], edges[:, 1])
    inside = trace.device[windows.contains(trace.events.start[trace.device])]
    gaps = _gaps(trace, inside) if inside.size else np.empty(0, dtype=np.int64)
    memory = _memory(trace.memory)
    devices = [found for name, found in memory.items() if name != "cpu"]
    copies = inside[trace.events.kind[inside] == Kind.MEMCPY]
    unsized = one_byte(trace, copies)
    return DeviceUse(
        gaps=len(gaps),
        gap=float(np.median(gaps)) if gaps.size else None,
        covered=_covered(trace, inside),
        copies={way: found for way, found in _copies(trace, copies).items() if way not in unsized},
        unsized=unsized,
        device_memory=max(devices, key=lambda each: (each.peak or 0, each.growth), default=None),
        host_memory=memory.get("cpu"),
    )


def _gaps(trace: Trace, inside: Int64) -> Int64:
    """Of the first kernel of each launch call, where its device had nothing left to do when the call returned: then it
    waits neither for its stream nor for another that it depends on. What ran before the first piece of work of the
    trace is not known, so that that one does not count."""
    events, device = trace.events, trace.device
    processes = {
        process: number for number, process in enumerate(dict.fromkeys(track.process for track in trace.tracks))
    }
    where = np.array([processes[track.process] for track in trace.tracks], dtype=np.int64)[events.track[device]]
    order = np.lexsort((events.start[device], where))
    ordered = device[order]
    free = _free_since(where[order], events.end[ordered])
    call = launch_calls(trace)[order]
    known = (call != NONE) & (events.kind[ordered] == Kind.KERNEL) & _is_first(call, events.start[ordered])
    returned = events.end[call]
    chosen = known & (free != _NEVER) & (free <= returned) & np.isin(ordered, inside)
    gaps: Int64 = np.maximum(events.start[ordered] - returned, 0)[chosen]
    return gaps


def _free_since(where: Int64, end: Int64) -> Int64:
    """For events by device and start: when all earlier ones of their device had ended."""
    free = np.full(len(end), _NEVER, dtype=np.int64)
    for span in np.split(np.arange(len(end)), np.flatnonzero(np.diff(where)) + 1):
        free[span[1:]] = np.maximum.accumulate(end[span])[:-1]
    return free


def _is_first(call: Int64, start: Int64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether an event is the first that its call launched: a graph's launch has many."""
    order = np.lexsort((start, call))
    first = np.ones(len(call), dtype=np.bool_)
    first[1:] = call[order][1:] != call[order][:-1]
    found = np.empty(len(call), dtype=np.bool_)
    found[order] = first
    return found


def _covered(trace: Trace, inside: Int64) -> float | None:
    events, blocks = trace.events, trace.blocks
    chosen = np.isin(blocks.event, inside) & (events.kind[blocks.event] == Kind.KERNEL) & np.isfinite(blocks.value)
    kernels, value = blocks.event[chosen], blocks.value[chosen].astype(np.float64)
    time = events.end[kernels] - events.start[kernels]
    return float((np.minimum(value, 1.0) * time).sum() / time.sum()) if time.sum() else None


def one_byte(trace: Trace, copies: Int64) -> dict[str, int]:
    """By direction, how many of these copies are recorded as of one byte, where they take most of its time."""
    every, one = _copies(trace, copies), _copies(trace, copies, alone=1)
    return {way: found.count for way, found in one.items() if found.time * 2 > every[way].time}


def _copies(trace: Trace, copies: Int64, alone: int | None = None) -> dict[str, Copies]:
    """By direction, the copies whose bytes are known; `alone`: those of so many bytes alone."""
    events, moved = trace.events, trace.bytes
    time = events.end[moved.event] - events.start[moved.event]
    known = np.isin(moved.event, copies) & (moved.value > 0) & (time > 0)
    if alone is not None:
        known &= moved.value == alone
    names = events.name[moved.event]
    found = {}
    for direction, pattern in DIRECTIONS.items():
        mine = [name for name in np.unique(names[known]).tolist() if pattern.search(trace.names[name])]
        chosen = known & np.isin(names, mine)
        if chosen.any():
            found[direction] = Copies(int(chosen.sum()), int(moved.value[chosen].sum()), int(time[chosen].sum()))
    return found


def _memory(table: pa.Table) -> dict[str, Memory]:
    """By device; `cpu` is the host."""
    found = {}
    for device in pc.unique(table["device"]).to_pylist():
        rows = table.filter(pc.equal(table["device"], device)).sort_by("at_ns")
        told = [value for value in (pc.max(rows["allocated_bytes"]).as_py(),) if value is not None and value != ABSENT]
        change = np.cumsum(rows["bytes"].fill_null(0).to_numpy())
        found[device] = Memory(told[0] if told else None, max(0, int(change.max(initial=0))))
    return found
