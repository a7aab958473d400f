"""Communication and ranks, from profiler traces: one row a rank, over the collectives that profiled steps called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ledger.metrics.registry import Direction, Missing, Result, Value, metric
from ledger.metrics.tables import Tables
from ledger.traces import PATTERN
from ledger.traces.breakdown import Breakdown
from ledger.traces.collectives import unsplit
from ledger.traces.intervals import union_of

_NCCL = "nccl-tests (doc/PERFORMANCE.md): bytes of the full buffer; not valid where switches reduce"
_OURS = "stackproof: collectives matched across ranks by group and sequence or order"
_OPERATIONS = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "broadcast": "broadcast",
    "send_recv": "send and receive",
}
_KIN = {"send_recv": ["send_recv", "send", "recv"]}
_Measure = Callable[[pa.Table, Breakdown], float | Missing]


def _per_rank(tables: Tables, measure: _Measure, operation: str | None = None) -> Result:
    """`measure` of each rank's collectives within its steps, of one operation or all; absent when a rank has none."""
    breakdowns, found = tables.traces, tables.collectives
    if isinstance(breakdowns, Missing):
        return breakdowns
    if isinstance(found, Missing):
        return found
    values: list[Value] = []
    for place, explained in enumerate(breakdowns):
        mine = _called(found, place)
        if not mine.num_rows:
            return Missing("no communication in the trace")
        if operation is not None:
            mine = mine.filter(pc.is_in(mine["operation"], pa.array(_KIN.get(operation, [operation]))))
            if not mine.num_rows:
                return Missing(f"no {_OPERATIONS[operation]} in the trace")
        result = measure(mine, explained)
        if isinstance(result, Missing):
            return result
        values.append(Value(result, rank=place if explained.rank is None else explained.rank))
    return values


def _called(found: pa.Table, place: int) -> pa.Table:
    """What the profiled steps of one trace called."""
    return found.filter(pc.and_(found["in_steps"], pc.equal(found["trace"], place)))


def _covered(explained: Breakdown, start: pa.ChunkedArray, length: pa.ChunkedArray) -> float:
    """Seconds of a step in which any of the intervals runs."""
    begins = np.asarray(start.to_numpy(), dtype=np.int64)
    return union_of(begins, begins + length.to_numpy()).length / explained.step_count / 1e9


def _time(rows: pa.Table, explained: Breakdown) -> float:
    return _covered(explained, rows["start_ns"], rows["duration_ns"])


def _bytes(rows: pa.Table, explained: Breakdown) -> float | Missing:
    unknown = rows["bytes"].null_count
    if unknown:
        return Missing(f"the size of {unknown:,} of {rows.num_rows:,} collectives is not told")
    return float(pc.sum(rows["bytes"]).as_py() / explained.step_count)


def _bandwidth(rows: pa.Table, _: Breakdown, *, column: str) -> float | Missing:
    """Of what is moved in total, a mean that the time of transfer weighs."""
    told = rows.filter(pc.is_valid(rows[column]))
    if not told.num_rows:
        return _unsplit(rows, "of no collective both size and transfer time are known")
    spent = told["transfer_ns"].to_numpy()
    return float((told[column].to_numpy() * spent).sum() / spent.sum())


def _split(rows: pa.Table, explained: Breakdown, *, waiting: bool) -> float | Missing:
    wait = rows["peer_wait_ns"]
    if wait.null_count:
        return _unsplit(rows, "waiting cannot be told from transfer")
    if waiting:
        return _covered(explained, rows["start_ns"], wait)
    return _covered(explained, pc.add(rows["start_ns"], wait), rows["transfer_ns"])


def _unsplit(rows: pa.Table, reason: str) -> Missing:
    why = unsplit(rows) if rows["transfer_ns"].null_count else None
    return Missing(reason if why is None else f"{reason}: {why}")


def _register(
    id: str,
    title: str,
    definition: str,
    measure: _Measure,
    *,
    operation: str | None = None,
    unit: str = "s",
    direction: Direction = "lower",
    source: str = _OURS,
) -> None:
    metric(id, title=title, unit=unit, direction=direction, definition=definition, inputs=(PATTERN,), source=source)(
        partial(_per_rank, measure=measure, operation=operation)
    )


