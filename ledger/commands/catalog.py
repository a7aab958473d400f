"""`stackproof catalog`: the index over run folders."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from ledger import catalog, workspace
from ledger.commands import rendering
from ledger.commands.group import Group
from ledger.commands.query import open_catalog


@click.group(name="catalog", cls=Group)
def command() -> None:
    """The index over the run folders.

    \b
    Example:
      stackproof catalog rebuild
    """


@command.command()
@click.option(
    "--evidence", type=click.Path(path_type=Path), metavar="DIR", help="The evidence folder. Default: the workspace's."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
def rebuild(evidence: Path | None, format_: str) -> int:
    """Read all run folders again and say what is in them.

    The catalog is made from the folders in memory whenever it is asked, so it is never out of date: this reads every
    folder, checks what it reads against the manifests, and counts the rows. Kept on disk, in .stackproof, are only
    tables of traces and metrics of definitions that are newer than their runs. Exits with 1 when something had to be
    left out.

    \b
    Example:
      stackproof catalog rebuild --format json
    """
    folder = evidence or workspace.find().evidence
    start = time.monotonic()
    with open_catalog(folder) as opened:
        counts = _counts(opened)
        seconds = time.monotonic() - start
        if format_ == "json":
            data = {"seconds": round(seconds, 3), "rows": dict(counts.rows), "problems": opened.problems}
            click.echo(json.dumps(data, indent=1))
        elif sys.stdout.isatty():
            rendering.print_table(counts)
        else:
            click.echo(rendering.as_text(counts), nl=False)
        left_out = f", {len(opened.problems)} left out" if opened.problems else ""
        if format_ == "table":
            click.echo(f"read {dict(counts.rows)['runs']} run folders in {seconds:.1f} s{left_out}")
        return 1 if opened.problems else 0


def _counts(opened: catalog.Catalog) -> catalog.Result:
    tables = dict.fromkeys(each.table for each in opened.describe())
    rows = [(table, opened.query(f"SELECT count(*) FROM {table}").rows[0][0]) for table in tables]
    return catalog.Result(("table", "rows"), ("VARCHAR", "BIGINT"), rows)
