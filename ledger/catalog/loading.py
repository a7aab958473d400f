"""Filling the catalog: one scan of the evidence into an in-memory DuckDB, which is then locked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import resources
from pathlib import Path

import duckdb
import pyarrow as pa

from ledger.catalog import records, shortlist, traces
from ledger.catalog.arrow import Row, Tables, schemas, to_arrow
from ledger.catalog.reading import definition_row, read_run
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


def load(evidence: Path, kept: Path | None = None) -> tuple[duckdb.DuckDBPyConnection, tuple[str, ...]]:
    """A locked connection with every table filled, and one line for each thing left out. Raises InputError.

    `kept` is the folder of the cache of metrics that are newer than their runs; None keeps none.
    """
    folders = list(scan(evidence))
    problems: list[str] = []

    def read_all(known: Mapping[str, pa.Schema]) -> Iterable[Tables]:
        status, redacted = records.read_status(evidence, known["status"], problems)
        yield from status
        yield from records.read_plans(evidence, known["plans"], problems)
        yield from _read_runs(folders, known, redacted, problems, kept)
        yield from shortlist.read(evidence, known, problems)

    return connect(read_all), tuple(problems)


def connect(read_all: Callable[[Mapping[str, pa.Schema]], Iterable[Tables]]) -> duckdb.DuckDBPyConnection:
    """A locked connection, filled with the tables that `read_all` makes for the schemas of the catalog's tables."""
    connection = duckdb.connect(":memory:", config=_OPTIONS)
    connection.execute("SET timezone = 'UTC'")
    connection.execute(_text("tables.sql"))
    known = schemas(connection)
    contents: dict[str, list[pa.Table]] = {
        "metric_definitions": [to_arrow(_definitions(), known["metric_definitions"])]
    }
    for tables in read_all(known):
        for name, found in tables.items():
            contents.setdefault(name, []).append(found)
    for name, parts in contents.items():
        connection.register("incoming", pa.concat_tables(parts).combine_chunks())
        # Many runs declare the same definitions.
        distinct = "DISTINCT " if name == "metric_definitions" else ""
        connection.execute(f"INSERT INTO {name} BY NAME SELECT {distinct}* FROM incoming")
        connection.unregister("incoming")
    traces.prepare(connection)
    connection.execute(_text("views.sql"))
    connection.execute(_LOCK)
    return connection


def _text(name: str) -> str:
    return (SQL / name).read_text(encoding="utf-8")


def _read_runs(
    folders: list[RunFolder],
    known: Mapping[str, pa.Schema],
    redacted: Mapping[str, frozenset[str]],
    problems: list[str],
    kept: Path | None,
) -> Iterable[Tables]:
    seen: dict[str, str] = {}
    for folder in folders:
        try:
            if folder.run_id in seen:
                raise EvidenceError(f"has the id of {seen[folder.run_id]}", where=folder.name)
            yield read_run(folder, known, redacted.get(folder.run_id, frozenset()), kept)
            seen[folder.run_id] = folder.name
        except EvidenceError as error:
            problems.append(f"{folder.name} is left out: {error.what}; see `stackproof verify {folder.run_id}`")


def _definitions() -> list[Row]:
    return [definition_row(each) for each in registry.all_metrics()]
