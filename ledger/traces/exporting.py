"""What an explained trace says, as Parquet beside its events: work of the device, launches, steps and collectives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ledger.traces.breakdown import Breakdown, worked
from ledger.traces.interface import ABSENT, Int64, Kind
from ledger.traces.launching import EARLIER, UNKNOWN, launches
from ledger.traces.operators import NONE, launch_calls
from ledger.traces.trace import Sparse, Trace
from ledger.traces.work import KINDS


def export(folder: Path, trace: Trace, explained: Breakdown, collectives: pa.Table) -> None:
    """Write kernels, flows, steps and collectives of one trace into `folder`. Raises OSError."""
    tables = {
        "kernels": kernels(trace, explained),
        "flows": flows(trace),
        "steps": steps(explained),
        "collectives": collectives,
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def kernels(trace: Trace, explained: Breakdown) -> pa.Table:
    """One row a kernel, copy or fill: what it is, when it was launched, and by which step. Times in nanoseconds."""
    events, device = trace.events, trace.device
    launch = launches(trace) if device.size else np.empty(0, dtype=np.int64)
    known = (launch != UNKNOWN) & (launch != EARLIER)
    pieces = [work.code for work in worked(trace)] if device.size else []
    codes: npt.NDArray[np.int8] = np.concatenate([np.empty(0, dtype=np.int8), *pieces])
    at = np.where(launch == UNKNOWN, events.start[device], launch)
    correlation, external = events.correlation[device], events.external[device]
    return pa.table(
        {
            "kind": _words([kind.name.lower() for kind in Kind], events.kind[device]),
            "name": _words(trace.names, events.name[device]),
            "class": _words(KINDS, codes),
            "device": _words([track.process for track in trace.tracks], events.track[device]),
            "stream": _words([track.thread for track in trace.tracks], events.track[device]),
            "step": _steps_at(explained, at),
            "start_ns": pa.array(events.start[device]),
            "duration_ns": pa.array(events.end[device] - events.start[device]),
            "launch_ns": pa.array(launch, mask=~known),
            "correlation": pa.array(correlation, mask=correlation == ABSENT),
            "external_id": pa.array(external, mask=external == ABSENT),
            "bytes": _given(trace.bytes, device, np.int64),
            "blocks_per_sm": _given(trace.blocks, device, np.float32),
        }
    )


def flows(trace: Trace) -> pa.Table:
    """One row a piece of device work whose launch is in the trace: from the call to the work. Times in nanoseconds."""
    events, device = trace.events, trace.device
    call = launch_calls(trace)
    work, call = device[call != NONE], call[call != NONE]
    return pa.table(
        {
            "correlation": pa.array(events.correlation[work]),
            "call": _words(trace.names, events.name[call]),
            "thread": _words([track.thread for track in trace.tracks], events.track[call]),
            "call_start_ns": pa.array(events.start[call]),
            "call_duration_ns": pa.array(events.end[call] - events.start[call]),
            "work": _words(trace.names, events.name[work]),
            "stream": _words([track.thread for track in trace.tracks], events.track[work]),
            "work_start_ns": pa.array(events.start[work]),
            "work_duration_ns": pa.array(events.end[work] - events.start[work]),
        }
    )


def steps(explained: Breakdown) -> pa.Table:
    """One row a step: its window in nanoseconds, and the parts and classes that add up to it."""
    rows: list[dict[str, Any]] = [
        {
            "step": step.number,
            "steps": step.count,
            "annotated_start_ns": step.annotated[0],
            "annotated_end_ns": step.annotated[1],
            "start_ns": step.window[0],
            "end_ns": step.window[1],
            **{f"{name}_ns": time for name, time in step.parts.items()},
            **{f"compute.{name}_ns": time for name, time in step.classes.items()},
            "communication_ns": step.communication,
            "launches": step.launches,
            "flops": step.flops,
        }
        for step in explained.steps
    ]
    return pa.Table.from_pylist(rows)


def _words(words: Any, codes: npt.NDArray[Any]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(words), pa.string()))


def _steps_at(explained: Breakdown, at: Int64) -> pa.Array:
    """The number of the step that was running at each time; null outside, and where steps have none."""
    begins = np.array([step.annotated[0] for step in explained.steps] or [0], dtype=np.int64)
    ends = np.array([step.annotated[1] for step in explained.steps] or [0], dtype=np.int64)
    numbers = np.array([ABSENT if step.number is None else step.number for step in explained.steps] or [ABSENT])
    place = np.searchsorted(begins, at, side="right") - 1
    known = (place >= 0) & (at < ends[place]) & (numbers[place] != ABSENT)
    return pa.array(numbers[place], pa.int64(), mask=~known)


def _given(sparse: Sparse, device: Int64, dtype: type) -> pa.Array:
    """A sparse column over the work of the device; null where it has no value."""
    values: npt.NDArray[Any] = np.zeros(device.size, dtype=dtype)
    missing = np.ones(device.size, dtype=np.bool_)
    place = np.searchsorted(device, sparse.event)
    inside = np.flatnonzero(place < device.size)
    inside = inside[device[place[inside]] == sparse.event[inside]]
    values[place[inside]] = sparse.value[inside]
    missing[place[inside]] = False
    return pa.array(values, mask=missing)