_register(
    "collective_bytes",
    "Bytes communicated",
    "Bytes of the full buffers of the collectives that a step called: an all-gather's output, the input of others.",
    _bytes,
    unit="B",
    direction="neither",
    source=_NCCL,
)
_register(
    "algorithm_bandwidth",
    "Algorithm bandwidth",
    "Bytes of the full buffers of all collectives over their transfer times, both added up; waiting for other ranks is "
    "left out.",
    partial(_bandwidth, column="algorithm_bandwidth"),
    unit="B/s",
    direction="higher",
    source=_NCCL,
)
_register(
    "bus_bandwidth",
    "Bus bandwidth",
    "Bytes that each rank's link carried for its collectives (of n ranks, 2(n-1)/n of an all-reduce's buffer, (n-1)/n "
    "of an all-gather's, a reduce-scatter's and an all-to-all's, all of others) over their transfer times, both added "
    "up.",
    partial(_bandwidth, column="bus_bandwidth"),
    unit="B/s",
    direction="higher",
    source=_NCCL,
)
_register(
    "peer_wait",
    "Waiting for other ranks",
    "Time of a step in which a collective that it called waits for the last rank of its group; a straggler makes it, "
    "not a slow link.",
    partial(_split, waiting=True),
)
_register(
    "transfer_time",
    "Transfer time",
    "Time of a step in which a collective that it called runs with the last rank of its group there.",
    partial(_split, waiting=False),
)
for _operation, _words in _OPERATIONS.items():
    _register(
        f"communication.{_operation}",
        f"Communication: {_words}",
        f"Time of a step in which a collective of the kind {_words} that it called runs, waiting for other ranks "
        "included.",
        _time,
        operation=_operation,
    )
    _register(
        f"collective_bytes.{_operation}",
        f"Bytes communicated: {_words}",
        f"Bytes of the full buffers of the collectives of the kind {_words} that a step called.",
        _bytes,
        operation=_operation,
        unit="B",
        direction="neither",
        source=_NCCL,
    )
    for _column, _title in (("algorithm_bandwidth", "Algorithm bandwidth"), ("bus_bandwidth", "Bus bandwidth")):
        _register(
            f"{_column}.{_operation}",
            f"{_title}: {_words}",
            f"The {_title.lower()} of the collectives of the kind {_words}: their bytes over their transfer times, "
            "both added up.",
            partial(_bandwidth, column=_column),
            operation=_operation,
            unit="B/s",
            direction="higher",
            source=_NCCL,
        )


def _ranks(tables: Tables) -> tuple[Breakdown, ...] | Missing:
    """The breakdowns of all ranks of the run."""
    found = tables.traces
    if isinstance(found, Missing):
        return found
    if len(found) < 2:
        return Missing("only one rank has a trace")
    size = max(each.world_size or 0 for each in found)
    return found if size <= len(found) else Missing(f"only {len(found)} of {size} ranks have a trace")


def _compute(found: Breakdown) -> float:
    return found.part("compute") / found.step_count if found.step_count else 0.0


@metric(
    "rank_imbalance",
    title="Imbalance of ranks",
    unit="1",
    direction="lower",
    definition="The largest compute time of a step over ranks, over their mean; 1 where all ranks compute as long.",
    inputs=(PATTERN,),
    source=_OURS,
)
def rank_imbalance(tables: Tables) -> Result:
    found = _ranks(tables)
    if isinstance(found, Missing):
        return found
    times = [_compute(each) for each in found]
    return max(times) * len(times) / sum(times) if sum(times) else Missing("the traces hold no compute")


@metric(
    "straggler_rank",
    title="Straggler",
    unit="1",
    direction="neither",
    definition="Number of the rank with the most compute time in a step, where ranks do not all compute as long.",
    inputs=(PATTERN,),
    source=_OURS,
)
def straggler_rank(tables: Tables) -> Result:
    found = _ranks(tables)
    if isinstance(found, Missing):
        return found
    times = [_compute(each) for each in found]
    rank = found[times.index(max(times))].rank
    if rank is None:
        return Missing("the traces do not tell their ranks")
    return float(rank) if len(set(times)) > 1 else Missing("all ranks compute as long")


@metric(
    "critical_rank",
    title="Rank that the others wait for",
    unit="1",
    direction="neither",
    definition="Number of the rank that, where it was the last to arrive at a collective, made others wait longest.",
    inputs=(PATTERN,),
    source=_OURS,
)
def critical_rank(tables: Tables) -> Result:
    ranks, found = _ranks(tables), tables.collectives
    if isinstance(ranks, Missing):
        return ranks
    if isinstance(found, Missing):
        return found
    told = found.filter(pc.and_(found["in_steps"], pc.is_valid(found["last_rank"])))
    if not told.num_rows:
        return Missing(f"no waiting is known: {unsplit(found) or 'no communication in the traces'}")
    made = told.group_by("last_rank").aggregate([("peer_wait_ns", "sum")]).sort_by("last_rank")
    waits = made["peer_wait_ns_sum"].to_pylist()
    return float(made["last_rank"][waits.index(max(waits))].as_py()) if max(waits) else Missing("no rank waits")
