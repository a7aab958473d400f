"""Collectives of one or more ranks: what was moved, for how long, and how much of it was waiting for the last rank.

Durations are those of the kernels that communicate, or on a host of the process group's worker threads (`gloo:*`).
Operation, size and group come from the arguments that PyTorch records with the kernel or with the call that launched it
(https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ParamCommsUtils.hpp). Bytes and bandwidths are
counted as nccl-tests does: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from ledger.traces.breakdown import Breakdown, Step, explain
from ledger.traces.collective_names import element_bytes, operation_of
from ledger.traces.interface import Int64, Kind
from ledger.traces.trace import Trace

COLLECTIVES = pa.schema(
    [
        ("rank", pa.int32()),
        ("step", pa.int64()),  # number of the step that called it; null outside, or where steps are not told apart
        ("in_steps", pa.bool_()),  # whether any profiled step called it
        ("operation", pa.string()),
        ("name", pa.string()),  # of the kernel, or of the event on the host
        ("group", pa.string()),
        ("group_size", pa.int64()),
        ("sequence", pa.int64()),
        ("dtype", pa.string()),
        ("bytes", pa.int64()),  # of the full buffer
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("peer_wait_ns", pa.int64()),  # until the last rank arrived; null where not all ranks of the group are there
        ("transfer_ns", pa.int64()),  # the rest
        ("algorithm_bandwidth", pa.float64()),  # bytes a second of transfer
        ("bus_bandwidth", pa.float64()),
    ]
)
"""One row a collective a rank."""

UNSPLIT = b"stackproof_unsplit"
"""Key of the table's metadata under which stands why waiting and transfer could not be told apart."""


@dataclass(frozen=True)
class Call:
    """One collective of one rank."""

    rank: int | None
    step: int | None
    in_steps: bool
    operation: str
    name: str
    group: str | None
    group_size: int | None
    ranks: tuple[int, ...]
    """Ranks of the group; empty where they are not told."""
    sequence: int | None
    dtype: str | None
    bytes: int | None
    start_ns: int
    duration_ns: int
    peer_wait_ns: int | None = None

    @property
    def end_ns(self) -> int:
        """When it was done."""
        return self.start_ns + self.duration_ns


def collectives(traces: Sequence[Trace]) -> pa.Table:
    """The collectives of the ranks of one run: schema COLLECTIVES, in the order of the ranks, then of their start."""
    return across([of_rank(trace, explain(trace)) for trace in traces])


def of_rank(trace: Trace, explained: Breakdown) -> tuple[Call, ...]:
    """The collectives of one rank, in the order of their start."""
    rows = sorted(trace.calls.to_pylist(), key=lambda row: row["start_ns"])
    kernels = [row for row in rows if row["kind"] == Kind.KERNEL]
    told = _kernels(trace, rows, kernels) if kernels else _on_host(rows)
    begins = [step.annotated[0] for step in explained.steps]
    return tuple(_call(trace, _step_at(explained, begins, at), row) for row, at in told)


def across(ranks: Sequence[Sequence[Call]]) -> pa.Table:
    """The table of all ranks' collectives, waiting told from transfer where every rank of a group is there."""
    split, why = _split(ranks)
    rows = [_row(call) for calls in split for call in calls]
    table = pa.Table.from_pylist(rows, schema=COLLECTIVES)
    return table.replace_schema_metadata({UNSPLIT: why}) if why else table


def unsplit(table: pa.Table) -> str | None:
    """Why waiting and transfer could not be told apart; None where they were, or there was nothing to tell."""
    found = (table.schema.metadata or {}).get(UNSPLIT)
    return None if found is None else found.decode()


