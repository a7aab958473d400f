"""Arithmetic on sets of half-open intervals in integer nanoseconds.

A set is a pair of int64 arrays (starts, ends) of equal length. The functions return sets in normal form: sorted,
disjoint, not touching, none empty. Sums of durations are never taken from anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ledger.traces.interface import Int64

Booleans = np.ndarray[tuple[int], np.dtype[np.bool_]]
_Keep = Callable[[Booleans, Booleans], Booleans]


@dataclass(frozen=True)
class Intervals:
    """A set of nanoseconds in normal form; make it with `union_of`."""

    starts: Int64
    ends: Int64

    @property
    def length(self) -> int:
        """Nanoseconds covered."""
        return int((self.ends - self.starts).sum())

    def __or__(self, other: Intervals) -> Intervals:
        return union_of(np.concatenate([self.starts, other.starts]), np.concatenate([self.ends, other.ends]))

    def __and__(self, other: Intervals) -> Intervals:
        return _where_depth(self, other, lambda mine, theirs: mine & theirs)

    def __sub__(self, other: Intervals) -> Intervals:
        return _where_depth(self, other, lambda mine, theirs: mine & ~theirs)

    def clip(self, start: int, end: int) -> Intervals:
        """The part inside [start, end)."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left"))
        if end <= start or first >= last:
            return EMPTY
        return Intervals(
            np.maximum(self.starts[first:last], start).astype(np.int64),
            np.minimum(self.ends[first:last], end).astype(np.int64),
        )

    def contains(self, points: Int64) -> Booleans:
        """For each point, whether the set holds it."""
        index = np.searchsorted(self.starts, points, side="right") - 1
        inside = np.zeros(len(points), dtype=np.bool_)
        known = index >= 0
        inside[known] = points[known] < self.ends[index[known]]
        return inside

    def before(self, points: Int64) -> Int64:
        """For each point, the nanoseconds of the set before it; a difference is the overlap with an interval."""
        if not self.starts.size:
            return np.zeros(len(points), dtype=np.int64)
        index = np.searchsorted(self.starts, points, side="right") - 1
        covered = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        held = np.maximum(index, 0)
        into = np.clip(points - self.starts[held], 0, self.ends[held] - self.starts[held])
        return np.where(index < 0, 0, covered[held] + into).astype(np.int64)

    def within(self, edges: Int64) -> Int64:
        """Of each interval, a row of start and end: the nanoseconds of the set in it."""
        before = self.before(edges.ravel()).reshape(-1, 2)
        return np.asarray(before[:, 1] - before[:, 0], dtype=np.int64)


EMPTY = Intervals(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def union_of(starts: Int64, ends: Int64) -> Intervals:
    """The union of any intervals; empty and reversed ones hold nothing."""
    real = ends > starts
    return _union(starts[real], ends[real])


def _union(starts: Int64, ends: Int64) -> Intervals:
    """The union of intervals that each hold something; sorts the arrays that it is given.

    Starts and ends are sorted apart: where as many have ended before a start as had started, nothing is open.
    """
    if not starts.size:
        return EMPTY
    starts.sort()
    ends.sort()
    edge = np.ones(starts.size + 1, dtype=np.bool_)
    edge[1:-1] = starts[1:] > ends[:-1]
    return Intervals(starts, ends) if edge.all() else Intervals(starts[edge[:-1]], ends[edge[1:]])


def joined(sets: Iterable[Intervals]) -> Intervals:
    """The union of sets."""
    found = [each for each in sets if each.starts.size]
    if len(found) < 2:
        return found[0] if found else EMPTY
    return _union(np.concatenate([each.starts for each in found]), np.concatenate([each.ends for each in found]))


def _where_depth(left: Intervals, right: Intervals, keep: _Keep) -> Intervals:
    """The elementary pieces between all edges of both sets for which `keep` holds, joined again."""
    edges = np.concatenate([left.starts, left.ends, right.starts, right.ends])
    edges.sort(kind="stable")  # four sorted runs: merged, not sorted anew
    edges = edges[np.concatenate([[True], edges[1:] != edges[:-1]])] if edges.size else edges
    if edges.size < 2:
        return EMPTY
    pieces = edges[:-1]
    chosen = keep(left.contains(pieces), right.contains(pieces))
    return union_of(pieces[chosen], edges[1:][chosen])
