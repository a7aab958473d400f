"""Where the difference between two sides' steps comes from: parts, classes of compute, operators, kernels.

Each row's time is its rows' times together, exactly. That takes whole numbers, so times are not means a step but
nanoseconds over `Difference.steps` steps: the least number of steps into which each trace's steps, and the number of
traces of its side, divide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ledger.errors import InputError
from ledger.traces.breakdown import PARTS, Breakdown, explain, worked
from ledger.traces.classes import CLASSES
from ledger.traces.interface import Int64
from ledger.traces.intervals import Intervals, union_of
from ledger.traces.kernel_names import folded
from ledger.traces.operators import NONE, launched_by
from ledger.traces.room import trim
from ledger.traces.trace import Trace
from ledger.traces.work import KINDS, Work

_MADE_OF = {"exposed_communication": "communication", "exposed_copy": "copy", "input_wait": "input_wait"}
LEVELS = ("step", "part", "class", "operator", "kernel", "overlap")


class Key(NamedTuple):
    """What two traces have in common of a piece of work."""

    kind: str
    """One of `ledger.traces.work.KINDS`."""
    operator: str | None
    """The operator that launched it, folded; None where none is known. On a host without a device, it itself."""
    name: str
    """Of the kernel, folded; on a host without a device, of the operator."""


class Spent(NamedTuple):
    """Calls, and self time in nanoseconds, within the steps' windows."""

    calls: int
    time: int

    def __add__(self, other: object) -> Spent:
        return Spent(self.calls + other.calls, self.time + other.time) if isinstance(other, Spent) else NotImplemented

    def times(self, factor: int) -> Spent:
        """Over `factor` times as many steps."""
        return Spent(self.calls * factor, self.time * factor)


@dataclass(frozen=True)
class Profile:
    """One trace's work, by what it has in common with other traces."""

    source: str
    """What to call it in an error: its file."""
    breakdown: Breakdown
    spent: Mapping[Key, Spent]


def profile(trace: Trace, breakdown: Breakdown | None = None) -> Profile:
    """The profile of a trace; `breakdown`: its explanation, where it is there already."""
    breakdown = breakdown or explain(trace)
    trim()
    edges = np.array([step.window for step in breakdown.steps], dtype=np.int64).reshape(-1, 2)
    adding = _Adding(trace, union_of(edges[:, 0], edges[:, 1]))
    for work in worked(trace) if breakdown.steps else ():
        adding.add(work)
    return Profile(str(trace.path), breakdown, adding.spent)


class _Adding:
    """Calls and time by key, while the work of a trace passes by."""

    def __init__(self, trace: Trace, windows: Intervals) -> None:
        self._trace, self._windows = trace, windows
        self._launched_by = launched_by(trace) if trace.has_device else np.empty(0, dtype=np.int64)
        self.spent: dict[Key, Spent] = {}

    def add(self, work: Work) -> None:
        time = self._windows.before(work.end) - self._windows.before(work.start)
        inside = np.flatnonzero((time > 0) | self._windows.contains(work.start))
        keys, place = np.unique(self._keys(work, inside), return_inverse=True)
        times = np.zeros(len(keys), dtype=np.int64)
        np.add.at(times, place, time[inside])
        started = self._windows.contains(work.start[inside])
        _, first = np.unique(work.event[inside][started], return_index=True)  # an operator may come in several pieces
        calls = np.bincount(place[started][first], minlength=len(keys))
        for key, count, total in zip(keys.tolist(), calls.tolist(), times.tolist(), strict=True):
            found = self._key(key)
            self.spent[found] = self.spent.get(found, Spent(0, 0)) + Spent(count, total)

    def _keys(self, work: Work, chosen: Int64) -> Int64:
        """Kind, operator's name and own name of each of the pieces as one number."""
        name = self._trace.events.name
        event = work.event[chosen]
        operator = name[event].astype(np.int64)
        if self._trace.has_device:
            launcher = self._launched_by[np.searchsorted(self._trace.device, event)]
            operator = np.where(launcher == NONE, NONE, name[launcher])
        several = len(self._trace.names) + 1
        return (work.code[chosen].astype(np.int64) * several + operator + 1) * several + name[event]

    def _key(self, number: int) -> Key:
        names = self._trace.names
        rest, name = divmod(number, len(names) + 1)
        kind, operator = divmod(rest, len(names) + 1)
        return Key(KINDS[kind], folded(names[operator - 1]) if operator else None, folded(names[name]))


