"""How a device is used, from profiler traces: one row a rank, over the device work within the profiled steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ledger.metrics.registry import Direction, Missing, Result, Value, metric
from ledger.metrics.tables import Tables
from ledger.traces import PATTERN
from ledger.traces.device_use import DeviceUse

COPIES = {
    "htod": "from the host to the device",
    "dtoh": "from the device to the host",
    "dtod": "within the device",
    "ptop": "from one device to another",
}


def _per_rank(tables: Tables, value: Callable[[DeviceUse], float | Missing]) -> Result:
    """`value` of each rank; absent when a rank has none."""
    breakdowns, uses = tables.traces, tables.device_use
    if isinstance(breakdowns, Missing) or isinstance(uses, Missing):
        return breakdowns if isinstance(breakdowns, Missing) else Missing("no trace: the trial was not profiled")
    rows: list[Value] = []
    for place, (found, use) in enumerate(zip(breakdowns, uses, strict=True)):
        result = value(use)
        if isinstance(result, Missing):
            return result
        rows.append(Value(result, rank=place if found.rank is None else found.rank))
    return rows


def _register(
    id: str,
    title: str,
    definition: str,
    value: Callable[[DeviceUse], float | Missing],
    *,
    unit: str,
    direction: Direction,
    source: str,
) -> None:
    metric(id, title=title, unit=unit, direction=direction, definition=definition, inputs=(PATTERN,), source=source)(
        partial(_per_rank, value=value)
    )


def _gap(use: DeviceUse) -> float | Missing:
    return Missing("no kernel was launched on an idle device") if use.gap is None else use.gap / 1e9


def _covered(use: DeviceUse) -> float | Missing:
    return Missing("the trace does not record the thread blocks of kernels") if use.covered is None else use.covered


def _bandwidth(use: DeviceUse, way: str) -> float | Missing:
    if way in use.unsized:
        one = use.unsized[way]
        return Missing(
            f"{one:,} cop{'y' if one == 1 else 'ies'} {COPIES[way]}, most by time, are recorded as of one byte"
        )
    found = use.copies.get(way)
    return found.bytes * 1e9 / found.time if found else Missing(f"no copy {COPIES[way]} of which the bytes are known")


def _peak(use: DeviceUse) -> float | Missing:
    if use.device_memory is None:
        return Missing("the trace records no memory of a device")
    if use.device_memory.peak is None:
        return Missing("the profiler wrote down allocations, but not what was in use")
    return float(use.device_memory.peak)


def _growth(use: DeviceUse, *, on_host: bool) -> float | Missing:
    found = use.host_memory if on_host else use.device_memory
    return (
        float(found.growth)
        if found
        else Missing(f"the trace records no memory of {'the host' if on_host else 'a device'}")
    )


_register(
    "kernel_launch_gap",
    "Launch gap",
    "Median time from the end of a launch call to the start of the first kernel that it launched, over calls that "
    "ended when all earlier work of that kernel's device in the trace had, and there was some; 0 for a kernel that "
    "began before its call ended.",
    _gap,
    unit="s",
    direction="lower",
    source="the launch delay of Holistic Trace Analysis (get_cuda_kernel_launch_stats), on an idle device only",
)
_register(
    "sm_coverage",
    "Multiprocessors covered",
    "Mean over kernels, weighted by their duration, of the thread blocks for each multiprocessor of the device, at "
    "most 1; kernels whose blocks are not recorded are left out.",
    _covered,
    unit="share",
    direction="higher",
    source="`blocks per SM` of Kineto's traces: the grid's blocks over the device's multiprocessors",
)
for _way, _words in COPIES.items():
    _register(
        f"memcpy_bandwidth.{_way}",
        f"Copy bandwidth, {_words}",
        f"Bytes of the copies {_words} over the time that these take, each by itself; copies whose bytes are not "
        "recorded are left out; absent where most of the time is of copies recorded as of one byte.",
        partial(_bandwidth, way=_way),
        unit="B/s",
        direction="higher",
        source="`bytes` and duration of memcpy events in Kineto's traces",
    )
_register(
    "traced_peak_memory.device",
    "Peak device memory while profiled",
    "The most bytes that the allocator of a device says are in use during the trace, whenever they were allocated; of "
    "several devices the highest.",
    _peak,
    unit="B",
    direction="lower",
    source="`Total Allocated` of the memory records of PyTorch's profiler (profile_memory=True)",
)
_register(
    "traced_memory_growth.device",
    "Growth of device memory while profiled",
    "The most bytes by which allocations exceed frees on a device since profiling began: what was allocated before, "
    "such as weights, does not count.",
    partial(_growth, on_host=False),
    unit="B",
    direction="lower",
    source="`Bytes` of the memory records of PyTorch's profiler (profile_memory=True)",
)
_register(
    "traced_memory_growth.host",
    "Growth of host memory while profiled",
    "The most bytes by which PyTorch's allocations exceed frees on the host since profiling began: what was allocated "
    "before, or by others, does not count.",
    partial(_growth, on_host=True),
    unit="B",
    direction="lower",
    source="`Bytes` of the memory records of PyTorch's profiler (profile_memory=True)",
)
