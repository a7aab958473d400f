"""Collectives matched across the ranks of one run, so that waiting for the last rank is told from transfer.

Calls of a group are matched by their sequence numbers where every rank has them, else by their order. Ranks on
different hosts have different clocks: where the ends of most matched collectives, which come close together, lie
further apart than the collective lasted, the clocks are aligned by the median difference of the ends, and that is
noted. A smaller difference of clocks cannot be told from waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ledger.traces.collective_calls import group_ranks
from ledger.traces.collective_sizes import integers
from ledger.traces.interface import ABSENT, Int64

_POINT_TO_POINT = ("send", "recv", "send_recv")
_SAME_BYTES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
"""Operations whose full buffer has one size on all ranks."""
_ENOUGH = 3
"""Matched collectives from which a difference of clocks is estimated."""
_MOST = 0.5


@dataclass
class Split:
    """What matching found; arrays as long as the table of all calls."""

    wait: Int64
    """Nanoseconds until the last rank arrived, or ABSENT."""
    last: Int64
    """The trace of the rank that arrived last, by its place, or ABSENT."""
    unsplit: list[str] = field(default_factory=list)
    """Why some calls are not split, each reason once."""
    notes: list[str] = field(default_factory=list)
    """What was estimated."""


@dataclass(frozen=True)
class _Calls:
    """All calls of all traces as arrays of equal length."""

    trace: Int64
    start: Int64
    duration: Int64
    sequence: Int64
    operation: npt.NDArray[np.object_]
    bytes: Int64
    ranks: Sequence[int | None]
    """The rank of each trace."""


@dataclass(frozen=True)
class _Group:
    """The calls of one group: of each trace that has some, rows in the order of their start."""

    rows: dict[int, Int64]
    ranks: tuple[int, ...]
    size: int
    between_two: bool
    """Whether these are sends and receives."""


class _UnsplitError(Exception):
    """Why a group's calls cannot be split."""


def split(table: pa.Table, ranks: Sequence[int | None]) -> Split:
    """Waits of the calls of all traces: schema CALLED with the column `trace`, a place in `ranks`."""
    found = Split(np.full(len(table), ABSENT, dtype=np.int64), np.full(len(table), ABSENT, dtype=np.int64))
    names = ("trace", "start_ns", "duration_ns", "sequence")
    trace, start, duration, sequence = (integers(table[name]) for name in names)
    operation = np.asarray(table["operation"].to_numpy(), dtype=np.object_)
    calls = _Calls(trace, start, duration, sequence, operation, integers(table["bytes"]), ranks)
    for group in _groups(table, calls):
        try:
            _note_waits(found, calls, group)
        except _UnsplitError as why:
            _once(found.unsplit, str(why))
    return found


def _once(lines: list[str], line: str) -> None:
    if line not in lines:
        lines.append(line)


def _groups(table: pa.Table, calls: _Calls) -> Iterator[_Group]:
    """Calls by the name, ranks and size of their group; sends and receives by themselves."""
    between_two = np.asarray(pc.is_in(table["operation"], pa.array(_POINT_TO_POINT)).to_numpy())
    sizes = integers(table["group_size"])
    codes = [_codes(table["group"]), _codes(table["ranks"]), sizes, between_two.astype(np.int64), calls.trace]
    order = np.lexsort((calls.start, *reversed(codes)))
    key = np.stack(codes)[:, order]
    edges = np.flatnonzero(np.any(key[:4, 1:] != key[:4, :-1], axis=0)) + 1
    spelt = table["ranks"]
    for low, high in pairwise([0, *edges.tolist(), len(order)] if len(order) else []):
        rows, place = order[low:high], calls.trace[order[low:high]]
        cuts = [0, *(np.flatnonzero(place[1:] != place[:-1]) + 1).tolist(), len(rows)]
        yield _Group(
            rows={int(place[first]): rows[first:until] for first, until in pairwise(cuts)},
            ranks=group_ranks(spelt[int(rows[0])].as_py()),
            size=int(sizes[rows[0]]),
            between_two=bool(between_two[rows[0]]),
        )


