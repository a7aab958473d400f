"""Who called whom on one thread, from the times alone: depth, caller and self time of nested intervals, in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ledger.traces.interface import Int64

DEEPEST = 2000
"""Levels beyond which a thread is not nested but broken."""


@dataclass(frozen=True)
class Nest:
    """Intervals of one thread in the order of their start, the outer one first."""

    order: Int64
    """Positions in the arrays that it was made from."""
    start: Int64
    end: Int64
    caller: Int64
    """Position in this nest of the interval around it; -1 for the outermost."""
    levels: tuple[Int64, ...]
    """Positions by depth, the outermost first."""

    def self_times(self) -> tuple[Int64, Int64, Int64]:
        """Starts, ends and owners (positions in this nest) of the stretches in which an interval is the innermost."""
        starts, ends, owners = [], [], []
        first_call = self.end.copy()
        for level in self.levels[1:]:
            caller = self.caller[level]
            followed = caller[1:] == caller[:-1]
            opens = np.flatnonzero(np.concatenate([[True], ~followed]))
            first_call[caller[opens]] = self.start[level[opens]]
            until = self.end[caller]
            until[:-1][followed] = self.start[level[1:]][followed]
            starts.append(self.end[level])
            ends.append(until)
            owners.append(caller)
        start = np.concatenate([self.start, *starts])
        end = np.concatenate([first_call, *ends])
        owner = np.concatenate([np.arange(len(self.start), dtype=np.int64), *owners])
        real = end > start
        return start[real], end[real], owner[real]


def nest(start: Int64, end: Int64) -> Nest | None:
    """The nest of a thread's intervals, those without a length left out; None where two overlap and neither holds the
    other."""
    real = np.flatnonzero(end > start)
    order = real[np.lexsort((-end[real], start[real]))]
    start, end = start[order], end[order]
    depth = np.arange(len(start)) - np.searchsorted(np.sort(end), start, side="right")
    if depth.max(initial=0) > DEEPEST:
        return None
    levels = tuple(_levels(depth))
    caller = np.full(len(start), -1, dtype=np.int64)
    for outer, inner in pairwise(levels):
        caller[inner] = outer[np.searchsorted(outer, inner) - 1]
    inside = np.flatnonzero(caller >= 0)
    if (end[inside] > end[caller[inside]]).any():
        return None
    return Nest(order, start, end, caller, levels)


def _levels(depth: Int64) -> Iterator[Int64]:
    """The positions of each depth, ascending."""
    by_depth = np.argsort(depth, kind="stable")
    edges = np.searchsorted(depth[by_depth], np.arange(depth.max(initial=-1) + 2))
    for first, last in pairwise(edges.tolist()):
        yield by_depth[first:last]