def _kernels(
    trace: Trace, rows: list[dict[str, Any]], kernels: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], int]]:
    """Each kernel with the arguments of what launched it, and when that was."""
    callers = [row for row in rows if row["kind"] != Kind.KERNEL]
    by_id = {row["external_id"]: row for row in callers if row["operation"] is not None}
    launch = _launches(trace, kernels)
    opens: list[dict[str, Any]] = []
    waiting = iter(callers)
    following = next(waiting, None)
    for kernel, at in sorted(zip(kernels, launch, strict=True), key=lambda pair: pair[1]):
        while following is not None and following["start_ns"] <= at:
            opens.append(following)
            following = next(waiting, None)
        opens = [row for row in opens if row["start_ns"] + row["duration_ns"] >= at]
        around = [row for row in reversed(opens) if row["operation"] or row["shapes"]]
        source = kernel if kernel["operation"] else by_id.get(kernel["external_id"]) or next(iter(around), kernel)
        yield {**source, **{name: kernel[name] for name in ("kind", "name", "start_ns", "duration_ns")},
               "called": source["name"]}, at  # fmt: skip


def _launches(trace: Trace, kernels: list[dict[str, Any]]) -> list[int]:
    """When each kernel was launched; its own start where that is not in the trace."""
    events = trace.events
    wanted = np.array(sorted({row["correlation"] for row in kernels if row["correlation"]}), dtype=np.int64)
    calls = np.flatnonzero((events.kind == Kind.RUNTIME) & np.isin(events.correlation, wanted))
    at = dict(zip(events.correlation[calls].tolist(), events.start[calls].tolist(), strict=True))
    return [at.get(row["correlation"], row["start_ns"]) for row in kernels]


def _on_host(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], int]]:
    """Events of the process group's threads with the operators that called them, which tell the operation: gloo runs a
    reduce-scatter as an all-reduce. They come in one order, as many of one as of the other."""
    done = [row for row in rows if row["name"].startswith(("gloo:", "mpi:", "ucc:", "xccl:"))]
    called = [row for row in rows if row["name"].startswith("c10d::")]
    if len(done) != len(called):
        yield from ((row, row["start_ns"]) for row in done)
        return
    for row, op in zip(done, called, strict=True):
        yield {**row, "called": op["name"], "called_shapes": op["shapes"]}, op["start_ns"]


def _step_at(explained: Breakdown, begins: list[int], at: int) -> Step | None:
    place = bisect_right(begins, at) - 1
    return explained.steps[place] if place >= 0 and at < explained.steps[place].annotated[1] else None


def _call(trace: Trace, step: Step | None, row: dict[str, Any]) -> Call:
    operation = operation_of(row["operation"] or row.get("called") or row["name"])
    if operation == "other":
        operation = operation_of(row["name"])
    ranks = _ranks(row["ranks"])
    size = row["group_size"] or len(ranks) or (2 if trace.facts.world_size == 2 else None)
    dtype = row["dtype"] or _first(row["types"])
    elements = _elements(operation, row, size)
    width = element_bytes(dtype) if dtype else None
    return Call(
        rank=trace.rank,
        step=step.number if step else None,
        in_steps=step is not None,
        operation=operation,
        name=row["name"],
        group=row["group"],
        group_size=size,
        ranks=ranks,
        sequence=row["sequence"],
        dtype=dtype,
        bytes=elements * width if elements is not None and width is not None else None,
        start_ns=row["start_ns"],
        duration_ns=row["duration_ns"],
    )


def _ranks(text: str | None) -> tuple[int, ...]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return ()
    return tuple(each for each in found if isinstance(each, int)) if isinstance(found, list) else ()


def _first(types: str | None) -> str | None:
    try:
        found = json.loads(types or "[]")
    except ValueError:
        return None
    return found[0] if found and isinstance(found[0], str) and found[0] not in ("", "TensorList") else None


def _elements(operation: str, row: dict[str, Any], size: int | None) -> int | None:
    """Elements of the full buffer: of an all-gather the output, of all others the input."""
    counted: int | None = row["elements_in"]
    made: int | None = row["elements_out"]
    if counted is not None or made is not None:
        return made if operation == "all_gather" else counted
    shapes = _shapes(row.get("called_shapes")) if row.get("called_shapes") else None
    called = str(row.get("called") or "")
    if shapes and "_base_" in called and len(shapes) > 1:  # (output, input, …)
        return _size(shapes[0] if operation == "all_gather" else shapes[1])
    own = _shapes(row["shapes"])
    if not own:
        return None
    given = _size(own[0])
    if operation == "all_gather":
        return given * size if given is not None and size else None
    return given


