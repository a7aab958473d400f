"""Collectives of generated ranks, with known sizes and times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ledger import traces
from ledger.traces.collectives import collectives
from tests.ledger.traces.builder import STREAM, annotation, event, write

KERNEL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def told(
    operation: str, counted: int, made: int, dtype: str = "Float", ranks: str = "[0, 1]", group: str = "0"
) -> dict:
    return {
        "Collective name": operation,
        "In msg nelems": counted,
        "Out msg nelems": made,
        "dtype": dtype,
        "Group size": ranks.count(",") + 1,
        "Process Group Name": group,
        "Process Group Ranks": ranks,
    }


def collective(at: float, until: float, correlation: int, name: str = KERNEL, **args: Any) -> list[dict[str, Any]]:
    """A launch and the kernel of a collective."""
    return [
        event("cuda_runtime", "cudaLaunchKernel", at - 2, 1, correlation=correlation),
        event("kernel", name, at, until - at, STREAM, correlation=correlation, **args),
    ]


def rank(tmp_path: Path, number: int, events: list[dict[str, Any]], size: int = 2) -> traces.reading.Trace:
    events = [annotation("ProfilerStep#1", 0, 1000), *events]
    info = {"rank": number, "world_size": size}
    return traces.read(write(tmp_path / f"rank-{number}.json", events, distributedInfo=info))


def rows(*ranks: traces.reading.Trace) -> list[dict[str, Any]]:
    return collectives(ranks).to_pylist()
