"""The text of PyTorch's profiler on a GPU, as torch 2.13 spaces and orders it, as templates for `%`.

What a template leaves open is named beside it. Times are text in microseconds with three decimals.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

MAIN, AUTOGRAD = 31148, 31160
"""Threads; the first is the process too."""
COMPUTE, NCCL = 7, 20
"""Streams."""
DEVICE = "NVIDIA H100 80GB HBM3"
PROCESSORS = 132


def microseconds(nanoseconds: int) -> str:
    """As the profiler writes a time."""
    whole, rest = divmod(nanoseconds, 1000)
    return f"{whole}.{rest:03d}"


def head(rank: int, world_size: int, shapes: bool) -> str:
    """Everything before the first event."""
    device = (
        f'{{\n      "id": NUMBER, "name": "{DEVICE}", "totalGlobalMem": 85018279936,\n'
        '      "computeMajor": 9, "computeMinor": 0,\n'
        '      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,\n'
        '      "regsPerBlock": 65536, "warpSize": 32,\n'
        f'      "sharedMemPerBlock": 49152, "numSms": {PROCESSORS}\n'
        '    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, '
        '"sharedMemPerMultiprocessor": 233472\n    }'
    )
    devices = ",\n    ".join(device.replace("NUMBER", str(number)) for number in range(8))
    ranks = json.dumps(list(range(world_size)))
    return (
        f'{{\n    "schemaVersion": 1,\n    "deviceProperties": [\n    {devices}\n    ],\n    \n'
        '      "cuda_runtime_version": 13000,\n      "cupti_version": 28,\n      "cuda_driver_version": 13000,\n'
        f'      "trace_id": "{rank:032X}",\n      "profile_memory": 1,\n      "record_shapes": {int(shapes)},\n'
        f'      "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {world_size}, "pg_count": 1, '
        '"pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", '
        f'"pg_size": {world_size}, "ranks": {ranks}}}], "nccl_version": "2.28.9"}},\n'
        '      "host_name": "node",\n    "displayTimeUnit": "ms",\n'
        '    "baseTimeNanoseconds": 1790857026000000000,\n    "traceEvents": [\n    \n'
    )


def metadata(at: str, device: int) -> list[str]:
    """Names of processes, threads and streams."""
    found = []
    for pid, name, label, place in ((MAIN, "python3.12", "CPU", MAIN), (device, "python3.12", f"GPU {device}", 2**24)):
        found += [
            _meta("process_name", at, pid, 0, f'"name": "{name}"'),
            _meta("process_labels", at, pid, 0, f'"labels": "{label}"'),
            _meta("process_sort_index", at, pid, 0, f'"sort_index": {place + device}'),
        ]
    tracks = [(device, COMPUTE, f"stream {COMPUTE} "), (device, NCCL, f"stream {NCCL} ")]
    tracks += [(MAIN, tid, f"thread {tid} (python3.12)") for tid in (MAIN, AUTOGRAD)]
    for pid, tid, name in tracks:
        found += [
            _meta("thread_name", at, pid, tid, f'"name": "{name}"'),
            _meta("thread_sort_index", at, pid, tid, f'"sort_index": {tid}'),
        ]
    return found


def _meta(name: str, at: str, pid: int, tid: int, args: str) -> str:
    return (
        f'  {{\n    "ph": "M",\n    "name": "{name}",\n    "ts": {at},\n    "pid": {pid},\n    "tid": {tid},\n'
        f'    "args": {{\n      {args}\n    }}\n  }},\n'
    )


def tail(start: str, duration: str, end: str, name: str) -> tuple[list[str], str]:
    """The profiler's own closing events, and what stands after the last."""
    events = [
        f'  {{\n    "ph": "X",\n    "cat": "Trace",\n    "name": "PyTorch Profiler (0)",\n    "pid": "Spans",\n'
        f'    "tid": "PyTorch Profiler",\n    "ts": {start},\n    "dur": {duration}\n    ,\n    "args": {{\n'
        '      "Op count": 0\n    }\n  },\n',
        _meta("process_sort_index", start, 0, 0, '"sort_index": 536870912').replace('"pid": 0', '"pid": "Spans"'),
        '  {\n    "ph": "i",\n    \n    "s": "g",\n    "name": "Iteration Start: PyTorch Profiler",\n'
        f'    "pid": "Traces",\n    "tid": "Trace PyTorch Profiler",\n    "ts": {start}\n    \n  }},\n',
        '  {\n    "ph": "i",\n    \n    "s": "g",\n    "name": "Record Window End",\n    "pid": "",\n    "tid": "",\n'
        f'    "ts": {end}\n    \n  }}\n',
    ]
    return events, f'  ],"traceName": "{name}" }}\n'


