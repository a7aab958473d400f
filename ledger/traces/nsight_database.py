"""Nsight Systems' SQLite export as the tables that its documentation describes, whatever version wrote it.

The file may come from anyone. So it is opened read-only; only plain tables are read, through views of our own that have
every column of the documentation: what a version lacks, or what is not of the column's type, is NULL. Nothing of the
file's own (views, triggers, virtual tables, generated columns) is ever run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ledger import quantity
from ledger.errors import InputError

MAGIC = b"SQLite format 3\0"
EXPORT = "nsys export --type sqlite FILE.nsys-rep"
SQL = Path(__file__).with_name("sql")

TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId streamId correlationId globalPid gridX gridY gridZ "
    "demangledName:name shortName:name mangledName:name",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start end deviceId streamId correlationId globalPid",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId streamId correlationId globalPid bytes copyKind srcKind dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId streamId correlationId globalPid bytes memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid correlationId nameId:name",
    "NVTX_EVENTS": "start end eventType text:text textId globalTid",
    "StringIds": "id:key value:text",
    "TARGET_INFO_GPU": "id name:text totalMemory memoryBandwidth smCount cuDevice computeMajor computeMinor",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid numMultiprocessors",
    "MPI_RANKS": "globalTid rank",
}
"""The tables that are read, with their columns; integers unless another type is named."""

_PROOF = {
    *(name for name in TABLES if name.startswith(("CUPTI_", "NVTX_"))),
    "META_DATA_EXPORT", "ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME",
}  # fmt: skip
"""Tables of which an export has at least one."""

_TYPES = {
    # Far from the ends of 64 bits, so that no difference or sum of two overflows.
    "integer": "CASE WHEN typeof({0}) = 'integer' AND {0} BETWEEN -4611686018427387904 AND 4611686018427387903 "
    "THEN {0} END",
    "text": "CASE WHEN typeof({0}) = 'text' THEN substr({0}, 1, 65536) END",
    "name": "CASE typeof({0}) WHEN 'integer' THEN {0} WHEN 'text' THEN substr({0}, 1, 65536) END",
    "key": "{0}",
}
"""What a column becomes: its values of the right type. A name is the id of a string, or in derived files the string."""

_PATIENCE = 2 * 10**7
_PER_BYTE = 100
"""Instructions that SQLite may run on a file: far more than reading takes, but not without end, as pages that point at
each other could ask for."""
_BETWEEN_CHECKS = 10**6


_ROCPD = "rocpd_"
_MOST_NAMED = 3


def other_than_export(path: Path) -> str | None:
    """What an SQLite file is that is no export, as the end of a sentence; None for an export, a damaged one too."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        _limit(connection, path)
        connection.text_factory = lambda data: data.decode(errors="replace")
        connection.execute("PRAGMA writable_schema = ON")  # lets a file that was cut off be read up to there
        tables = "SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name LIMIT 10000"
        names = [str(name) for (name,) in connection.execute(tables)]
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # the latter of an error's own words
        return None
    finally:
        connection.close()
    if set(names) & _PROOF:
        return None
    if any(name.startswith(_ROCPD) for name in names):
        return "is a rocpd database of ROCm's profiler, which is not read, and no export of Nsight Systems"
    some = ", ".join(quantity.shown(name) for name in names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return f"is an SQLite file with {f'tables {some}' if names else 'no table'}, but no export of Nsight Systems"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The export, closed at the end. Raises InputError when it is damaged at its root or is none."""
    with path.open("rb") as file:
        packed = file.read(len(MAGIC)) != MAGIC
    if packed:
        raise InputError("is a packed SQLite file", where=str(path), todo="unpack it first")
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        _prepare(connection, path)
        yield connection
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    _limit(connection, path)
    connection.text_factory = lambda data: data.decode(errors="replace")
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA writable_schema = ON")  # lets a file that was cut off be read up to there
        names = connection.execute(
            "SELECT name FROM main.sqlite_master WHERE type = 'table' AND sql NOT LIKE 'create virtual%'"
        )
        present = {name for (name,) in names}
        if not present & _PROOF:
            raise InputError(
                "is an SQLite file, but no export of Nsight Systems", where=str(path), todo=f"make one: {EXPORT}"
            )
        for table in TABLES:
            connection.execute(_view(connection, table, table in present))
        connection.execute(query("work"))
    except sqlite3.DatabaseError as error:
        raise InputError(f"is damaged ({error})", where=str(path), todo=f"export it again: {EXPORT}") from None


def _limit(connection: sqlite3.Connection, path: Path) -> None:
    left = [(_PATIENCE + _PER_BYTE * path.stat().st_size) // _BETWEEN_CHECKS]

    def give_up() -> bool:
        left[0] -= 1
        return left[0] < 0

    connection.set_progress_handler(give_up, _BETWEEN_CHECKS)


def _view(connection: sqlite3.Connection, table: str, is_there: bool) -> str:
    """A view with all columns of a table, which hides the file's own under the same name."""
    found = connection.execute("SELECT lower(name) FROM pragma_table_info(?, 'main')", (table,)) if is_there else ()
    present = {name for (name,) in found}
    columns = []
    for column in TABLES[table].split():
        name, _, kind = column.partition(":")
        value = _TYPES[kind or "integer"].format(f'"{name}"') if name.lower() in present else "NULL"
        columns.append(f'{value} AS "{name}"')
    source = f'FROM main."{table}"' if is_there else "WHERE 0"
    return f'CREATE TEMP VIEW "{table}" AS SELECT {", ".join(columns)} {source}'


@cache
def query(name: str) -> str:
    """One of the queries in `sql/`."""
    return (SQL / f"nsight_{name}.sql").read_text(encoding="utf-8")
