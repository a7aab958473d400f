"""The collectives of one rank: what took the time, what tells its arguments, and which step called it.

Durations are those of the kernels that communicate, or without any on a host of the process group's worker threads
(`gloo:*`). Operation, size and group come from the arguments that PyTorch records with the kernel or with the call that
launched it (https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ParamCommsUtils.hpp).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ledger.traces.breakdown import Breakdown
from ledger.traces.collective_groups import Groups, differing, grouped, in_groups
from ledger.traces.collective_names import element_bytes, operation_of
from ledger.traces.collective_sizes import first_type, full, integers, mapped, nullable, shaped
from ledger.traces.interface import ABSENT, Int64, Kind
from ledger.traces.launching import EARLIER, known_from, launches
from ledger.traces.nesting import nest
from ledger.traces.room import trim
from ledger.traces.trace import Trace
from ledger.traces.work import slabs

CALLED = pa.schema(
    [
        ("rank", pa.int32()),
        ("step", pa.int64()),  # number of the step that called it; null outside, or where steps are not told apart
        ("in_steps", pa.bool_()),  # whether any profiled step called it
        ("operation", pa.string()),
        ("name", pa.string()),  # of the kernel, or of the event on the host
        ("group", pa.string()),
        ("group_size", pa.int64()),
        ("ranks", pa.string()),  # of the group, as the profiler spells them
        ("sequence", pa.int64()),
        ("dtype", pa.string()),
        ("bytes", pa.int64()),  # of the full buffer
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
    ]
)
"""One row a collective, in the order of their start. Null: not known."""

_NONE = -1
_GRAPH = re.compile(r"graph_?launch", re.IGNORECASE)
_COALESCED = "(?i)coalesc"
_ON_HOST = "^(gloo|mpi|ucc|xccl):"


@dataclass(frozen=True)
class _Found:
    """Collectives as rows of `Trace.calls`, in arrays of equal length."""

    event: Int64
    """What took the time."""
    source: Int64
    """What tells the arguments; the same as `event` where nothing else does."""
    at: Int64
    """When it was called, in nanoseconds."""
    groups: Groups
    """Which of them carry out several calls."""


def of_rank(trace: Trace, explained: Breakdown) -> pa.Table:
    """The collectives of one rank: schema CALLED. Where kernels communicate, what the host records is no other one."""
    trim()
    order = np.argsort(trace.calls["start_ns"].to_numpy(), kind="stable")
    calls = trace.calls.take(order)
    kernels = np.flatnonzero(calls["kind"].to_numpy() == Kind.KERNEL)
    return _described(trace, explained, calls, _kernels(trace, calls, kernels) if kernels.size else _on_host(calls))


def group_ranks(text: str | None) -> tuple[int, ...]:
    """The ranks of a group; empty where they are not told, or not all of them."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return ()
    return tuple(each for each in found if isinstance(each, int)) if isinstance(found, list) else ()


def _kernels(trace: Trace, calls: pa.Table, kernels: Int64) -> _Found:
    """Arguments are the kernel's own, else of the call with its external id, else of the call around its launch: of
    those first that name their operation, then of those with shapes."""
    start = calls["start_ns"].to_numpy()
    kind = calls["kind"].to_numpy()
    named, shaped_too = (np.asarray(pc.is_valid(calls[name]).to_numpy()) for name in ("operation", "shapes"))
    source = np.where(named[kernels], kernels, _NONE)
    callers = np.flatnonzero((kind != Kind.KERNEL) & named)
    source = np.where(source == _NONE, _of_external(calls, callers, kernels), source)
    launch = _launch(trace, integers(calls["correlation"])[kernels])
    others = np.flatnonzero((kind != Kind.KERNEL) & shaped_too & ~named)
    for candidates in (callers, others):
        missing = np.flatnonzero((source == _NONE) & (launch != _NONE))
        source[missing] = _around(trace, calls, candidates, launch[missing])
    at = np.where(launch == _NONE, start[source], trace.events.start[launch])
    missing = np.flatnonzero((launch == _NONE) & ((source == _NONE) | (source == kernels)))
    if missing.size:
        at[missing] = _ran(trace, calls.take(kernels[missing]))
    groups = _grouped(trace, calls, kernels, (callers, others), launch)
    unknown = (source[groups.kernel] == _NONE) | (source[groups.kernel] == kernels[groups.kernel])
    source[groups.kernel[unknown]] = groups.call[unknown]
    return _Found(kernels, np.where(source == _NONE, kernels, source), at, groups)


