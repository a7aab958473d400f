"""Collectives of which one kernel carries out several calls: NCCL's groups, as coalesced calls and batched sends are.

Within ncclGroupStart and ncclGroupEnd calls launch nothing; the kernel is launched where the group ends, outside of any
of them. So of a thread's calls that launched no kernel of their own, those since its last communication kernel are what
the next one that is launched outside of all calls carries out. What one of several kernels of a group carries out is
not told.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ledger.traces.interface import ABSENT, Int64
from ledger.traces.intervals import Booleans


def _none() -> Int64:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Groups:
    """Which calls which kernels carry out, as pairs in two arrays; kernels by their place among all kernels."""

    kernel: Int64 = field(default_factory=_none)
    call: Int64 = field(default_factory=_none)
    """Rows of the table of calls."""
    shared: Int64 = field(default_factory=_none)
    """Kernels that carry out a group together with others: how many bytes each moves is not known."""


def grouped(launched: tuple[Int64, Int64, Booleans], called: tuple[Int64, Int64, Int64]) -> Groups:
    """The groups of all threads.

    `launched`: thread and time of the launch of each kernel, and whether it lies outside of all calls; a thread of
    ABSENT where it is not known. `called`: thread, time and row of each call that launched no kernel of its own.
    """
    found = [
        _of_thread(launched[1], np.flatnonzero(launched[0] == thread), launched[2], *_only(called, thread))
        for thread in np.unique(launched[0][launched[2]]).tolist()
        if thread != ABSENT
    ]
    return Groups(*(np.concatenate([_none(), *(getattr(each, name) for each in found)]) for name in vars(Groups())))


def in_groups(groups: Groups, own: Int64, moved: Int64, group: npt.NDArray[np.object_], way: Int64) -> Int64:
    """Bytes of all kernels: `own` where they carry out one call; of several their sum, ABSENT where it is not told.

    `moved`, `group`, `way`: of each pair's call its bytes, its process group, and whether it sends to one rank (1),
    receives (-1), or neither (0). What is sent and what is received at once are not added up: the link
    carries both ways, so the larger counts, as nccl-tests has it.
    """
    sums = np.zeros((3, own.size), dtype=np.int64)
    np.add.at(sums, (way + 1, groups.kernel), moved)
    found = np.where(np.isin(np.arange(own.size), groups.kernel), sums[1] + np.maximum(sums[0], sums[2]), own)
    found[groups.kernel[moved == ABSENT]] = ABSENT
    found[differing(groups, group, own.size)] = ABSENT
    found[groups.shared] = ABSENT
    return found


def differing(groups: Groups, words: npt.NDArray[np.object_], size: int) -> Booleans:
    """Which of `size` kernels carry out calls that do not all have the same of these words, one a pair."""
    code = np.unique(words.astype(str), return_inverse=True)[1]
    low, high = np.full(size, len(words), dtype=np.int64), np.full(size, -1, dtype=np.int64)
    np.minimum.at(low, groups.kernel, code)
    np.maximum.at(high, groups.kernel, code)
    found: Booleans = low < high
    return found


def _only(called: tuple[Int64, Int64, Int64], thread: int) -> tuple[Int64, Int64]:
    mine = np.flatnonzero(called[0] == thread)
    mine = mine[np.argsort(called[1][mine], kind="stable")]
    return called[1][mine], called[2][mine]


def _of_thread(at: Int64, kernels: Int64, outside: Booleans, begun: Int64, rows: Int64) -> Groups:
    """The groups of one thread: `at` and `outside` of all kernels, `begun` and `rows` of its calls, in order."""
    kernels = kernels[np.argsort(at[kernels], kind="stable")]
    before = np.searchsorted(begun, at[kernels])  # how many calls had begun when each was launched
    pairs: list[tuple[int, int]] = []
    shared: list[int] = []
    place = taken = 0
    while place < len(kernels):
        first = place
        members = rows[taken : before[place]].tolist() if outside[kernels[place]] else []
        taken, place = int(before[place]), place + 1
        while place < len(kernels) and members and before[place] == taken and outside[kernels[place]]:
            place += 1
        mine = kernels[first:place].tolist()
        if members and len(mine) == 1:
            pairs += [(mine[0], row) for row in members]
        elif members:
            shared += mine
    owner, call = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Groups(owner, call, np.array(shared, dtype=np.int64))