def _codes(column: pa.ChunkedArray) -> Int64:
    return integers(pa.chunked_array([column.combine_chunks().dictionary_encode().indices]))


def _note_waits(found: Split, calls: _Calls, group: _Group) -> None:
    """Fill in the waits of one group's calls."""
    if group.size == 1:
        for place, rows in group.rows.items():
            found.wait[rows], found.last[rows] = 0, place
        return
    _check_whole(calls, group)
    rows = _matched(found, calls, group)
    if not rows.size:
        return
    start = calls.start[rows]
    shift = _shift(found, calls, group, rows)
    last = start - shift[:, None]
    wait = np.clip(last.max(axis=0) - last, 0, calls.duration[rows])
    found.wait[rows] = wait
    found.last[rows] = np.array(list(group.rows))[last.argmax(axis=0)]


def _check_whole(calls: _Calls, group: _Group) -> None:
    """Whether every rank of the group has its trace here."""
    here = [calls.ranks[place] for place in group.rows]
    if group.between_two and group.size != 2:
        raise _UnsplitError("sends and receives do not tell the other rank")
    if len(set(here)) < len(here):
        raise _UnsplitError("the traces do not tell their ranks apart")
    if not group.ranks and group.size < 1:
        raise _UnsplitError("the size of the group is not told")
    if set(group.ranks) != set(here) if group.ranks else group.size != len(here):
        raise _UnsplitError("not every rank of the group has a trace")


def _matched(found: Split, calls: _Calls, group: _Group) -> Int64:
    """Rows of the matched calls, a row of the array a trace, in one order."""
    rows = list(group.rows.values())
    sequences = [calls.sequence[each] for each in rows]
    if all((each != ABSENT).all() and np.unique(each).size == each.size for each in sequences):
        common = reduce(np.intersect1d, sequences)
        if any(common.size < each.size for each in sequences):
            _once(found.unsplit, "some collectives are not in the trace of every rank")
        rows = [
            each[np.argsort(numbers)][np.isin(np.sort(numbers), common)]
            for each, numbers in zip(rows, sequences, strict=True)
        ]
    if len({each.size for each in rows}) > 1:
        raise _UnsplitError("the ranks of the group do not have the same collectives in the same order")
    matched = np.stack(rows)
    _check_same(calls, group, matched)
    return matched


def _check_same(calls: _Calls, group: _Group, rows: Int64) -> None:
    """Whether operation and size agree wherever they must."""
    operation, size = calls.operation[rows], calls.bytes[rows]
    alike = np.isin(operation[0].astype(str), _SAME_BYTES) | group.between_two
    differ = (operation != operation[0]).any(axis=0) & (not group.between_two)
    if (differ | (alike & (size != size[0]).any(axis=0))).any():
        raise _UnsplitError("the ranks of the group do not have the same collectives in the same order")


def _shift(found: Split, calls: _Calls, group: _Group, rows: Int64) -> Int64:
    """Nanoseconds by which each trace's clock is ahead of the first one's; 0 where the ends agree."""
    ends = calls.start[rows] + calls.duration[rows]
    later = ends - ends[0]
    shortest = calls.duration[rows].min(axis=0)
    shifted = (np.abs(later) > shortest).mean(axis=1) > _MOST
    if not shifted.any():
        return np.zeros(len(rows), dtype=np.int64)
    shift = np.where(shifted, np.median(later, axis=1), 0).astype(np.int64)
    off = (np.abs(later - shift[:, None]) > shortest).mean(axis=1) > _MOST
    if rows.shape[1] < _ENOUGH or off.any():
        raise _UnsplitError("the clocks of the ranks do not agree")
    places = list(group.rows)
    for place, by in zip(places, shift.tolist(), strict=True):
        if by:
            _once(found.notes, _aligned(calls.ranks[places[0]], calls.ranks[place], by, rows.shape[1]))
    return shift


def _aligned(first: int | None, rank: int | None, by: int, count: int) -> str:
    direction = "ahead of" if by > 0 else "behind"
    return (
        f"the clock of rank {rank} is {abs(by) / 1e6:,.3f} ms {direction} rank {first}'s, by the ends of {count} "
        "collectives: their starts are compared as if it were not"
    )
