"""Which libraries really ran, by the names in traces, and which ones settings declare: the table `libraries.yaml`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from ledger.traces.interface import Kind

TABLE = Path(__file__).with_name("libraries.yaml")
ON_DEVICE = frozenset({Kind.KERNEL})
ON_HOST = frozenset({Kind.OP, Kind.ANNOTATION, Kind.RUNTIME})


@dataclass(frozen=True)
class Library:
    """One row of the table."""

    id: str
    """`inductor`: what a benchmark file calls it."""
    title: str
    role: str | None
    """What it does: another library of this role is what may run instead. None where none does the same."""
    kernels: re.Pattern[str] | None
    operators: re.Pattern[str] | None
    source: str
    """Where its names come from."""
    names_of: str | None = None
    """A library whose names it carries too: a fork that kept them."""


@dataclass(frozen=True)
class Declares:
    """Settings of an adapter that declare a library."""

    adapter: str
    settings: Mapping[str, str | float]
    """{setting: its value as text, or a number that it must be above}."""
    library: str

    def holds(self, adapter: str | None, settings: Mapping[str, str]) -> bool:
        """Whether a stack with this adapter and these settings, as text, declares it."""
        return adapter == self.adapter and all(
            _holds(settings.get(name), wanted) for name, wanted in self.settings.items()
        )


@dataclass(frozen=True)
class Seen:
    """A library in one trace."""

    library: str
    events: int
    duration_ns: int
    """Sum of its events' durations; operators that call each other count twice."""
    example: str
    """The name that most of these events have."""


@cache
def libraries() -> Mapping[str, Library]:
    """{id: library}, in the table's order."""
    return {
        name: Library(
            name,
            row["title"],
            row.get("role"),
            _any(row.get("kernels")),
            _any(row.get("operators")),
            row["source"],
            row.get("names_of"),
        )
        for name, row in _data()["libraries"].items()
    }


def declared_by(adapter: str | None, settings: Mapping[str, str]) -> tuple[str, ...]:
    """Ids of the libraries that an adapter's settings, as text, declare; each once."""
    return tuple(dict.fromkeys(rule.library for rule in _declares() if rule.holds(adapter, settings)))


def seen(files: Iterable[Path]) -> list[Seen]:
    """The libraries in one trace, from the Parquet files of its events, in the table's order."""
    counts: dict[tuple[bool, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for path in files:
        for key, events, duration in _names(path):
            before = counts[key]
            counts[key] = before[0] + events, before[1] + duration
    return [found for library in libraries().values() if (found := _seen(library, counts)) is not None]


def _names(path: Path) -> Iterable[tuple[tuple[bool, str], int, int]]:
    """((whether it runs on a device, name), events, nanoseconds) of the names in one file."""
    table = pq.read_table(path, columns=["kind", "name", "duration_ns"])
    table = table.set_column(1, "name", table["name"].cast(pa.string()))
    grouped = table.group_by(["kind", "name"]).aggregate([("duration_ns", "count"), ("duration_ns", "sum")])
    for row in grouped.to_pylist():
        if row["name"] is not None and row["kind"] in ON_DEVICE | ON_HOST:
            yield (row["kind"] in ON_DEVICE, row["name"]), row["duration_ns_count"], row["duration_ns_sum"] or 0


def _seen(library: Library, counts: Mapping[tuple[bool, str], tuple[int, int]]) -> Seen | None:
    found = {key: value for key, value in counts.items() if _matches(library, *key)}
    if not found:
        return None
    most = max(found, key=lambda key: (found[key][0], key[1]))
    return Seen(
        library.id, sum(events for events, _ in found.values()), sum(time for _, time in found.values()), most[1]
    )


def _matches(library: Library, on_device: bool, name: str) -> bool:
    pattern = library.kernels if on_device else library.operators
    return pattern is not None and pattern.search(name) is not None


def _holds(value: str | None, wanted: str | float) -> bool:
    if value is None or isinstance(wanted, str):
        return value == wanted
    try:
        return float(value) > wanted
    except ValueError:
        return False


@cache
def _declares() -> tuple[Declares, ...]:
    rules = tuple(
        Declares(
            row["adapter"],
            {name: float(each["over"]) if isinstance(each, dict) else each for name, each in row["settings"].items()},
            row["library"],
        )
        for row in _data()["declared"]
    )
    unknown = {rule.library for rule in rules} - set(libraries())
    if unknown:
        raise ValueError(f"{TABLE.name} declares libraries that it does not have: {', '.join(sorted(unknown))}")
    return rules


@cache
def _data() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return found


def _any(patterns: list[str] | None) -> re.Pattern[str] | None:
    """One expression for any of the patterns; a leading (?i) holds for its own pattern only."""
    if not patterns:
        return None
    return re.compile("|".join(f"(?i:{each[4:]})" if each.startswith("(?i)") else f"(?:{each})" for each in patterns))
