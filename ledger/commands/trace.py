"""`stackproof trace`: where the time goes in trace files by themselves, no run folder needed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import click

from ledger.commands import trace_json, trace_text
from ledger.commands.trace_side import Examined, Side, examined, side
from ledger.durable import storage_errors
from ledger.errors import InputError
from ledger.plain_text import neutral
from ledger.traces.collectives import across
from ledger.traces.difference import difference
from ledger.traces.exporting import export
from ledger.traces.reading import folder_of, format_of, read_each
from ledger.traces.trace import Trace


@click.command(name="trace")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Trace to compare with, the baseline; again for each further rank or launch of it.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="Kernels and operators to list.")
@click.option("--rank", "ranks", multiple=True, metavar="FILE=N", help="Rank of a file that does not tell its own.")
@click.option(
    "--tables",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for events, kernels, launches, steps, collectives and allocations as Parquet, one folder a trace.",
)
def command(
    files: tuple[Path, ...],
    against: tuple[Path, ...],
    format_: str,
    top: int,
    ranks: tuple[str, ...],
    tables: Path | None,
) -> None:
    """Where the time of a step goes in profiler traces: disjoint parts, classes of compute, top kernels and operators.

    Reads what torch.profiler writes (.json, .json.gz, .json.zst), of a GPU or of a CPU, and SQLite exports of Nsight
    Systems; of a file that holds several ranks, each. Traces that say different ranks are taken as the ranks of one
    run and are compared with each other.

    \b
    Examples:
      stackproof trace traces/rank-0.json.gz
      stackproof trace traces/rank-*.json.gz
      stackproof trace mi300.json.gz --against h100.json.gz
    """
    told = _told(ranks, (*files, *against))
    folders = _folders((*files, *against), tables)
    after = _examined(files, told, folders)
    before = _examined(against, told, folders) if against else None
    found = difference(before.profiles, after.profiles) if before else None
    if format_ == "json":
        data = trace_json.document(after, before, found, folders, top)
        click.echo(json.dumps(data, indent=1, allow_nan=False))
        return
    for line in (
        trace_text.compared(after, before, found, top) if before and found else trace_text.explained(after, top)
    ):
        click.echo(line)
    for folder in folders.values():
        click.echo(f"tables: {neutral(str(folder))}")


def _examined(files: Sequence[Path], ranks: dict[Path, int], folders: dict[Path, Path]) -> Side:
    """What the files show; their tables are written on the way."""
    read = chain.from_iterable(_read(path, ranks, folders) for path in files)
    return side([*map(partial(_shown, folders), read)])  # nothing but `_shown` holds a trace


def _shown(folders: dict[Path, Path], trace: Trace) -> Examined:
    """What one trace shows, with its tables."""
    found = examined(trace)
    if trace.path in folders:
        folder = folder_of(folders[trace.path], trace.facts.share)
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            export(folder, trace, found.breakdown, across([found.calls]))
    return found


def _read(path: Path, ranks: dict[Path, int], folders: dict[Path, Path]) -> Iterator[Trace]:
    """The traces of a file, one a rank, with a line on stderr for what goes through the disk."""
    parts = format_of(path).parts(path)
    if parts > 1:
        click.echo(f"{neutral(str(path))}: read by {parts} processes through {tempfile.gettempdir()}", err=True)
    yield from map(partial(_noted, ranks), read_each(path, folders.get(path)))


def _noted(ranks: dict[Path, int], trace: Trace) -> Trace:
    """The trace, with its rank where the command line tells it, and a line on stderr for what it keeps on disk."""
    path, spilled = trace.path, trace.room.spilled
    if spilled:
        size = f"{spilled / 1e9:.1f} GB"
        click.echo(f"{neutral(str(path))}: {size} of columns are kept in {tempfile.gettempdir()} meanwhile", err=True)
    if path in ranks:
        if trace.facts.share is not None:
            raise InputError("holds several ranks", where=str(path), todo="leave --rank out for it: it is of one rank")
        trace.facts.rank = ranks[path]
    return trace


def _told(ranks: Sequence[str], files: Sequence[Path]) -> dict[Path, int]:
    """Ranks by file from the command line."""
    found: dict[Path, int] = {}
    for text in ranks:
        name, _, number = text.rpartition("=")
        if Path(name) not in files or not number.isdecimal():
            raise InputError(f"--rank {text}", todo="write one of the files, '=' and its rank: --rank FILE=0")
        found[Path(name)] = int(number)
    return found


def _folders(files: Sequence[Path], tables: Path | None) -> dict[Path, Path]:
    """Where each file's tables go: a new folder below `tables`, named after the file."""
    if tables is None:
        return {}
    found: dict[Path, Path] = {}
    for path in dict.fromkeys(files):
        stem = path.name.split(".json")[0] or path.name
        same = sum(each.name.startswith(stem) for each in found.values())
        folder = tables / (f"{stem}-{same + 1}" if any(each.name == stem for each in found.values()) else stem)
        if any(folder.glob("*.parquet")):
            raise InputError("already holds tables", where=str(folder), todo="name another folder, or remove this one")
        found[path] = folder
    return found