@dataclass(frozen=True)
class Row:
    """One thing on both sides, over `Difference.steps` steps."""

    level: str
    """One of LEVELS. `overlap`: what its siblings' times hold more than once or outside the part, negative."""
    name: str | None
    """None: launched by no operator that is known."""
    before: Spent | None
    """None where this side has no such thing."""
    after: Spent | None
    rows: tuple[Row, ...] = ()
    """What it is made of, the largest change first; empty where no finer rows are known."""

    @property
    def change(self) -> int:
        """Nanoseconds that the after side takes longer."""
        return (self.after.time if self.after else 0) - (self.before.time if self.before else 0)

    @property
    def is_matched(self) -> bool:
        """Whether both sides have it."""
        return self.before is not None and self.after is not None

    def below(self, level: str) -> Iterator[tuple[Row, ...]]:
        """Every row of a level at or below this one, behind the rows that it is part of."""
        if self.level == level:
            yield (self,)
        for row in self.rows:
            for path in row.below(level):
                yield (self, *path)


@dataclass(frozen=True)
class Difference:
    """Two sides, and where they differ."""

    steps: int
    """All times and calls are over this many steps."""
    step: Row

    @cached_property
    def aligned(self) -> dict[str, float | None]:
        """For classes, operators and kernels: the share of the time of their rows, of both sides together, that is in
        rows that both sides have; None where there are no rows."""
        return {
            level: _aligned(path[-1] for path in self.step.below(level)) for level in ("class", "operator", "kernel")
        }

    def unmatched(self, level: str) -> list[tuple[Row, ...]]:
        """The rows of a level that one side alone has, behind the rows that they are part of; the longest first."""
        found = [path for path in self.step.below(level) if not path[-1].is_matched]
        return sorted(found, key=lambda path: -abs(path[-1].change))


def difference(before: Sequence[Profile], after: Sequence[Profile]) -> Difference:
    """The difference of two sides, each one trace or several (ranks, launches), which count the same.

    Raises InputError when a side is empty or a trace has no timed event.
    """
    for each in (*before, *after):
        if not each.breakdown.step_count:
            raise InputError("has no timed event to compare", where=each.source, todo="leave it out")
    if not before or not after:
        raise InputError("a difference needs traces on both sides", todo="name at least one trace for each side")
    steps = math.lcm(*(each.breakdown.step_count * len(side) for side in (before, after) for each in side))
    sides = (_Side(before, steps), _Side(after, steps))
    _adopt(*sides)
    parts = tuple(_part(name, *sides) for name in PARTS)
    one, other = (Spent(0, side.total(_duration)) for side in sides)
    return Difference(steps, _row("step", "step", one, other, parts))


