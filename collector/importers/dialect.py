"""The metrics of a source, described by a data file: `NAME.yaml` beside its importer.

`metrics` describes single ones, `families` those that come in several statistics (mean, median, percentiles). Each
entry says under which id a value is kept. That is stackproof's own id only where the definition is the same: a
name that two tools share proves nothing. All others are `NAME@SOURCE`, with a note on what differs; tools that share
a formula share its id (`@sent`: from when the client sent the request, `@duration`: over the whole benchmark).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from collector.importers import values
from collector.importers.values import Absent
from ledger.public import Quantity
from ledger.yaml_file import read_yaml


@dataclass(frozen=True)
class Entry:
    """One metric of the source: its name there, the unit it is written in, and what becomes of it here."""

    name: str
    metric: str
    written: str
    """The unit that a bare number has there."""
    unit: str
    """The base unit it is kept in."""
    definition: str
    note: str | None = None
    signed: bool = False
    """Whether it may be negative."""

    def read(self, raw: object) -> float | Absent:
        """A published value in the base unit, or why there is none."""
        return values.number(raw, self.written, self.unit, signed=self.signed)

    def quantity(self) -> Quantity:
        """As the collection describes it."""
        return Quantity(self.metric, self.unit, self.name, self.definition, self.note)


@dataclass(frozen=True)
class Dialect:
    """Every metric that an importer knows, by its name there."""

    entries: dict[str, Entry]

    def with_definitions(self, told: Mapping[str, str]) -> Dialect:
        """The same, with the definitions that the source itself publishes where it does."""
        return Dialect(
            {
                name: replace(entry, definition=told[name]) if told.get(name) else entry
                for name, entry in self.entries.items()
            }
        )

    def quantities(self, used: Iterable[str]) -> tuple[Quantity, ...]:
        """The descriptions of the metrics with the ids `used`, in the file's order; the first name of each counts."""
        wanted = set(used)
        found: dict[str, Quantity] = {}
        for entry in self.entries.values():
            if entry.metric in wanted:
                found.setdefault(entry.metric, entry.quantity())
        return tuple(found.values())


_WORDS = {"mean": "Mean", "p50": "Median", "p90": "90th percentile", "p95": "95th percentile", "p99": "99th percentile"}


@cache
def load(name: str) -> Dialect:
    """The dialect in `NAME.yaml` of this folder."""
    data = read_yaml(Path(__file__).with_name(f"{name}.yaml")).data
    single = {key: Entry(name=key, **entry) for key, entry in data["metrics"].items()}
    return Dialect(single | {entry.name: entry for family in data.get("families", ()) for entry in _family(family)})


def _family(family: dict[str, Any]) -> Iterator[Entry]:
    """One entry a statistic: `{statistic}` in names, `{ours}` in ids and `{words}` in definitions are filled in."""
    for statistic, ours in family["statistics"].items():
        words = {"statistic": statistic, "ours": ours, "words": _WORDS.get(ours, ours)}
        told: dict[str, Any] = {key: value.format(**words) for key, value in family.items() if isinstance(value, str)}
        yield Entry(**told)
