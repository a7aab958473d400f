"""The catalog's tables about traces, filled when a query first names one of them.

Reading traces takes long, and most queries do not ask for them. So a query's text is searched for the names of these
tables as whole words, in any case. That never misses a plain mention, quoted or in `DESCRIBE`, `SUMMARIZE` or
`query_table('events')`, as DuckDB's own list of a statement's tables does; a column or a literal of the same name costs
only time. Events stay in the Parquet files of the trace cache: DuckDB gets them as an Arrow dataset, so that the
connection itself still has no access to files.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterator
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from ledger import traces, workspace
from ledger.catalog.arrow import Row, schemas, to_arrow
from ledger.catalog.sealed_trace import SealedTrace
from ledger.errors import EvidenceError, InputError
from ledger.traces.cache import Cached
from ledger.traces.interface import EVENTS

EVENTS_SOURCE = "trace_events"
"""What the view `events` reads: a name that is registered anew once the traces are there."""

_ASKED = re.compile(r"\b(events|trace_integrity|collectives|trace_libraries)\b", re.IGNORECASE)
_SCHEMA = pa.schema(
    [("run_id", pa.string()), ("rank", pa.int32())]
    + [(each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type) for each in EVENTS]
)


class TraceTables:
    """Fills the tables of one connection. `root` is the folder of the trace cache; None: that of the workspace."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, evidence: Path, root: Path | None = None) -> None:
        self._connection, self._evidence, self._root = connection, evidence, root
        self._filled: set[str] = set()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def fill(self, sql: str) -> None:
        """Fill what `sql` names and is not there yet. Raises StorageError when the cache cannot be written."""
        for name in sorted({found.lower() for found in _ASKED.findall(sql)} - self._filled):
            if name == "events":
                self._fill_events()
            else:
                self._fill_table(name)
            self._filled.add(name)

    def libraries(self, run_ids: Collection[str]) -> list[Row]:
        """Rows of trace_libraries of these runs only, so that no other trace is read."""
        from ledger.catalog.trace_rows import library_rows  # noqa: PLC0415 (slow to import)

        rows: list[Row] = []
        for run_id, sealed in groupby(self._sealed(), key=lambda trace: trace.run_id):
            if run_id in run_ids:
                rows += library_rows(run_id, list(sealed), self.root)
        return rows

    def close(self) -> None:
        """Remove what was cached for this connection only."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def _sealed(self) -> Iterator[SealedTrace]:
        rows = self._connection.execute(
            "SELECT run_id, runs.path, files.path, sha256 FROM files JOIN runs USING (run_id)"
            " WHERE files.path GLOB ? ORDER BY ALL",
            [traces.PATTERN],
        ).fetchall()
        for run_id, folder, file, sha256 in rows:
            yield SealedTrace(run_id, file, sha256, self._evidence / folder / file)

    def _fill_events(self) -> None:
        fragments: list[ds.Fragment] = []
        for trace in self._sealed():
            try:
                fragments += _fragments(trace.run_id, trace.read(self.root))
            except (EvidenceError, InputError):
                continue  # trace_integrity names it
        dataset = ds.FileSystemDataset(fragments, _SCHEMA, ds.ParquetFileFormat(), LocalFileSystem())
        self._connection.unregister(EVENTS_SOURCE)
        self._connection.register(EVENTS_SOURCE, dataset)

    def _fill_table(self, name: str) -> None:
        from ledger.catalog.trace_rows import ROWS  # noqa: PLC0415 (slow to import, and most queries do without)

        rows: list[Row] = []
        for run_id, sealed in groupby(self._sealed(), key=lambda trace: trace.run_id):
            rows += ROWS[name](run_id, list(sealed), self.root)
        self._connection.register("incoming", to_arrow(rows, schemas(self._connection)[name]))
        self._connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM incoming")
        self._connection.unregister("incoming")

    @property
    def root(self) -> Path:
        """The folder of the cache; outside of a workspace, or in one that cannot be written, a temporary one."""
        if self._root is None or not _is_writable(self._root):
            self._root = _cache_of(self._evidence)
        if self._root is None or not _is_writable(self._root):
            self._temporary = tempfile.TemporaryDirectory(prefix="stackproof-traces-")
            self._root = Path(self._temporary.name)
        return self._root


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the names that the views about traces read, without a row."""
    connection.register(EVENTS_SOURCE, _SCHEMA.empty_table())


def _fragments(run_id: str, found: Cached) -> Iterator[ds.Fragment]:
    """The Parquet files of a trace, with the run and the rank as columns that every row of theirs has."""
    rank = ds.field("rank")
    known = rank.is_null() if found.facts.rank is None else rank == found.facts.rank
    for path in found.files("events"):
        yield ds.ParquetFileFormat().make_fragment(str(path), LocalFileSystem(), (ds.field("run_id") == run_id) & known)


def _cache_of(evidence: Path) -> Path | None:
    """The trace cache of the workspace that holds the evidence; None where there is no workspace."""
    try:
        return workspace.find(evidence).traces
    except InputError:
        return None


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
