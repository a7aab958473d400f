"""The glossary: every metric definition of the registry, and the catalog's tables and columns."""

from __future__ import annotations

from dataclasses import dataclass

from ledger.catalog import Column
from ledger.metrics import registry
from ledger.metrics.registry import Metric
from sitegen.comparison.envelope import LAUNCH_RELIABILITY
from sitegen.pages.snapshot import Snapshot
from sitegen.templates import render


@dataclass(frozen=True)
class Entry:
    """One metric: its newest definition, the superseded ones, and how many runs have a value."""

    newest: Metric
    older: list[Metric]
    runs: int


def known() -> set[str]:
    """What the glossary explains under `#metric-…`: every metric, and the share that is one over runs."""
    return {each.id for each in registry.newest()} | {LAUNCH_RELIABILITY}


def page(facts: Snapshot) -> str:
    """The page's Markdown."""
    every = registry.all_metrics()
    measured: dict[str, set[str]] = {}
    for row in facts.tables["metrics"]:
        if row["value"] is not None:
            measured.setdefault(row["metric"], set()).add(row["run_id"])
    entries = [
        Entry(
            metric,
            [each for each in every if each.id == metric.id and each.version != metric.version],
            len(measured.get(metric.id, ())),
        )
        for metric in sorted(registry.newest(), key=lambda metric: metric.id)
    ]
    return render("pages/glossary.md.jinja", entries=entries, tables=_tables(facts.columns))


def _tables(columns: list[Column]) -> list[tuple[str, str, list[Column]]]:
    """(table, what it is, its columns), in the catalog's order."""
    names = dict.fromkeys((column.table, column.table_description) for column in columns)
    return [(name, words, [column for column in columns if column.table == name]) for name, words in names]
