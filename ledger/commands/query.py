"""`stackproof query`: SQL over the evidence."""

from __future__ import annotations

import os
import sys
from importlib import resources
from pathlib import Path

import click

from ledger import catalog, workspace
from ledger.commands import rendering
from ledger.commands.output import check_output
from ledger.durable import storage_errors
from ledger.errors import InputError
from ledger.plain_text import neutral
from ledger.suggestion import nearest

SAVED = resources.files("ledger") / "sql" / "saved"
TITLE = "-- title: "
TEXT = "VARCHAR"


@click.command(name="query")
@click.argument("sql", required=False)
@click.option("--saved", metavar="NAME", help="Run a saved query instead of SQL.")
@click.option("--list", "list_", is_flag=True, help="List the saved queries.")
@click.option("--tables", is_flag=True, help="List every table and column with its meaning.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json", "markdown", "parquet"]),
    default="table",
    show_default=True,
    help="How to print the rows; parquet needs --output.",
)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead of printing.")
@click.option(
    "--evidence",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The evidence folder. Default: the workspace's.",
)
def command(
    sql: str | None,
    saved: str | None,
    list_: bool,
    tables: bool,
    format_: str,
    output: Path | None,
    evidence: Path | None,
) -> None:
    """Run one SELECT over all run folders; `-` reads it from standard input.

    The query reads the catalog's tables: no file, no network, and it changes no setting. Without arguments, lists the
    tables and the saved queries.

    In CSV, NULL is nothing and an empty text is "", and what is no finite number is NaN, Infinity or -Infinity. JSON
    has no such numbers: there they are null, as NULL is.

    \b
    Examples:
      stackproof query "SELECT stack, avg(value) FROM usable_runs JOIN metrics USING (run_id)
                        WHERE metric = 'step_time' AND role = 'timed' GROUP BY stack"
      stackproof query --saved outcomes
      stackproof query --saved step-time --format json
      stackproof query "FROM steps" --format parquet --output steps.parquet
    """
    if sum((sql is not None, saved is not None, list_, tables)) > 1:
        raise click.UsageError("give one of SQL, --saved, --list and --tables")
    if format_ == "parquet" and (output is None or (sql is None and saved is None)):
        raise click.UsageError("--format parquet needs a query and --output FILE")
    if output is not None:
        check_output(output)
    text = _text(sql, saved)
    if text is None:
        _write(_saved_queries() if list_ else _columns() if tables else _overview(), format_, output)
        return
    folder = evidence or workspace.find().evidence
    if output is not None and output.resolve().is_relative_to(folder.resolve()):
        raise InputError("is inside the evidence, where nothing is changed", where=str(output), todo="write elsewhere")
    with open_catalog(folder) as opened:
        if format_ == "parquet" and output is not None:
            _write_parquet(opened, text, output)
        else:
            _write(opened.query(text), format_, output)


def open_catalog(evidence: Path) -> catalog.Catalog:
    """The catalog of evidence that holds something; what is left out is named on standard error. Raises InputError."""
    opened = catalog.open(evidence)
    for problem in opened.problems:
        click.echo(f"warning: {neutral(problem)}", err=True)
    anything = (
        "SELECT run_id FROM runs UNION ALL SELECT batch FROM plans UNION ALL SELECT row_id FROM shortlist LIMIT 1"
    )
    if not opened.query(anything).rows:
        what = "holds no run that can be read" if opened.problems else "holds no run"
        todo = "run `stackproof verify`" if opened.problems else "run `stackproof collect BENCHMARK` first"
        raise InputError(what, where=str(evidence), todo=todo)
    return opened


def saved_names() -> list[str]:
    """Names of the saved queries, sorted."""
    return sorted(each.name.removesuffix(".sql") for each in SAVED.iterdir() if each.name.endswith(".sql"))


def saved_sql(name: str) -> str:
    """A saved query's text. Raises InputError for an unknown name."""
    if name not in saved_names():
        raise InputError(f"no saved query {name!r}", todo=nearest(name, saved_names()))
    return (SAVED / f"{name}.sql").read_text(encoding="utf-8")


def _text(sql: str | None, saved: str | None) -> str | None:
    if saved is not None:
        return saved_sql(saved)
    if sql != "-":
        return sql
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", where="standard input", todo="save the query as UTF-8") from None


def _saved_queries() -> catalog.Result:
    rows: list[tuple[object, ...]] = [
        (name, saved_sql(name).splitlines()[0].removeprefix(TITLE)) for name in saved_names()
    ]
    return catalog.Result(("saved query", "answers"), (TEXT, TEXT), rows)


def _columns() -> catalog.Result:
    rows: list[tuple[object, ...]] = [
        (each.table, each.name, each.type, each.description) for each in catalog.describe()
    ]
    return catalog.Result(("table", "column", "type", "meaning"), (TEXT,) * 4, rows)


def _overview() -> catalog.Result:
    tables = {each.table: each.table_description for each in catalog.describe()}
    rows = [("table", *each) for each in tables.items()] + [("--saved", *each) for each in _saved_queries().rows]
    return catalog.Result(("kind", "name", "holds"), (TEXT,) * 3, rows)


def _write(result: catalog.Result, format_: str, output: Path | None) -> None:
    if output is not None:
        with storage_errors(output):
            aside = _aside(output)
            aside.write_text(rendering.TEXT[format_](result), encoding="utf-8")
            aside.replace(output)
    elif format_ == "table" and sys.stdout.isatty():
        rendering.print_table(result)
    else:
        click.echo(rendering.TEXT[format_](result), nl=False)


def _write_parquet(opened: catalog.Catalog, sql: str, output: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 (slow to import, and other formats do without)
    import pyarrow.parquet as pq  # noqa: PLC0415 (as above)

    rows = opened.arrow(sql)
    aside = _aside(output)
    try:
        with storage_errors(output):
            pq.write_table(rows, aside, compression="zstd")
            aside.replace(output)
    except pa.ArrowNotImplementedError as error:
        what = f"holds a value that Parquet has no type for ({error})"
        raise InputError(what, where="SQL", todo="CAST it to VARCHAR") from None
    finally:
        aside.unlink(missing_ok=True)


def _aside(output: Path) -> Path:
    return output.with_name(f".{output.name}.{os.getpid()}")
