"""Is it a comparison at all? The two sides lined up field by field, before any number.

Which fields must be held and which are what is compared is data: `fields.yaml`, by workload kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

import yaml

from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.selection import Side
from sitegen.comparison.verdict import FieldComparison, Sameness, Treatment
from sitegen.format import number

_ORDER = (
    (Treatment.HELD, Sameness.DIFFERENT),
    (Treatment.HELD, Sameness.UNKNOWN),
    (Treatment.INTENDED, Sameness.DIFFERENT),
    (Treatment.INTENDED, Sameness.UNKNOWN),
    (Treatment.RECORDED, Sameness.DIFFERENT),
    (Treatment.RECORDED, Sameness.UNKNOWN),
    (Treatment.HELD, Sameness.SAME),
    (Treatment.INTENDED, Sameness.SAME),
)
"""Differences first; a recorded field that is the same says nothing and is not listed."""
SETTING = "setting."
_MISSING_WORDS = frozenset({"", "null", "None", "none", "N/A", "n/a", "TBD", "[]", "{}", "[null]"})
"""How cards say that a value is not there."""


@dataclass(frozen=True)
class FieldTable:
    """The rules for one workload kind."""

    held: dict[str, str]
    """{field: what sentences call it}."""
    intended: tuple[str, ...]
    ignored: tuple[str, ...]
    one_sided: tuple[str, ...] = ()
    """Fields that say nothing where only one side has them."""

    def with_intended(self, fields: tuple[str, ...]) -> FieldTable:
        """The table with more fields that are what is compared."""
        held = {name: title for name, title in self.held.items() if not _matches(name, fields)}
        return replace(self, held=held, intended=(*self.intended, *fields))

    def with_held(self, fields: tuple[str, ...]) -> FieldTable:
        """The table with more fields that must be the same."""
        return replace(self, held={**self.held, **{name: self.held.get(name) or _title(name) for name in fields}})

    def treatment(self, field: str) -> Treatment | None:
        """How a field takes part; None for one that says nothing about a side."""
        if field in self.held:
            return Treatment.HELD
        if _matches(field, self.ignored):
            return None
        return Treatment.INTENDED if _matches(field, self.intended) else Treatment.RECORDED


@cache
def field_table(kind: str) -> FieldTable:
    """The table for a workload kind: the rules of every kind and its own."""
    text = resources.files("sitegen.comparison").joinpath("fields.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    parts = [data["every"], data.get(kind) or {}]
    return FieldTable(
        held={entry["field"]: entry["title"] for part in parts for entry in part.get("held", ())},
        intended=tuple(pattern for part in parts for pattern in part.get("intended", ())),
        ignored=tuple(pattern for part in parts for pattern in part.get("ignored", ())),
        one_sided=tuple(pattern for part in parts for pattern in part.get("one_sided", ())),
    )


def line_up(
    baseline: Side, candidate: Side, kind: str, intended: tuple[str, ...] = (), held: tuple[str, ...] = ()
) -> tuple[FieldComparison, ...]:
    """Every field of the table and every other that differs, over the timed launches; differences first.

    `intended` are fields that the comparison declares as what is compared, though others hold them; `held` are further
    ones that it wants to be the same.
    """
    table = field_table(kind).with_intended(intended).with_held(held)
    runs = [_witnesses(side) for side in (baseline, candidate)]
    names = set(table.held) | {name for side in runs for run in side for name in run.fields}
    found = [line for name in names if (line := _compare(name, runs[0], runs[1], table))]
    order = list(table.held)
    by_name = sorted(
        found, key=lambda line: (order.index(line.field) if line.field in table.held else len(order), line.field)
    )
    return differences_first(by_name)


def differences_first(lines: Iterable[FieldComparison]) -> tuple[FieldComparison, ...]:
    """Lines that say something, what differs before what is not known and what is the same; else as they come."""
    rank = {pair: position for position, pair in enumerate(_ORDER)}
    listed = [line for line in lines if (line.treatment, line.sameness) in rank]
    return tuple(sorted(listed, key=lambda line: rank[line.treatment, line.sameness]))


@cache
def _titles() -> dict[str, str]:
    """{field: what sentences call it}, over all kinds of work."""
    text = resources.files("sitegen.comparison").joinpath("fields.yaml").read_text(encoding="utf-8")
    parts = yaml.safe_load(text).values()
    return {entry["field"]: entry["title"] for part in parts for entry in part.get("held", ())}


def _title(field: str) -> str:
    """What sentences call a field that is held by request: its name for another kind of work, else its last part."""
    return _titles().get(field) or field.rsplit(".", 1)[-1].replace("_", " ")


def _witnesses(side: Side) -> Sequence[TrialRun]:
    """The launches that speak for a side: the timed ones that completed, else whatever there is of it."""
    return side.timed or [run for run in side.runs if not run.set_aside]


def _compare(
    name: str, first: Sequence[TrialRun], second: Sequence[TrialRun], table: FieldTable
) -> FieldComparison | None:
    treatment = table.treatment(name)
    if treatment is None:
        return None
    a, b = (_values(name, runs) for runs in (first, second))
    if treatment is not Treatment.HELD and a == b == [None]:
        return None
    if treatment is Treatment.RECORDED and (a == b or _is_noise(a, b)):
        return None
    if treatment is Treatment.RECORDED and _matches(name, table.one_sided) and [None] in (a, b):
        return None
    return FieldComparison(name, treatment, _sameness(a, b), _text(a), _text(b), table.held.get(name))


def _values(name: str, runs: Sequence[TrialRun]) -> list[str | None]:
    """The distinct values over a side's launches; None among them where a launch did not record the field."""
    if not runs:
        return [None]
    # A setting that is null is known: it was resolved to nothing.
    missing = frozenset() if name.startswith(SETTING) else _MISSING_WORDS
    found = {None if (value := run.fields.get(name)) in missing else value for run in runs}
    return sorted(found, key=lambda value: (value is None, _sort_key(value or "")))


def _is_noise(a: Iterable[str | None], b: Iterable[str | None]) -> bool:
    """Whether a field moves among the launches of both sides by itself, so that it cannot tell them apart."""
    return all(len([value for value in side if value is not None]) > 1 for side in (a, b))


def _sameness(a: Sequence[str | None], b: Sequence[str | None]) -> Sameness:
    if None in a or None in b:
        return Sameness.UNKNOWN
    return Sameness.SAME if list(a) == list(b) else Sameness.DIFFERENT


def _text(values: Sequence[str | None]) -> str | None:
    """One value as it is; several as their number and what they are; None where nothing is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if len(values) == 1:
        return known[0]
    some = " (missing in some launches)" if None in values else ""
    if len(known) == 1:
        return f"{known[0]}{some}"
    numbers = [_number(value) for value in known]
    if len(known) > 3 and None not in numbers:
        listed = f"{number(_number(known[0]))} to {number(_number(known[-1]))}"
    else:
        listed = ", ".join(known[:3]) + (", …" if len(known) > 3 else "")
    return f"{len(known)} values: {listed}{some}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _sort_key(text: str) -> tuple[int, float, str]:
    value = _number(text)
    return (1, 0.0, text) if value is None else (0, value, text)


def _matches(field: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(field, pattern) for pattern in patterns)
