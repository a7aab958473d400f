"""Filling the catalog: one scan of the evidence into an in-memory DuckDB, which is then locked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

import duckdb
import pyarrow as pa

from ledger.catalog import records
from ledger.catalog.reading import RunTables, read_run
from ledger.errors import EvidenceError
from ledger.metrics import registry
from ledger.run_folder import RunFolder, scan

SQL = resources.files("ledger") / "sql"

_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # a table name must never mean a variable of this program
    "temp_directory": "",  # a query that outgrows the memory fails; it writes no files
}
_LOCK = "SET enable_external_access = false; SET lock_configuration = true"


def load(evidence: Path) -> tuple[duckdb.DuckDBPyConnection, tuple[str, ...]]:
    """A locked connection with every table filled, and one line for each thing left out. Raises InputError."""
    folders = list(scan(evidence))
    status = records.read_status(evidence)
    plans = records.read_plans(evidence)
    problems = [*status.problems, *plans.problems]
    runs = list(_readable(folders, status.redacted, problems))
    rows: dict[str, list[dict[str, object]]] = {"status": status.rows, "plans": plans.rows}
    rows["metric_definitions"] = _definitions()
    connection = connect(_merge(runs, rows))
    return connection, tuple(problems)


def connect(contents: Mapping[str, list[dict[str, object]] | list[pa.Table]]) -> duckdb.DuckDBPyConnection:
    """A locked connection whose tables hold `contents`: for each table rows, or Arrow tables with its columns."""
    connection = duckdb.connect(":memory:", config=_OPTIONS)
    connection.execute("SET timezone = 'UTC'")
    connection.execute(_text("tables.sql"))
    for table, found in contents.items():
        _insert(connection, table, found)
    connection.execute(_text("views.sql"))
    connection.execute(_LOCK)
    return connection


def _text(name: str) -> str:
    return (SQL / name).read_text(encoding="utf-8")


def _insert(connection: duckdb.DuckDBPyConnection, table: str, found: list[dict[str, object]] | list[pa.Table]) -> None:
    if not found:
        return
    if isinstance(found[0], pa.Table):
        incoming = pa.concat_tables(found)
    else:
        incoming = pa.Table.from_pylist(found, schema=connection.table(table).to_arrow_table().schema)
    connection.register("incoming", incoming)
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
    connection.unregister("incoming")


def _readable(
    folders: list[RunFolder], redacted: Mapping[str, frozenset[str]], problems: list[str]
) -> Iterator[RunTables]:
    seen: dict[str, str] = {}
    for folder in folders:
        try:
            if folder.run_id in seen:
                raise EvidenceError(f"has the id of {seen[folder.run_id]}", where=str(folder.path))
            yield read_run(folder, redacted.get(folder.run_id, frozenset()))
            seen[folder.run_id] = folder.name
        except EvidenceError as error:
            problems.append(f"{folder.name} is left out: {error.what}; see `stackproof verify {folder.run_id}`")


def _merge(
    runs: list[RunTables], rows: dict[str, list[dict[str, object]]]
) -> dict[str, list[dict[str, object]] | list[pa.Table]]:
    merged: dict[str, list[dict[str, object]] | list[pa.Table]] = {**rows}
    for run in runs:
        for table, found in run.rows.items():
            merged.setdefault(table, []).extend(found)  # type: ignore[arg-type]
        for table, samples in run.samples.items():
            merged.setdefault(table, []).append(samples)  # type: ignore[arg-type]
    return merged


def _definitions() -> list[dict[str, object]]:
    return [
        {
            "metric": each.id,
            "version": each.version,
            "title": each.title,
            "unit": each.unit,
            "direction": each.direction,
            "definition": each.definition,
            "inputs": json.dumps(each.inputs),
            "source": each.source,
        }
        for each in registry.all_metrics()
    ]
