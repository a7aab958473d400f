"""Ranges that a trace tells by two events, one where they begin (ph B) and one where they end (E), as whole events.

A thread's ranges nest, and stand in the file in the order of their times, as the format asks
(https://github.com/google/perfetto/blob/main/docs/getting-started/other-formats.md and Chrome's trace event format): so
the end of a range belongs to the last one that is open on its thread, of its name where it has one. A file is read in
pieces, by several processes: what a piece leaves open is kept, and joined with what the pieces around it left open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ledger.traces.interface import Facts
from ledger.traces.kineto_rows import MISSING, Args, Rows

ALONE = "begins or ends a range of which the other end is not there (ph B, E)"
"""Why a half is left out."""


class Half(NamedTuple):
    """One end of a range."""

    begins: bool
    process: str
    thread: str
    name: str
    """Of an end it may be empty."""
    category: str
    at: int
    """Nanoseconds, or MISSING."""
    args: Args


def whole_ranges(rows: Rows, place: int, facts: Facts) -> Rows:
    """The rows of a piece with its whole ranges; what it leaves open is put into `facts`."""
    if not rows.halves:
        return rows
    found, left = _paired(rows.halves, facts)
    facts.halves += [_plain(place, half) for half in left]
    return _with(rows, found)


def joined(facts: Facts) -> Rows:
    """The ranges that begin in one piece and end in another; what is still open is counted and let go."""
    kept = sorted(facts.halves, key=lambda row: row[0])  # stable: the halves of a piece stay in their order
    found, left = _paired([_half(row) for row in kept], facts)
    facts.halves = []
    if left:
        facts.lost[ALONE] += len(left)
    return _with(Rows.none(), found)


def _paired(halves: Iterable[Half], facts: Facts) -> tuple[list[tuple[Half, Half]], list[Half]]:
    """Whole ranges, and what is left in its order; a beginning within a range that ended is counted."""
    threads: dict[tuple[str, str], list[Half]] = {}
    for half in halves:
        threads.setdefault((half.process, half.thread), []).append(half)
    found: list[tuple[Half, Half]] = []
    left: list[Half] = []
    for thread in threads.values():
        left += _paired_on(thread, found, facts)
    return found, left


def _paired_on(thread: Sequence[Half], found: list[tuple[Half, Half]], facts: Facts) -> list[Half]:
    """The same of one thread; `found` is added to."""
    left: list[Half] = []
    opened: list[Half] = []
    for half in thread:
        if half.begins:
            opened.append(half)
            continue
        place = _begun(opened, half.name)
        if place is None:  # it ends what began before: what has begun since is not to be ended by what follows
            left += [*opened, half]
            opened = []
            continue
        if len(opened) > place + 1:
            facts.lost[ALONE] += len(opened) - place - 1
        found.append((opened[place], half))
        del opened[place:]
    return left + opened


def _begun(opened: Sequence[Half], name: str) -> int | None:
    """The last one that an end of this name can end."""
    for place in range(len(opened) - 1, -1, -1):
        if not name or opened[place].name == name:
            return place
    return None


def _with(rows: Rows, found: Sequence[tuple[Half, Half]]) -> Rows:
    start = np.array([begin.at for begin, _ in found], dtype=np.int64)
    end = np.array([end.at for _, end in found], dtype=np.int64)
    known = (start != MISSING) & (end != MISSING)
    duration = np.where(known, end - np.where(known, start, end), MISSING)
    return Rows(
        cat=[*rows.cat, *(begin.category for begin, _ in found)],
        name=[*rows.name, *(begin.name for begin, _ in found)],
        pid=[*rows.pid, *(begin.process for begin, _ in found)],
        tid=[*rows.tid, *(begin.thread for begin, _ in found)],
        start=np.concatenate([rows.start, start]),
        duration=np.concatenate([rows.duration, duration]),
        args=[*rows.args, *(end.args if begin.args == Args() else begin.args for begin, end in found)],
        allocated_at=rows.allocated_at,
        allocations=rows.allocations,
        untimed=rows.untimed + len(found),  # the duration is the range's, which has two entries
        halves=(),
    )


def _plain(place: int, half: Half) -> list[Any]:
    return [place, *half[:-1], msgspec.json.encode(half.args).decode()]


def _half(row: Sequence[Any]) -> Half:
    _, begins, process, thread, name, category, at, args = row
    return Half(begins, process, thread, name, category, at, msgspec.json.decode(args, type=Args))
