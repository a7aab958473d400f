"""Arrow tables with the columns and types that tables.sql declares: the one place where types are stated."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

Row = dict[str, object]
Tables = dict[str, pa.Table]
"""{catalog table: rows for it}."""


def schemas(connection: duckdb.DuckDBPyConnection) -> dict[str, pa.Schema]:
    """The Arrow schema of every table; a NOT NULL column is not nullable."""
    required = set(
        connection.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT is_nullable").fetchall()
    )
    names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    found = {name: connection.table(name).to_arrow_table().schema for name in names}
    return {
        name: pa.schema([each.with_nullable((name, each.name) not in required) for each in schema])
        for name, schema in found.items()
    }


def to_arrow(rows: list[Row], schema: pa.Schema, common: Mapping[str, object] | None = None) -> pa.Table:
    """Rows as a table, `common` added to each. Raises ValueError or TypeError when a value does not fit its column."""
    fill = common or {}
    columns = [
        pa.array([fill[each.name]] * len(rows) if each.name in fill else [row[each.name] for row in rows], each.type)
        for each in schema
    ]
    for each, column in zip(schema, columns, strict=True):
        if column.null_count and not each.nullable:
            raise ValueError(f"{each.name} is null")
    return pa.Table.from_arrays(columns, schema=schema)