def _shapes(text: str | None) -> list[Any] | None:
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def _size(shape: Any) -> int | None:
    """Elements of a tensor's shape, or of a list of them."""
    if not isinstance(shape, list):
        return None
    if shape and isinstance(shape[0], list):
        sizes = [_size(each) for each in shape]
        return sum(each for each in sizes if each is not None)
    return int(prod(shape)) if all(isinstance(each, int) for each in shape) else None


def _split(ranks: Sequence[Sequence[Call]]) -> tuple[list[list[Call]], str | None]:
    """The calls with the time until the last rank of their group arrived."""
    found = [list(calls) for calls in ranks]
    groups: dict[str, dict[int, list[int]]] = defaultdict(dict)  # {group: {place of the rank: places of its calls}}
    for place, calls in enumerate(found):
        for index, call in enumerate(calls):
            groups[call.group or ""].setdefault(place, []).append(index)
    reasons = [_split_group(found, members) for members in groups.values()]
    return found, next((reason for reason in reasons if reason), None)


def _split_group(found: list[list[Call]], members: dict[int, list[int]]) -> str | None:
    """Note the waits of one group's calls in place; or why not."""
    some = found[next(iter(members))][members[next(iter(members))][0]]
    here = {found[place][0].rank for place in members}
    whole = set(some.ranks) <= here if some.ranks else len(members) == some.group_size
    if not whole or len(members) < 2:
        return "not every rank of the group has a trace"
    aligned = [[found[place][index] for index in _in_order(found[place], members[place])] for place in members]
    if len({len(calls) for calls in aligned}) > 1 or any(
        len({(call.operation, call.bytes) for call in calls}) > 1 for calls in zip(*aligned, strict=True)
    ):
        return "the ranks of the group do not have the same collectives in the same order"
    starts = np.array([[call.start_ns for call in calls] for calls in aligned], dtype=np.int64)
    ends = np.array([[call.end_ns for call in calls] for calls in aligned], dtype=np.int64)
    if (starts.max(axis=0) > ends.min(axis=0)).mean() > _APART:
        return "the clocks of the ranks do not agree"
    _note_waits(found, members, starts.max(axis=0))
    return None


_APART = 0.5
"""Share of collectives that would have ended on one rank before they began on another, above which clocks differ."""


def _in_order(calls: list[Call], places: list[int]) -> list[int]:
    if all(calls[place].sequence is not None for place in places):
        return sorted(places, key=lambda place: (calls[place].sequence or 0, calls[place].start_ns))
    return places


def _note_waits(found: list[list[Call]], members: dict[int, list[int]], last: Int64) -> None:
    for place, places in members.items():
        for index, arrived in zip(_in_order(found[place], places), last.tolist(), strict=True):
            call = found[place][index]
            wait = min(max(arrived - call.start_ns, 0), call.duration_ns)
            found[place][index] = replace(call, peer_wait_ns=wait)


def _row(call: Call) -> dict[str, Any]:
    transfer = None if call.peer_wait_ns is None else call.duration_ns - call.peer_wait_ns
    speed = call.bytes / transfer * 1e9 if call.bytes and transfer and (call.group_size or 0) > 1 else None
    factor = bus_factor(call.operation, call.group_size)
    row = asdict(call)
    del row["ranks"]
    bus = None if speed is None or factor is None else speed * factor
    return {**row, "transfer_ns": transfer, "algorithm_bandwidth": speed, "bus_bandwidth": bus}


def bus_factor(operation: str, size: int | None) -> float | None:
    """What a bus carries of each byte of the full buffer, as nccl-tests has it; None where that is not defined."""
    if not size or size < 2:
        return None
    if operation == "all_reduce":
        return 2 * (size - 1) / size
    if operation in ("all_gather", "reduce_scatter", "all_to_all"):
        return (size - 1) / size
    return 1.0 if operation in ("broadcast", "reduce", "send", "recv", "send_recv") else None
