"""Communication and ranks, from profiler traces: one row a rank, over the collectives that profiled steps called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ledger.metrics.registry import Direction, Missing, Result, Value, metric
from ledger.metrics.tables import Tables
from ledger.traces import PATTERN
from ledger.traces.breakdown import Breakdown
from ledger.traces.collectives import bus_factor, unsplit

_NCCL = "nccl-tests (doc/PERFORMANCE.md): bytes of the full buffer; not valid where switches reduce"
_OURS = "stackproof: collectives matched across ranks by group and order"
_OPERATIONS = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "broadcast": "broadcast",
    "send_recv": "send and receive",
}
_KIN = {"send_recv": {"send_recv", "send", "recv"}}
Rows = list[dict[str, Any]]


def _per_rank(tables: Tables, value: Callable[[Rows, Breakdown], float | Missing]) -> Result:
    """`value` of each rank's collectives within its steps; absent when a rank has none."""
    breakdowns, found = tables.traces, tables.collectives
    if isinstance(breakdowns, Missing) or isinstance(found, Missing):
        return breakdowns if isinstance(breakdowns, Missing) else Missing("no trace: the trial was not profiled")
    values: list[Value] = []
    for place, (explained, rows) in enumerate(zip(breakdowns, _by_rank(found, breakdowns), strict=True)):
        if not rows:
            return Missing("no communication in the trace")
        result = value(rows, explained)
        if isinstance(result, Missing):
            return result if unsplit(found) is None else Missing(f"{result.reason}: {unsplit(found)}")
        values.append(Value(result, rank=place if explained.rank is None else explained.rank))
    return values


def _by_rank(found: Any, breakdowns: tuple[Breakdown, ...]) -> list[Rows]:
    rows = [row for row in found.to_pylist() if row["in_steps"]]
    return [[row for row in rows if row["rank"] == explained.rank] for explained in breakdowns]


def _time(rows: Rows, explained: Breakdown, operation: str) -> float | Missing:
    mine = [row["duration_ns"] for row in rows if row["operation"] in _KIN.get(operation, {operation})]
    return sum(mine) / explained.step_count / 1e9 if mine else Missing(f"no {_OPERATIONS[operation]} in the trace")


def _bytes(rows: Rows, explained: Breakdown) -> float | Missing:
    sizes = [row["bytes"] for row in rows]
    if None in sizes:
        return Missing(f"the trace does not tell the size of {sizes.count(None)} of {len(sizes)} collectives")
    return float(sum(sizes) / explained.step_count)


def _bandwidth(rows: Rows, _: Breakdown, *, bus: bool) -> float | Missing:
    told = [row for row in rows if row["algorithm_bandwidth"] is not None and (not bus or row["bus_bandwidth"])]
    if not told:
        return Missing("the transfer of no collective is known")
    moved = sum(row["bytes"] * (bus_factor(row["operation"], row["group_size"]) or 1 if bus else 1) for row in told)
    return float(moved / sum(row["transfer_ns"] for row in told) * 1e9)


def _split(rows: Rows, explained: Breakdown, column: str) -> float | Missing:
    times = [row[column] for row in rows]
    if None in times:
        return Missing("waiting cannot be told from transfer")
    return float(sum(times) / explained.step_count / 1e9)


def _register(
    id: str,
    title: str,
    definition: str,
    value: Callable[[Rows, Breakdown], float | Missing],
    *,
    unit: str = "s",
    direction: Direction = "lower",
    source: str = _OURS,
) -> None:
    metric(id, title=title, unit=unit, direction=direction, definition=definition, inputs=(PATTERN,), source=source)(
        partial(_per_rank, value=value)
    )


for _operation, _words in _OPERATIONS.items():
    _register(
        f"communication.{_operation}",
        f"Communication: {_words}",
        f"Durations of the {_words} collectives that a step called, added up, waiting for other ranks included.",
        partial(_time, operation=_operation),
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
    "Bytes of the full buffers of collectives over their transfer time, waiting for other ranks left out.",
    partial(_bandwidth, bus=False),
    unit="B/s",
    direction="higher",
    source=_NCCL,
)
_register(
    "bus_bandwidth",
    "Bus bandwidth",
    "Bytes that each rank's link carried for its collectives (2(n-1)/n of an all-reduce's buffer, (n-1)/n of an "
    "all-gather's, a reduce-scatter's and an all-to-all's, all of others) over their transfer time.",
    partial(_bandwidth, bus=True),
    unit="B/s",
    direction="higher",
    source=_NCCL,
)
_register(
    "peer_wait",
    "Waiting for other ranks",
    "Time of a step's collectives until the last rank of the group arrived; a straggler makes it, not a slow link.",
    partial(_split, column="peer_wait_ns"),
)
_register(
    "transfer_time",
    "Transfer time",
    "Time of a step's collectives from when the last rank of the group arrived.",
    partial(_split, column="transfer_ns"),
)


def _ranks(tables: Tables) -> tuple[Breakdown, ...] | Missing:
    """The breakdowns of several ranks."""
    found = tables.traces
    if isinstance(found, Missing):
        return found
    return found if len(found) > 1 else Missing("only one rank has a trace")


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
    if len(set(times)) == 1 or rank is None:
        return Missing("all ranks compute as long" if rank is not None else "the traces do not tell their ranks")
    return float(rank)


@metric(
    "critical_rank",
    title="Rank that the others wait for",
    unit="1",
    direction="neither",
    definition="Number of the rank that itself waits least in collectives: the others wait for it.",
    inputs=(PATTERN,),
    source=_OURS,
)
def critical_rank(tables: Tables) -> Result:
    found, calls = _ranks(tables), tables.collectives
    if isinstance(found, Missing) or isinstance(calls, Missing):
        return found if isinstance(found, Missing) else Missing("no trace: the trial was not profiled")
    waits: dict[int, int] = {}
    for row in calls.to_pylist():
        if row["peer_wait_ns"] is not None and row["rank"] is not None:
            waits[row["rank"]] = waits.get(row["rank"], 0) + row["peer_wait_ns"]
    if len(waits) < 2:
        return Missing(f"waiting cannot be told from transfer: {unsplit(calls) or 'no communication in the traces'}")
    return float(min(waits, key=lambda rank: (waits[rank], rank)))
