"""Running queries on a loaded connection: one SELECT at a time, errors in one line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from ledger.catalog import Column, Result
from ledger.errors import InputError

WHERE = "SQL"
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)


def query(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Any]) -> Result:
    """The rows of one SELECT. Raises InputError."""
    with _reading(connection):
        answer = connection.execute(_only_select(connection, sql), list(parameters))
        description = answer.description or []
        return Result(
            tuple(each[0] for each in description), tuple(str(each[1]) for each in description), answer.fetchall()
        )


def arrow(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Any]) -> pa.Table:
    """The rows of one SELECT as an Arrow table. Raises InputError."""
    with _reading(connection):
        return connection.sql(_only_select(connection, sql).query, params=list(parameters)).to_arrow_table()


@contextmanager
def _reading(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """A transaction that cannot write: a SELECT may hold a DELETE in its WITH."""
    try:
        connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")
    except duckdb.Error as error:
        raise _explain(error) from None


def describe(connection: duckdb.DuckDBPyConnection) -> list[Column]:
    """Every column of the catalog with its comment; usable_runs has those of runs."""
    rows = connection.execute(
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
        " AND database_name <> 'temp' ORDER BY table_oid, column_index"
    ).fetchall()
    titles = dict(
        connection.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal"
            " UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND database_name <> 'temp'"
        ).fetchall()
    )
    runs = {name: comment for table, name, _, comment in rows if table == "runs"}
    return [
        Column(
            table, titles[table] or "", name, type_, comment or (runs.get(name) if table == "usable_runs" else "") or ""
        )
        for table, name, type_, comment in rows
    ]


def _only_select(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    statements = connection.extract_statements(_as_text(sql))
    if not statements:
        raise InputError("is empty", where=WHERE, todo='write a query, such as "SELECT * FROM runs"')
    if len(statements) > 1:
        raise InputError(f"holds {len(statements)} statements", where=WHERE, todo="run one at a time")
    if statements[0].type != duckdb.StatementType.SELECT:
        word = _FIRST_WORD.match(sql)
        what = f"{word[1].upper() if word else statements[0].type.name} is not a query"
        raise InputError(what, where=WHERE, todo="the catalog is read with SELECT only")
    return statements[0]


def _as_text(sql: str) -> str:
    """`sql` as UTF-8 text: a shell that says nothing of UTF-8 hands its bytes over as surrogates. Raises InputError."""
    try:
        sql.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(sql).decode()
        except UnicodeError:
            raise InputError("is not UTF-8 text", where=WHERE, todo="write the query in UTF-8") from None
    return sql


def _explain(error: duckdb.Error) -> InputError:
    """What DuckDB says, without the picture of the query: the message and the names it suggests."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    hint = next((line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))), None)
    return InputError(lines[0], where=WHERE, todo=hint)
