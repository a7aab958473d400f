"""The rows of the catalog's shortlist tables, each with its published values."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from ledger.catalog import Catalog

ORDER = "source, collection, row_id"


@dataclass(frozen=True)
class Published:
    """One published value, or why there is none."""

    metric: str
    unit: str
    value: float | None
    missing_reason: str | None
    definition: str
    note: str | None


@dataclass(frozen=True)
class PublicRow:
    """One published configuration. What is unknown is None, or not in its mapping."""

    collection: str
    source: str
    row_id: str
    title: str
    state: str
    kind: str | None = None
    model: str | None = None
    precision: str | None = None
    device: str | None = None
    device_class: str | None = None
    vendor: str | None = None
    devices: int | None = None
    framework: str | None = None
    framework_version: str | None = None
    failure: str | None = None
    workload: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    shows: dict[str, str] = field(default_factory=dict)
    """{topic: what it shows of it}."""
    cannot_show: dict[str, str] = field(default_factory=dict)
    """{topic: why it does not}."""
    problems: tuple[tuple[str, str], ...] = ()
    """(code, what a reader must know)."""
    values: dict[str, Published] = field(default_factory=dict)

    @property
    def link(self) -> str:
        """What a stack's `public` names it by: `<collection>/<row>`."""
        return f"{self.collection}/{self.row_id}"

    @property
    def file(self) -> str:
        """Its collection's file, from the workspace's root."""
        return f"public/{self.source}/{self.collection}.json"

    @property
    def result(self) -> tuple[Any, ...]:
        """What two collections that hold one result agree in, such as a table alone and the table with its cards."""
        values = tuple((each.metric, each.value) for each in self.values.values())
        told = values or json.dumps([self.workload, self.settings], sort_keys=True)
        return self.source, self.row_id, told

    def value(self, metric: str) -> float | None:
        """The published value of a metric."""
        found = self.values.get(metric)
        return None if found is None else found.value


_SAME = ("collection", "source", "row_id", "title", "state", "kind", "model", "precision", "device", "device_class")
_MORE = ("vendor", "devices", "framework", "framework_version", "failure")


def read(catalog: Catalog) -> tuple[PublicRow, ...]:
    """Every public row of a catalog, by source, collection and name."""
    values: dict[tuple[str, str], dict[str, Published]] = defaultdict(dict)
    for each in catalog.query("SELECT * FROM shortlist_metrics ORDER BY metric").dicts():
        told = (each["metric"], each["unit"], each["value"], each["missing_reason"], each["definition"], each["note"])
        values[each["collection"], each["row_id"]][each["metric"]] = Published(*told)
    rows = catalog.query(f"SELECT * FROM shortlist ORDER BY {ORDER}").dicts()
    return tuple(_row(row, values[row["collection"], row["row_id"]]) for row in rows)


def _row(row: dict[str, Any], values: dict[str, Published]) -> PublicRow:
    shows = {
        name.removeprefix("shows_"): text
        for name, text in row.items()
        if name.startswith("shows_") and text is not None
    }
    return PublicRow(
        **{name: row[name] for name in (*_SAME, *_MORE)},
        workload=_mapping(row["workload"]),
        settings=_mapping(row["settings"]),
        shows=shows,
        cannot_show=_mapping(row["cannot_show"]),
        problems=tuple((each["code"], each["what"]) for each in json.loads(row["problems"])),
        values=values,
    )


def _mapping(text: str | None) -> dict[str, Any]:
    return dict(json.loads(text)) if text else {}