def _grouped(trace: Trace, calls: pa.Table, kernels: Int64, candidates: tuple[Int64, Int64], launch: Int64) -> Groups:
    """Which kernels carry out several calls; a graph's are not launched by what was called when it was captured.

    `candidates`: calls that name their operation, and those with shapes alone.
    """
    callers, others = candidates
    names = calls["name"].take(pa.array(others)).cast(pa.string())
    joining = np.asarray(pc.match_substring_regex(names, _COALESCED).to_numpy(), dtype=np.bool_)
    around = np.concatenate([callers, others[~joining]])
    is_graph = np.array([bool(_GRAPH.search(name)) for name in trace.names] or [False], dtype=np.bool_)
    known = np.flatnonzero(launch != _NONE)
    known = known[~is_graph[trace.events.name[launch[known]]]]
    inside = np.full(kernels.size, _NONE, dtype=np.int64)
    inside[known] = _around(trace, calls, around, launch[known])
    kinds = mapped(calls["operation"], operation_of, pa.string()).take(pa.array(callers))
    moves = pc.invert(pc.is_in(kinds, pa.array(["other", "barrier"]))).to_numpy()
    free = callers[np.asarray(moves, dtype=np.bool_) & ~np.isin(callers, inside)]
    thread = np.full(kernels.size, ABSENT, dtype=np.int64)
    thread[known] = trace.events.track[launch[known]]
    at = np.where(launch == _NONE, 0, trace.events.start[launch])
    called = _tracks(trace, calls.select(["process", "thread"]).take(free)), calls["start_ns"].to_numpy()[free], free
    return grouped((thread, at, inside == _NONE), called)


def _ran(trace: Trace, kernels: pa.Table) -> Int64:
    """When kernels whose launch is not known were called: when they ran; EARLIER where that was before all work of
    their stream with a known launch, as the breakdown has it."""
    start = integers(kernels["start_ns"])
    launch = launches(trace)
    if not (launch > EARLIER).any():
        return start
    track = _tracks(trace, kernels.select(["process", "thread"]), on_device=True)
    return np.where(start < known_from(trace, launch)[track], EARLIER, start).astype(np.int64)


def _of_external(calls: pa.Table, callers: Int64, kernels: Int64) -> Int64:
    """The caller of the same external id, or none."""
    ids = integers(calls["external_id"])
    callers = callers[ids[callers] != ABSENT]
    return _looked_up(ids[callers], callers, ids[kernels])


def _launch(trace: Trace, correlation: Int64) -> Int64:
    """The runtime call of each correlation, an index into the events, or none."""
    events = trace.events
    parts = [np.empty(0, dtype=np.int64)]
    for slab in slabs(len(events)):
        calls = np.flatnonzero((events.kind[slab] == Kind.RUNTIME) & (events.correlation[slab] != ABSENT)) + slab.start
        parts.append(calls[np.isin(events.correlation[calls], correlation)])
    found = np.concatenate(parts)
    return _looked_up(events.correlation[found], found, correlation)


