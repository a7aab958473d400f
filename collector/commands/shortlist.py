"""`stackproof shortlist`: candidate stacks from imported public results, drafted into a benchmark file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from collector.shortlist import drafting
from collector.shortlist.choosing import Choice, choose
from collector.shortlist.drafting import Drafted
from ledger import benchmark as benchmark_file
from ledger import catalog, shortlist
from ledger import workspace as workspaces
from ledger.errors import InputError
from ledger.plain_text import neutral
from ledger.public import LABEL
from ledger.shortlist import Asked

SUFFIXES = (".yaml", ".yml")


@click.command("shortlist", short_help="Draft stacks from public results into a benchmark file.")
@click.argument("benchmark")
@click.option("--most", type=click.IntRange(1, 100), default=5, show_default=True, help="Stacks to draft at most.")
@click.option("--hardware", metavar="CLASS", help="Only rows of this class of hardware, device or vendor.")
@click.option("--model", metavar="NAME", help="Only rows of this model's family and size, instead of the file's.")
@click.option(
    "--phase",
    type=click.Choice(["train", "serve"]),
    help="Only rows of this work, for a file that does not say its own.",
)
@click.option(
    "--row", "named", multiple=True, metavar="ROW", help="This public row, whatever it fits (may be repeated)."
)
@click.option("--dry-run", is_flag=True, help="Print what would be added; write nothing.")
@click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What to print."
)
def command(
    benchmark: str,
    most: int,
    hardware: str | None,
    model: str | None,
    phase: str | None,
    named: tuple[str, ...],
    dry_run: bool,
    output: str,
) -> None:
    """Draft stacks from imported public results into BENCHMARK, a file or a name in the workspace's benchmarks.

    Rows that fit the file's work become stacks with the adapter for their framework. The file keeps every line that it
    has; a stack that could not be launched as it is goes in as a comment. A file that is not there is made, as a draft.
    Rows that the file names already are not added again.

    Public results are not verified here: they choose candidates, and no verdict ever rests on them.

    \b
    Examples:
      stackproof shortlist cpu-training --dry-run
      stackproof shortlist llama-training --phase train --model llama-3.1-8b --hardware A100
    """
    workspace = workspaces.find()
    with catalog.open(workspace.evidence) as index:
        rows = shortlist.read(index)
        problems = [each for each in index.problems if each.startswith("public/")]
    for problem in problems:
        click.echo(f"warning: {neutral(problem)}", err=True)
    if not rows:
        todo = "import one first, such as `stackproof import auto PATH`"
        raise InputError("holds no public result", where=str(workspace.root), todo=todo)
    path = _path(workspace, benchmark)
    if path.is_file():
        file = benchmark_file.read(path)
        kind = file.benchmark.workload.kind
        if phase is not None and kind not in (phase, "command"):
            what = f"is a `{kind}` benchmark, not `{phase}`"
            raise InputError(what, where=str(path), todo="leave --phase out, or name a new file")
        wanted = shortlist.asked(file.benchmark, hardware, model, rows)
        choice = choose(rows, replace(wanted, kind=phase or wanted.kind), named, most)
        drafted = drafting.into(file, [entry.row for entry in choice.entries], rows)
    else:
        choice = choose(rows, Asked(phase, model, hardware), named, most, of_one_kind=True)
        drafted = drafting.new(path, [entry.row for entry in choice.entries])
    if not dry_run and drafted.after != drafted.before:
        drafting.write(drafted)
    if output == "json":
        click.echo(json.dumps(_summary(drafted, choice, dry_run), indent=1))
        return
    for line in _lines(drafted, choice, dry_run):
        click.echo(line)


def _path(workspace: workspaces.Workspace, benchmark: str) -> Path:
    """The file that is there, or the one to be made."""
    path = Path(benchmark)
    if path.suffix not in SUFFIXES:
        path = path if path.is_file() else workspace.benchmarks / f"{benchmark}.yaml"
    if path.exists() and not path.is_file():
        raise InputError("is no file", where=str(path), todo="name a benchmark file")
    return path


def _summary(drafted: Drafted, choice: Choice, dry_run: bool) -> dict[str, Any]:
    ranks = {entry.row.link: entry.rank for entry in choice.entries}
    return {
        "file": str(drafted.path),
        "label": LABEL,
        "new_file": drafted.before is None,
        "written": not dry_run and drafted.after != drafted.before,
        "fitting": choice.fitting,
        "left_out": choice.left_out,
        "unranked": choice.unranked,
        "added": [
            {
                "stack": each.name,
                "public": each.row.link,
                "source": each.row.source,
                "rank": ranks[each.row.link],
                "adapter": each.adapter,
                "settings": each.settings,
                "active": each.inactive is None,
                "why_not": each.inactive,
                "not_carried": list(each.not_carried),
                "todo": list(each.todo),
            }
            for each in drafted.added
        ],
        "there_already": [row.link for row in drafted.there],
    }


def _lines(drafted: Drafted, choice: Choice, dry_run: bool) -> list[str]:
    lines = [f"{LABEL}: {choice.fitting} public row{'' if choice.fitting == 1 else 's'} fit"]
    lines += [f"  left out: {count} {why}" for why, count in choice.left_out.items()]
    if choice.entries and choice.unranked:
        lines.append(f"  no order: {choice.unranked}; rows that fit in most and show most come first")
    if dry_run and drafted.shown:
        # Its line ends are its own; only what a terminal would act on is spelled out.
        lines += [neutral(line) for line in drafted.shown.split("\n")]
    for each in drafted.added:
        state = f"a comment: {each.inactive}" if each.inactive else each.adapter
        lines.append(f"  {'would add' if dry_run else 'added'} {each.name} ({state})")
    lines += [f"  there already: {row.link}" for row in drafted.there]
    missing = Counter(each.split("=")[0] for draft in drafted.added for each in draft.not_carried)
    if missing:
        lines.append(f"  not carried over: {', '.join(f'{name} ({count})' for name, count in missing.most_common(8))}")
    if dry_run:
        return [*map(neutral, lines), "nothing written: this was a dry run"]
    if drafted.after == drafted.before:
        return [*map(neutral, lines), f"nothing to add to {drafted.path}"]
    done = "made" if drafted.before is None else "wrote"
    return [*map(neutral, lines), f"{done} {drafted.path}; next: stackproof collect {drafted.path.stem} --dry-run"]
