"""The catalog: SQL over the run folders of one evidence folder.

Folders are truth; the catalog is made from them in memory and thrown away. All access goes through `open`, so that what
stands behind it can change. A query reads the catalog's tables: no files, no network, and it changes
no setting.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from ledger.catalog.traces import TraceTables

__all__ = ["Catalog", "Column", "Result", "describe", "open"]


@dataclass(frozen=True)
class Result:
    """What a query returned. Times are aware datetimes in UTC; SQL NULL is None."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    """DuckDB's type of each column, such as `DOUBLE` or `TIMESTAMP WITH TIME ZONE`."""
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as {column: value}; of two columns with one name the last counts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Column:
    """A documented column of the catalog."""

    table: str
    table_description: str
    name: str
    type: str
    description: str


class Catalog:
    """An open catalog; a context manager. `open` makes it."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        problems: tuple[str, ...],
        traces: TraceTables | None = None,
    ) -> None:
        self._connection, self._traces = connection, traces
        self.problems = problems
        """One line for each run folder, plan or status record that was left out because it is broken."""

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Result:
        """Run one SELECT; `parameters` fill its `?` marks in order. Raises InputError with what the database says."""
        from ledger.catalog import querying  # noqa: PLC0415 (DuckDB is slow to import)

        self._fill(sql)
        return querying.query(self._connection, sql, parameters)

    def arrow(self, sql: str, parameters: Sequence[Any] = ()) -> pa.Table:
        """As `query`, as an Arrow table with DuckDB's own types."""
        from ledger.catalog import querying  # noqa: PLC0415 (DuckDB is slow to import)

        self._fill(sql)
        return querying.arrow(self._connection, sql, parameters)

    def trace_libraries(self, run_ids: Collection[str]) -> dict[str, dict[str, str]]:
        """{run: {library: an example of its names in the run's traces}}, of these runs, whose traces are read.

        A run without a trace that can be read is left out; one in which no name tells a library has none. Raises
        StorageError when the cache of traces cannot be written.
        """
        found: dict[str, dict[str, str]] = {}
        for row in self._traces.libraries(run_ids) if self._traces is not None and run_ids else []:
            libraries = found.setdefault(str(row["run_id"]), {})
            if row["library"] is not None:
                libraries.setdefault(str(row["library"]), str(row["example"]))
        return found

    def describe(self) -> list[Column]:
        """Every column of every table and view, tables first, in the order of their definition."""
        from ledger.catalog import querying  # noqa: PLC0415 (DuckDB is slow to import)

        return querying.describe(self._connection)

    def close(self) -> None:
        """Free the memory. A closed catalog cannot be queried."""
        self._connection.close()
        if self._traces is not None:
            self._traces.close()

    def _fill(self, sql: str) -> None:
        """Read the traces if the query asks for what is in them."""
        if self._traces is not None:
            self._traces.fill(sql)

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open(evidence: Path, traces: Path | None = None) -> Catalog:
    """The catalog of all run folders below `evidence`; without runs its tables are empty.

    `traces` is where the tables of traces are kept once they are read (default: in the workspace that holds
    `evidence`); that happens when a query first names `events`, `collectives`, `trace_integrity` or `trace_libraries`.
    Metrics whose definitions are newer than a run are computed beside them and kept in a cache, as `origin: derived`.
    What is broken is left out and named in `Catalog.problems`. Raises InputError when `evidence` is not a readable
    folder.
    """
    from ledger.catalog import derived, loading  # noqa: PLC0415 (DuckDB is slow to import)
    from ledger.catalog.traces import TraceTables  # noqa: PLC0415 (DuckDB is slow to import)

    connection, problems = loading.load(evidence, derived.place(evidence, traces))
    return Catalog(connection, problems, TraceTables(connection, evidence, traces))


def describe() -> list[Column]:
    """The documented columns of any catalog; reads no evidence."""
    from ledger.catalog import loading  # noqa: PLC0415 (DuckDB is slow to import)

    with Catalog(loading.connect(lambda _: ()), ()) as catalog:
        return catalog.describe()