def _looked_up(ids: Int64, owners: Int64, asked: Int64) -> Int64:
    """For each id asked the first owner of that id, or none."""
    if not ids.size:
        return np.full(asked.size, _NONE, dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    ids, owners = ids[order], owners[order]
    place = np.minimum(np.searchsorted(ids, asked), ids.size - 1)
    return np.asarray(np.where(ids[place] == asked, owners[place], _NONE), dtype=np.int64)


def _around(trace: Trace, calls: pa.Table, candidates: Int64, launch: Int64) -> Int64:
    """The innermost of the candidates around each launch, on its thread, or none."""
    found = np.full(launch.size, _NONE, dtype=np.int64)
    if not candidates.size or not launch.size:
        return found
    track = _tracks(trace, calls.select(["process", "thread"]).take(candidates))
    start, length = (calls[name].to_numpy()[candidates] for name in ("start_ns", "duration_ns"))
    where = trace.events.track[launch]
    for thread in np.unique(where).tolist():
        theirs, mine = np.flatnonzero(track == thread), np.flatnonzero(where == thread)
        inner = _innermost(start[theirs], start[theirs] + length[theirs], trace.events.start[launch[mine]])
        found[mine] = np.where(inner == _NONE, _NONE, candidates[theirs[inner]] if theirs.size else _NONE)
    return found


def _tracks(trace: Trace, threads: pa.Table, *, on_device: bool = False) -> Int64:
    """Index into `Trace.tracks` of each process and thread."""
    known = {
        f"{each.process}\0{each.thread}": place
        for place, each in enumerate(trace.tracks)
        if each.is_device == on_device
    }
    key = pc.binary_join_element_wise(*(threads[name].cast(pa.string()) for name in ("process", "thread")), "\0")
    return integers(mapped(key, known.get, pa.int64()))


def _innermost(start: Int64, end: Int64, at: Int64) -> Int64:
    """Of the intervals of one thread the innermost around each time, or none."""
    found = nest(start, end)
    if found is None or not found.order.size:
        return np.full(at.size, _NONE, dtype=np.int64)
    begins, until, owner = found.self_times()
    order = np.argsort(begins, kind="stable")
    place = np.searchsorted(begins[order], at, side="right") - 1
    held = order[np.maximum(place, 0)]
    return np.where((place >= 0) & (at < until[held]), found.order[owner[held]], _NONE)


def _on_host(calls: pa.Table) -> _Found:
    """Events of the process group's threads, with the operators that called them where one order fits both."""
    start = calls["start_ns"].to_numpy()
    names = calls["name"].cast(pa.string())
    operation = np.asarray(mapped(names, operation_of, pa.string()).to_numpy())
    done = np.flatnonzero(pc.match_substring_regex(names, _ON_HOST).to_numpy())
    called = np.flatnonzero(pc.starts_with(names, "c10d::").to_numpy())
    ran_as = operation[called]
    if "reduce_scatter" not in operation[done]:  # gloo runs it as an all-reduce
        ran_as = np.where(ran_as == "reduce_scatter", "all_reduce", ran_as)
    source = done.copy()
    for each in np.unique(operation[done].astype(str)).tolist():
        mine = np.flatnonzero(operation[done] == each)
        source[mine] = _paired(start, done[mine], called[ran_as == each])
    return _Found(done, source, start[source], Groups())


def _paired(start: Int64, done: Int64, called: Int64) -> Int64:
    """For each event the operator that called it, both in their order; itself where that cannot be.

    What runs before the first operator was called before the profiler looked; operators at the end may not have run.
    """
    if not called.size:
        return done
    first = int(np.searchsorted(start[done], start[called[0]]))
    later = done[first:]
    if later.size > called.size or (start[later] < start[called[: later.size]]).any():
        return done
    return np.concatenate([done[:first], called[: later.size]])


def _described(trace: Trace, explained: Breakdown, calls: pa.Table, found: _Found) -> pa.Table:
    """The rows of schema CALLED."""
    event, source = calls.take(found.event), calls.take(found.source)
    step, in_steps = _steps(explained, found.at)
    operation = _operation(event, source)
    size = _group_size(trace, source)
    dtype = pc.coalesce(source["dtype"], first_type(event["types"]), first_type(source["types"]))
    moved = _bytes(event, source, operation, size, dtype)
    if found.groups.kernel.size or found.groups.shared.size:
        moved, operation = _of_groups(trace, calls, found.groups, moved, operation, event)
    columns = {
        "rank": pa.array([trace.rank] * len(event), pa.int32()),
        "step": step,
        "in_steps": in_steps,
        "operation": operation,
        "name": event["name"].cast(pa.string()),
        "group_size": nullable(size),
        "dtype": dtype,
        "bytes": nullable(moved),
        "start_ns": event["start_ns"],
        "duration_ns": event["duration_ns"],
        **{name: source[name] for name in ("group", "ranks", "sequence")},
    }
    return pa.table([columns[name] for name in CALLED.names], schema=CALLED)


def _steps(explained: Breakdown, at: Int64) -> tuple[pa.Array, pa.Array]:
    """The number of the step that called each, and whether any did."""
    annotated = np.array([step.annotated for step in explained.steps], dtype=np.int64).reshape(-1, 2)
    place = np.searchsorted(annotated[:, 0], at, side="right") - 1
    inside = place >= 0
    inside[inside] = at[inside] < annotated[place[inside], 1]
    numbers = pa.array([step.number for step in explained.steps], pa.int64())
    return numbers.take(pa.array(place, mask=~inside)), pa.array(inside)


def _operation(event: pa.Table, source: pa.Table) -> pa.ChunkedArray:
    named = pc.coalesce(source["operation"], source["name"].cast(pa.string()))
    told = mapped(named, operation_of, pa.string())
    by_name = mapped(event["name"], operation_of, pa.string())
    return pc.if_else(pc.equal(told, "other"), by_name, told)


def _group_size(trace: Trace, source: pa.Table) -> Int64:
    """Of two ranks that communicate the group is both; of more it is not known unless it is told."""
    told = integers(source["group_size"])
    counted = integers(mapped(source["ranks"], lambda text: len(group_ranks(text)) or None, pa.int64()))
    size = np.where(told > 0, told, counted)
    return np.where(size > 0, size, 2 if trace.facts.world_size == 2 else ABSENT).astype(np.int64)


def _bytes(event: pa.Table, source: pa.Table, operation: pa.ChunkedArray, size: Int64, dtype: pa.ChunkedArray) -> Int64:
    """Of the full buffer, or ABSENT; by shapes the event's own come first, which are those of what it takes in."""
    taken, given = integers(source["elements_in"]), integers(source["elements_out"])
    told = (taken != ABSENT) | (given != ABSENT)
    (own, _), (called, made) = shaped(event), shaped(source)
    taken = np.where(told, taken, np.where(own == ABSENT, called, own))
    elements = full(operation, taken, np.where(told, given, made), size)
    width = integers(mapped(dtype, element_bytes, pa.int64()))
    return np.where((elements >= 0) & (width > 0), elements * width, ABSENT).astype(np.int64)


def _of_groups(
    trace: Trace, calls: pa.Table, groups: Groups, moved: Int64, operation: pa.ChunkedArray, event: pa.Table
) -> tuple[Int64, pa.ChunkedArray]:
    """Bytes and operations of all kernels, with those that carry out several calls; where these are of several kinds
    the name of the kernel tells what it does."""
    members = calls.take(pa.array(groups.call))
    kinds = _operation(members, members)
    dtype = pc.coalesce(members["dtype"], first_type(members["types"]))
    each = _bytes(members, members, kinds, _group_size(trace, members), dtype)
    words = np.asarray(kinds.to_numpy(), dtype=np.object_)
    way = (words == "send").astype(np.int64) - (words == "recv")
    total = in_groups(groups, moved, each, np.asarray(members["group"].to_numpy(), dtype=np.object_), way)
    mixed = differing(groups, words, len(event))
    by_name = mapped(event["name"], operation_of, pa.string())
    return total, pc.if_else(pa.array(mixed), by_name, operation)
