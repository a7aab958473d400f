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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from ledger import traces, workspace
from ledger.durable import storage_errors
from ledger.errors import EvidenceError, InputError
from ledger.traces.cache import Cached, cached
from ledger.traces.interface import EVENTS

EVENTS_SOURCE = "trace_events"
"""What the view `events` reads: a name that is registered anew once the traces are there."""

_ASKED = re.compile(r"\bevents\b", re.IGNORECASE)
_SCHEMA = pa.schema(
    [("run_id", pa.string()), ("rank", pa.int32())]
    + [(each.name, each.type.value_type if pa.types.is_dictionary(each.type) else each.type) for each in EVENTS]
)


@dataclass(frozen=True)
class SealedTrace:
    """A trace file as its run's manifest states it."""

    run_id: str
    file: str
    """Path within the run folder."""
    sha256: str
    path: Path

    def read(self, root: Path) -> Cached:
        """Its tables, from the cache below `root`. Raises EvidenceError or InputError when there is nothing to read."""
        if self.path.is_symlink() or not self.path.is_file():
            raise EvidenceError("is not in the run folder", where=str(self.path))
        if self.path.name.endswith(".external.json"):
            raise EvidenceError("is kept elsewhere", where=str(self.path))
        with storage_errors(root):
            found = cached(self.path, root)
        if found.digest != self.sha256:
            raise EvidenceError("is not what was sealed", where=str(self.path))
        return found


class TraceTables:
    """Fills the tables of one connection. `root` is the folder of the trace cache; None: that of the workspace."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, evidence: Path, root: Path | None = None) -> None:
        self._connection, self._evidence, self._root = connection, evidence, root
        self._filled = False
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def fill(self, sql: str) -> None:
        """Fill what `sql` names and is not there yet. Raises StorageError when the cache cannot be written."""
        if not self._filled and _ASKED.search(sql):
            self._filled = True
            self._fill_events()

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
