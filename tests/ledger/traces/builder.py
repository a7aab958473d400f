"""Small traces with known numbers, in the layouts that profilers write."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

MAIN, WORKER, STREAM = 1, 2, 7
LAUNCH = 0.5
"""Microseconds that a launch takes."""


def event(cat: str, name: str, ts: float | str, dur: float | None, tid: Any = MAIN, **args: Any) -> dict[str, Any]:
    """One complete event; times in microseconds."""
    found = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}
    return {key: value for key, value in found.items() if value is not None}


def op(name: str, ts: float, dur: float, tid: Any = MAIN, **args: Any) -> dict[str, Any]:
    return event("cpu_op", name, ts, dur, tid, **args)


def annotation(name: str, ts: float, dur: float, tid: Any = MAIN) -> dict[str, Any]:
    return event("user_annotation", name, ts, dur, tid)


def launched(cat: str, name: str, at: float, ts: float, dur: float, correlation: int) -> list[dict[str, Any]]:
    """A launch and what it launched."""
    return [
        event("cuda_runtime", "cudaLaunchKernel", at, LAUNCH, correlation=correlation),
        event(cat, name, ts, dur, STREAM, correlation=correlation),
    ]


def write(path: Path, events: list[Any], **top: Any) -> Path:
    """A trace file; gzip where the name says so."""
    data = json.dumps({"schemaVersion": 1, **top, "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def training(steps: int = 2) -> list[dict[str, Any]]:
    """A CPU training trace: each step is 100 us with 60 us of compute in three classes."""
    events: list[dict[str, Any]] = []
    for number in range(steps):
        at = 1000.0 + 100 * number
        events += [
            annotation(f"ProfilerStep#{number}", at, 100),
            annotation("stackproof.input_wait", at, 5),
            op("aten::linear", at + 10, 30),
            op("aten::t", at + 11, 4),
            op("aten::mm", at + 15, 20, **{"Input Dims": [[4, 8], [8, 2]]}),
            op("aten::mul", at + 40, 10),
            annotation("Optimizer.step#AdamW.step", at + 60, 30),
            op("aten::mul_", at + 65, 20),
        ]
    return events
