"""What `stackproof trace --format json` prints: one object, its keys listed here with what they mean.

Absent is null. Times are integer nanoseconds over all profiled steps unless the key says else; nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ledger.commands.trace_side import Examined, Side, grouped
from ledger.commands.trace_text import slowest
from ledger.traces.breakdown import PARTS, Step
from ledger.traces.classes import CLASSES
from ledger.traces.device_use import Memory
from ledger.traces.difference import Difference, Row, Spent
from ledger.traces.integrity import Finding

KEYS = {
    "traces": "one object a FILE, in the order given",
    "against": "one object an --against FILE; empty without",
    "ranks": "the FILEs together, where they are several ranks of one run; else null",
    "not_ranks": "why several FILEs are not compared as ranks; null where they are",
    "difference": "FILEs against the --against FILEs; null without",
    "tables": "folder of the Parquet tables by file",
    # a trace
    "file": "as given",
    "share": "which of the file's ranks it is, where it holds several; else null",
    "rank": "null where neither the file nor its name tells",
    "world_size": "ranks of the run, where the file tells",
    "device": "whether work of a device is recorded; without it the host is the device",
    "steps": "steps covered",
    "duration_ns": "all steps' windows together",
    "parts_ns": "disjoint parts, which add up to the window",
    "classes_ns": "classes of compute, which add up to parts_ns.compute",
    "communication_ns": "communication, covered by compute or not",
    "per_step": "each step",
    "step": "the profiler's number, null where there is none; in a difference, the row of the whole step",
    "count": "steps that cannot be told apart and are one here; of copies and findings, how many",
    "annotated_ns": "start and end of the step's annotation, on the trace's clock",
    "window_ns": "start and end of the step on the device, on the trace's clock",
    "launches": "device work that the step launched; without a device, operators called",
    "flops": "operations by recorded shapes, a multiply-add is two",
    "top": "kernels, or on a host operators, with the most self time",
    "operators": "operators that launched the most device time; on a host the same as top, by folded name",
    "name": "as recorded; of operators and in a difference folded; null: launched by no known operator",
    "class": "class of compute, communication, copy or input_wait",
    "calls": "over all steps; in a difference over its steps",
    "self_ns": "self time over all steps",
    "launch_gap_ns": "median time from a launch call's end to its kernel on an idle device",
    "sm_coverage": "thread blocks a multiprocessor, at most 1, by kernel time",
    "copies": "by direction: htod, dtoh, dtod, ptop",
    "bytes": "of the copies whose bytes are recorded; of collectives the full buffers, null where not known of each",
    "time_ns": "of these copies; in a difference self time, or time of the part, over its steps",
    "memory": "of the device and of the host, null where not recorded",
    "host": "PyTorch's allocations on the host",
    "peak_bytes": "most bytes in use as the allocator counts them",
    "growth_bytes": "most bytes by which allocations exceeded frees since profiling began",
    "collectives": "of the profiled steps, by operation and size of the group",
    "groups": "the longest first; of ranks together, all ranks' calls",
    "operation": "all_reduce, all_gather, …",
    "group_size": "ranks that take part, null where not told",
    "peer_wait_ns": "of time_ns: until the last rank arrived; null where not all ranks of a group are there",
    "bus_bandwidth": "bytes a second of transfer, as nccl-tests counts them",
    "unsplit": "why waiting for other ranks is not told from transfer; null where it is",
    "notes": "what was estimated to tell it, such as a difference of clocks",
    "events": "entries in the file, of any kind",
    "usable": "whether the trace can carry an explanation",
    "findings": "what is odd about the record",
    "code": "a finding's kind",
    "text": "the finding as a sentence",
    "gates": "whether it keeps the trace from carrying an explanation",
    "warnings": "what the explanation had to assume, left out or repaired",
    # ranks
    "straggler_rank": "the rank that computes longest a step",
    "imbalance": "its compute over the mean of all ranks",
    # a difference
    "aligned": "share of the time in rows that both sides have, for classes, operators and kernels",
    "level": "step, part, class, operator, kernel, or overlap: what keeps rows from adding up to what they stand below",
    "before": "the --against side; null where it has no such thing",
    "after": "the FILE side; null where it has no such thing",
    "change_ns": "after less before, an absent side being nothing",
    "rows": "what the row is made of, the largest change first; they add up to it",
}
"""Every key that is not itself a name of a part, class, direction, file or level."""


def document(
    after: Side, before: Side | None, found: Difference | None, tables: Mapping[Path, Path], top: int
) -> dict[str, Any]:
    """Everything that was found."""
    return {
        "traces": [_trace(each, top) for each in after.traces],
        "against": [_trace(each, top) for each in before.traces] if before else [],
        "ranks": _ranks(after) if after.is_one_run else None,
        "not_ranks": after.apart,
        "difference": _difference(found) if found else None,
        "tables": {str(path): str(folder) for path, folder in tables.items()},
    }


def _trace(each: Examined, top: int) -> dict[str, Any]:
    found, use = each.breakdown, each.use
    return {
        "file": str(each.path),
        "share": each.share,
        "rank": found.rank,
        "world_size": found.world_size,
        "device": found.has_device,
        "steps": found.step_count,
        "duration_ns": found.duration,
        "parts_ns": {name: found.part(name) for name in PARTS},
        "classes_ns": {name: found.kind(name) for name in CLASSES},
        "communication_ns": sum(step.communication for step in found.steps),
        "per_step": [_step(step) for step in found.steps],
        "top": [
            {"name": spot.name, "class": spot.kind, "calls": spot.calls, "self_ns": spot.time}
            for spot in found.hotspots[:top]
        ],
        "operators": [
            {"name": row.name, "class": row.kind, "calls": row.spent.calls, "self_ns": row.spent.time}
            for row in each.operators()[:top]
        ],
        "launch_gap_ns": use.gap,
        "sm_coverage": use.covered,
        "copies": {
            way: {"count": copies.count, "bytes": copies.bytes, "time_ns": copies.time}
            for way, copies in use.copies.items()
        },
        "memory": {"device": _memory(use.device_memory), "host": _memory(use.host_memory)},
        "collectives": _collectives([each]),
        "events": each.integrity.events,
        "usable": each.integrity.usable,
        "findings": _findings(each.integrity.findings),
        "warnings": list(found.warnings),
    }


def _findings(found: Sequence[Finding]) -> list[dict[str, Any]]:
    return [{"code": each.code, "count": each.count, "text": each.text, "gates": each.gates} for each in found]


def _collectives(traces: Sequence[Examined]) -> dict[str, Any]:
    groups, unsplit, notes = grouped(traces)
    rows = [
        {
            "operation": each.operation,
            "group_size": each.size,
            "calls": each.calls,
            "bytes": each.bytes,
            "time_ns": each.time,
            "peer_wait_ns": each.peer_wait,
            "bus_bandwidth": each.bus_bandwidth,
        }
        for each in groups
    ]
    return {"groups": rows, "unsplit": unsplit, "notes": list(notes)}


def _step(step: Step) -> dict[str, Any]:
    return {
        "step": step.number,
        "count": step.count,
        "annotated_ns": list(step.annotated),
        "window_ns": list(step.window),
        "parts_ns": step.parts,
        "classes_ns": step.classes,
        "launches": step.launches,
        "flops": step.flops,
    }


def _memory(found: Memory | None) -> dict[str, int | None] | None:
    return {"peak_bytes": found.peak, "growth_bytes": found.growth} if found else None


def _ranks(side: Side) -> dict[str, Any] | None:
    found = [each.breakdown for each in side.traces if each.breakdown.step_count]
    if not found:
        return None
    straggler, imbalance = slowest(found)
    return {
        "straggler_rank": straggler.rank,
        "imbalance": imbalance,
        "collectives": _collectives(side.traces),
        "findings": _findings(side.findings),
    }


def _difference(found: Difference) -> dict[str, Any]:
    return {"steps": found.steps, "aligned": found.aligned, "step": _row(found.step)}


def _row(row: Row) -> dict[str, Any]:
    return {
        "level": row.level,
        "name": row.name,
        "before": _spent(row, row.before),
        "after": _spent(row, row.after),
        "change_ns": row.change,
        "rows": [_row(below) for below in row.rows],
    }


def _spent(row: Row, spent: Spent | None) -> dict[str, int | None] | None:
    if spent is None:
        return None
    return {"calls": spent.calls if row.level in ("class", "operator", "kernel") else None, "time_ns": spent.time}