def timed(cat: str, name: str, tid: int, args: str, pid: int | str = MAIN) -> str:
    """Open: start, duration, what `args` leaves open."""
    return (
        f'  {{\n    "ph": "X",\n    "cat": "{cat}",\n    "name": "{name}",\n    "pid": {pid},\n    "tid": {tid},\n'
        f'    "ts": %s,\n    "dur": %s\n    ,\n    "args": {{\n      {args}\n    }}\n  }},\n'
    )


def operator(name: str, tid: int, recorded: str, cat: str = "cpu_op") -> str:
    """Open: start, duration, external id, record function id, event index."""
    return timed(cat, name, tid, f'"External id": %d,"Record function id": %d, {recorded}"Ev Idx": %d')


def recorded(dims: Sequence[Sequence[int]]) -> str:
    """What `record_shapes` adds to an operator with these inputs; an empty shape is a scalar."""
    strides = [[_product(shape[place + 1 :]) for place in range(len(shape))] for shape in dims]
    types = ["c10::BFloat16" if shape else "Scalar" for shape in dims]
    concrete = ["" if shape else "1" for shape in dims]
    return (
        f'"Concrete Inputs": {json.dumps(concrete)}, "Input type": {json.dumps(types)}, '
        f'"Input Strides": {json.dumps(strides)}, "Input Dims": {json.dumps(dims)}, '
    )


def _product(sizes: Sequence[int]) -> int:
    found = 1
    for size in sizes:
        found *= size
    return found


def frame(name: str) -> str:
    """Open: start, duration, parent's number, its own number, event index."""
    return timed(
        "python_function", name, MAIN, '"Python parent id": %d, "Python id": %d, "Python module id": 0, "Ev Idx": %d'
    )


def runtime(name: str, cbid: int, tid: int) -> str:
    """Open: start, duration, external id, correlation."""
    return timed("cuda_runtime", name, tid, f'"External id": %d,      "cbid": {cbid}, "correlation": %d')


def kernel(name: str, device: int, stream: int, grid: Sequence[int], block: Sequence[int], comms: str = "") -> str:
    """Open: start, duration, external id, correlation, and what `comms` leaves open."""
    blocks = _product(grid) / PROCESSORS
    args = (
        f'"External id": %d,      "queued": 0, "device": {device}, "context": 1,      "stream": {stream}, '
        '"correlation": %d,      "registers per thread": 168,      "shared memory": 214016,      '
        f'"blocks per SM": {blocks:.6f},      "warps per SM": {blocks * _product(block) / 32:.6f},      '
        f'"grid": {json.dumps(grid)},      "block": {json.dumps(block)},      '
        f'"est. achieved occupancy %%": {min(100, round(blocks * 4))}{comms}'
    )
    return timed("kernel", name, stream, args, device)


def copy(cat: str, name: str, device: int, size: int) -> str:
    """A copy or fill on the compute stream. Open: start, duration, external id, correlation."""
    args = (
        f'"External id": %d,      "device": {device}, "context": 1,      "stream": {COMPUTE}, "correlation": %d,'
        f'      "bytes": {size}, "memory bandwidth (GB/s)": 21.378'
    )
    return timed(cat, name, COMPUTE, args, device)


def flow(end: str, cat: str, tid: int, pid: int = MAIN) -> str:
    """One end, s or f, of an arrow. Open: its number, the time."""
    arrived = ', "bp": "e"' if end == "f" else ""
    return (
        f'  {{\n    "ph": "{end}",\n    "id": %d,\n    "pid": {pid},\n    "tid": {tid},\n    "ts": %s,\n'
        f'    "cat": "{cat}",\n    "name": "{cat}"\n    {arrived}\n  }},\n'
    )


def allocation(device: int) -> str:
    """Open: time, bytes in use after it, bytes, address, event index."""
    return (
        '  {\n    "ph": "i",\n    \n    "cat": "cpu_instant_event",\n    "s": "t",\n    "name": "[memory]",\n'
        f'    "pid": {MAIN},\n    "tid": {MAIN},\n    "ts": %s\n    ,\n    "args": {{\n'
        '      "Total Reserved": 64424509440, "Total Allocated": %d, "Bytes": %d, '
        f'"Device Id": {device}, "Device Type": 1, "Addr": %d, "finished": false, "Ev Idx": %d\n    }}\n  }},\n'
    )


def collective(elements: int, world_size: int, sequence: str = "%d") -> str:
    """The arguments that mark a collective. Open: its sequence number."""
    ranks = ", ".join(map(str, range(world_size)))
    return (
        f', "Collective name": "allreduce", "In msg nelems": {elements}, "Out msg nelems": {elements}, '
        f'"Group size": {world_size}, "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", '
        '"Process Group Name": "0", "Process Group Description": "default_pg", '
        f'"Process Group Ranks": "[{ranks}]", "Seq": {sequence}'
    )
