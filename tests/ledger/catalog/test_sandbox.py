"""SQL from the command line reads the catalog and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import catalog
from ledger.catalog import Catalog
from ledger.errors import InputError
from tests.factory import make_run


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Catalog]:
    make_run(tmp_path / "evidence")
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with catalog.open(tmp_path / "evidence") as found:
        yield found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SELECT * FROM read_text('{folder}/secret.csv')",
        "SELECT * FROM read_blob('{folder}/secret.csv')",
        "SELECT * FROM sniff_csv('{folder}/secret.csv')",
        "SELECT * FROM '{folder}/secret.csv'",
        "SELECT * FROM query_table('{folder}/secret.csv')",
        "SELECT * FROM query('SELECT * FROM read_csv(''{folder}/secret.csv'')')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_json('{folder}/secret.csv')",
        "SELECT * FROM read_parquet('{folder}/evidence/**/steps.parquet')",
        "SELECT * FROM parquet_metadata('{folder}/evidence/**/steps.parquet')",
        "SELECT * FROM read_csv('https://127.0.0.1/secret.csv')",
        "SELECT getenv('HOME')",
        "COPY runs TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{folder}/out.parquet'",
        "EXPORT DATABASE '{folder}/out'",
        "IMPORT DATABASE '{folder}'",
        "ATTACH '{folder}/out.duckdb' AS out",
        "ATTACH ':memory:' AS out",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        "PRAGMA enable_profiling = 'json'",
        "PRAGMA database_list",
        "CALL enable_logging(storage = 'file', storage_path = '{folder}/out')",
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '{folder}/out')",
        "CREATE SECRET (TYPE http)",
        "CREATE TABLE out AS SELECT 1",
        "INSERT INTO runs SELECT * FROM runs",
        "DELETE FROM runs",
        "DROP TABLE runs",
        "UPDATE runs SET stack = 'x'",
        "WITH gone AS (DELETE FROM runs RETURNING *) SELECT * FROM gone",
        "EXPLAIN ANALYZE DELETE FROM runs",
        "EXPLAIN ANALYZE COPY runs TO '{folder}/out.csv'",
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY runs TO '{folder}/out.csv'",
        "COMMIT; DELETE FROM runs",
        "COMMIT",
        "BEGIN",
        "",
        "-- nothing",
    ],
)
def test_it_reads_and_writes_nothing_else(opened: Catalog, tmp_path: Path, sql: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError):
        opened.query(sql.format(folder=tmp_path))
    with pytest.raises(InputError):
        opened.arrow(sql.format(folder=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before
    assert opened.query("SELECT count(*), min(stack) FROM runs").rows == [(1, "slow")]


def test_a_table_name_never_means_a_variable_of_the_program(opened: Catalog) -> None:
    import pyarrow as pa

    leaked = pa.table({"secret": [1]})
    assert leaked.num_rows == 1
    with pytest.raises(InputError, match="leaked"):
        opened.query("SELECT * FROM leaked")


@pytest.mark.parametrize(
    "sql",
    ["FROM runs", "DESCRIBE runs", "SHOW TABLES", "SUMMARIZE runs", "WITH a AS (SELECT 1) FROM a", "SELECT 1;"],
)
def test_what_only_reads_works(opened: Catalog, sql: str) -> None:
    assert opened.query(sql).rows


def test_a_query_goes_on_after_one_that_failed(opened: Catalog) -> None:
    with pytest.raises(InputError, match="stopped"):
        opened.query("SELECT error('stopped')")
    assert opened.query("SELECT 1").rows == [(1,)]
