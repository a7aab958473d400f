"""What the pages show of the catalog, read once: every table, sorted, as rows by run.

Pages come from the catalog and from the run folders' files only, so what a page prints is what a query gives.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger import catalog, shortlist
from ledger.catalog import Column
from ledger.shortlist import PublicRow

Row = dict[str, Any]

TABLES = {
    "runs": "started_at, run_id",
    "metrics": "run_id, metric, version, rank NULLS FIRST, step NULLS FIRST, origin",
    "cards": "run_id, field",
    "settings": "run_id, setting",
    "environments": "run_id, field",
    "prices": "run_id",
    "files": "run_id, path",
    "status": 'run_id, "at", kind',
    "trace_integrity": "run_id, file NULLS LAST, gates DESC NULLS LAST, code",
    "plans": "benchmark, created_at, launch_order NULLS LAST, stack, role, repeat",
    "metric_definitions": "metric, version",
}
"""{table: its order}. `steps` and `telemetry` are read from each run's own file."""


@dataclass(frozen=True)
class Snapshot:
    """The catalog's rows: `tables` whole, `by_run` those of one run."""

    tables: dict[str, list[Row]]
    by_run: dict[str, dict[str, list[Row]]]
    """{table: {run id: rows}}."""
    columns: list[Column]
    """The catalog's documented columns, for the glossary."""
    problems: tuple[str, ...]
    """What the catalog left out because it is broken, one line each."""
    public: tuple[PublicRow, ...] = ()
    """What others published, apart from all tables of own evidence."""

    def of(self, table: str, run_id: str) -> list[Row]:
        """The rows of `table` about one run."""
        return self.by_run[table].get(run_id, [])


def take(evidence: Path, traces: Path) -> Snapshot:
    """Read the catalog over `evidence`, with the tables of traces kept in `traces`.

    Raises InputError when the evidence folder is missing or unreadable.
    """
    with catalog.open(evidence, traces) as index:
        tables = {
            table: index.query(f"SELECT * FROM {table} ORDER BY {order}").dicts() for table, order in TABLES.items()
        }
        columns, problems, public = index.describe(), index.problems, shortlist.read(index)
    return Snapshot(tables, {table: _by_run(rows) for table, rows in tables.items()}, columns, problems, public)


def _by_run(rows: list[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if "run_id" in row:
            groups[row["run_id"]].append(row)
    return dict(groups)