class _Side:
    """One side's totals over `steps` steps."""

    def __init__(self, profiles: Sequence[Profile], steps: int) -> None:
        self._weighted = [(each, steps // (each.breakdown.step_count * len(profiles))) for each in profiles]
        self.has_device = any(each.breakdown.has_device for each in profiles)
        self.spent: dict[str, dict[str | None, dict[str, Spent]]] = {}
        for each, factor in self._weighted:
            for key, found in each.spent.items():
                names = self.spent.setdefault(key.kind, {}).setdefault(key.operator, {})
                names[key.name] = names.get(key.name, Spent(0, 0)) + found.times(factor)

    def total(self, nanoseconds: Callable[[Breakdown], int]) -> int:
        return sum(nanoseconds(each.breakdown) * factor for each, factor in self._weighted)


def _adopt(*sides: _Side) -> None:
    """Put kernels that no known operator launched (a graph replays them, or their launch is not in the trace) with the
    operator that launches most of the same kernel on the same side, else on the other."""
    found = [_launchers(side) for side in sides]
    for side, mine, theirs in zip(sides, found, reversed(found), strict=True):
        for kind, operators in side.spent.items():
            for name in list(operators.get(None, {})):
                operator = mine.get((kind, name)) or theirs.get((kind, name))
                if operator:
                    names = operators.setdefault(operator, {})
                    names[name] = names.get(name, Spent(0, 0)) + operators[None].pop(name)
            if None in operators and not operators[None]:
                del operators[None]


def _launchers(side: _Side) -> dict[tuple[str, str], str]:
    """The operator that launches most of each kernel, by kind and name."""
    most: dict[tuple[str, str], tuple[int, str]] = {}
    for kind, operators in side.spent.items():
        for operator, names in operators.items():
            for name, spent in names.items():
                if operator is not None:
                    most[kind, name] = max(most.get((kind, name), (-1, "")), (spent.time, operator))
    return {key: operator for key, (_, operator) in most.items()}


def _duration(breakdown: Breakdown) -> int:
    return breakdown.duration


def _part(name: str, before: _Side, after: _Side) -> Row:
    def spent(side: _Side) -> Spent | None:
        if not side.has_device and name == "host_gap":
            return None
        if name in ("exposed_communication", "exposed_copy") and _MADE_OF[name] not in side.spent:
            return None
        return Spent(0, side.total(lambda each: each.part(name)))

    if name == "compute":
        kinds = (_class(kind, before, after) for kind in CLASSES)
        rows = tuple(row for row in kinds if row.before or row.after)
        return _row("part", name, spent(before), spent(after), rows)
    kind = _MADE_OF.get(name, "")
    return _row("part", name, spent(before), spent(after), _operators(kind, before, after))


def _class(kind: str, before: _Side, after: _Side) -> Row:
    def spent(side: _Side) -> Spent | None:
        return Spent(0, side.total(lambda each: each.kind(kind))) if kind in side.spent else None

    return _row("class", kind, spent(before), spent(after), _operators(kind, before, after))


def _operators(kind: str, before: _Side, after: _Side) -> tuple[Row, ...]:
    mine, theirs = before.spent.get(kind, {}), after.spent.get(kind, {})
    on_host = not before.has_device and not after.has_device  # an operator is all there is
    rows = []
    for operator in {**mine, **theirs}:
        one, other = mine.get(operator), theirs.get(operator)
        kernels = tuple(
            _row("kernel", name, (one or {}).get(name), (other or {}).get(name), ())
            for name in {**(one or {}), **(other or {})}
        )
        rows.append(_row("operator", operator, _sum(one), _sum(other), () if on_host else kernels))
    return tuple(rows)


def _sum(names: Mapping[str, Spent] | None) -> Spent | None:
    return sum(names.values(), Spent(0, 0)) if names is not None else None


def _row(level: str, name: str | None, before: Spent | None, after: Spent | None, rows: tuple[Row, ...]) -> Row:
    """A row with its rows in order, the calls of what it is made of, and what keeps their sum from its own time."""
    overlap = _overlap(before, [row.before for row in rows]), _overlap(after, [row.after for row in rows])
    ordered = sorted(rows, key=lambda row: (-abs(row.change), -_time(row), row.name or ""))
    if any(overlap) and rows:
        ordered.append(Row("overlap", "overlap", *overlap))
    return Row(level, name, _with_calls(before, rows, 0), _with_calls(after, rows, 1), tuple(ordered))


def _overlap(whole: Spent | None, parts: Iterable[Spent | None]) -> Spent | None:
    if whole is None:
        return None
    rest = whole.time - sum(part.time for part in parts if part)
    return Spent(0, rest) if rest else None


def _with_calls(spent: Spent | None, rows: tuple[Row, ...], side: int) -> Spent | None:
    if spent is None or not rows or spent.calls:
        return spent
    sides = [(row.before, row.after)[side] for row in rows]
    return Spent(sum(found.calls for found in sides if found), spent.time)


def _time(row: Row) -> int:
    return sum(side.time for side in (row.before, row.after) if side)


def _aligned(rows: Iterable[Row]) -> float | None:
    found = [(row.is_matched, _time(row)) for row in rows]
    whole = sum(time for _, time in found)
    return sum(time for matched, time in found if matched) / whole if whole else None
