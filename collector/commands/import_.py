"""`stackproof import`: what others have published, kept apart from own evidence and labelled with its source."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from collector.commands import import_launch
from collector.importers import compare_file, registry, row_launches, work_file
from collector.importers.compare_file import Drafted
from collector.importers.files import Files
from collector.importers.interface import CollectionImporter, Facts
from collector.importers.traces import TraceImporter
from ledger import public, workspace
from ledger.errors import InputError
from ledger.plain_text import neutral
from ledger.public import LABEL, Collection
from ledger.workspace import Workspace

SHOWN = 5
"""Problems printed of each kind; `--format json` has all."""


@dataclass(frozen=True)
class _Taken:
    path: Path
    why: str | None
    collection: Collection
    file: Path | None = None
    new: bool = False
    drafted: tuple[Drafted, ...] = ()
    """Benchmarks of its rows."""
    made: tuple[Path, ...] = ()
    """Benchmark files and run folders that are new."""


@click.command("import", short_help="Take over public results of others.")
@click.argument("format_name", metavar="FORMAT")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be taken and what is missing; write nothing.")
@click.option(
    "--work", type=click.Path(path_type=Path), metavar="FILE", help="What one step does in which rows (YAML)."
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rows that become stacks of benchmarks, such as compare.yaml.",
)
@click.option("--commit", metavar="TEXT", help="The commit of the source that the files are from.")
@click.option("--source-version", metavar="TEXT", help="The version of the source that the files are from.")
@click.option("--licence", metavar="TEXT", help="The licence that the files are published under.")
@click.option("--benchmark", metavar="NAME", help="Of `trace`: the benchmark, such as `loaders`, that has the stack.")
@click.option("--stack", metavar="NAME", help="Of `trace`: the stack, declared with `adapter: imported`.")
@click.option("--source", metavar="TEXT", help="Of `trace`: where the files come from; shown wherever they are.")
@click.option("--card", type=click.Path(path_type=Path), metavar="FILE", help="Of `trace`: what else is known (YAML).")
@click.option("--host", metavar="NAME", help="Of `trace`: the machine that ran it, where that is known.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(
    format_name: str,
    paths: tuple[Path, ...],
    dry_run: bool,
    work: Path | None,
    compare: Path | None,
    commit: str | None,
    source_version: str | None,
    licence: str | None,
    style: str,
    **launch: Any,
) -> None:
    """Take over public results: each PATH, a file or a folder, becomes one file in public/, or none at all.

    FORMAT is `auto`, or one of the formats that `docs/importing.md` describes. What is taken stays apart from own
    evidence, under its source's definitions, and is asked by `stackproof query "FROM shortlist"`. Importing the same
    files again changes nothing.

    \b
    A source that does not tell how much a step does can be helped with --work:
      work_per_step:
        - {rows: "*_titan_best/*", samples: 32, tokens: 32768, source: "its launch script"}

    With --compare rows become stacks of benchmarks: a benchmark file and run folders, each labelled, never a win.

    Traces of one launch, one PATH a rank, become a run folder instead: evidence of a stack with `adapter: imported`.

    \b
    Example:
      stackproof import auto ccl-bench --dry-run
      stackproof import ccl-bench ccl-bench --commit 1f00d5e --licence Apache-2.0
      stackproof import ccl-bench ccl-bench --compare compare.yaml --work work.yaml
      stackproof import trace rank-0.json.gz --benchmark loaders --stack workers-0 --source "Kineto samples (BSD-3)"
    """
    if _is_launch(format_name, paths):
        _refuse("trace", work=work, compare=compare)
        options = import_launch.Options(**launch, version=source_version, commit=commit, licence=licence)
        for line in import_launch.run(paths, options, dry_run=dry_run, as_json=style == "json"):
            click.echo(neutral(line))
        return
    _refuse("public results", **launch)
    here = workspace.find() if not dry_run else None
    stated, files = work_file.read(work) if work else ((), None)
    facts = Facts(source_version, commit, licence, stated, (files,) if files else ())
    taken = [_read(format_name, path, facts) for path in paths]
    if compare is not None:
        taken = [replace(each, drafted=tuple(compare_file.read(compare, each.collection))) for each in taken]
    if here is not None:
        taken = [_store(each, here) for each in taken]
    if style == "json":
        click.echo(json.dumps([_summary(each) for each in taken], indent=1))
        return
    for each in taken:
        for line in _lines(each, dry_run):
            click.echo(neutral(line))


def _is_launch(format_name: str, paths: tuple[Path, ...]) -> bool:
    """Whether the paths together are one launch, which becomes a run folder."""
    importer = registry.recognise(paths[0])[0] if format_name == registry.AUTO else registry.get(format_name)
    return isinstance(importer, TraceImporter)


def _refuse(what: str, **options: object) -> None:
    """Raise InputError for an option that says nothing about what is imported."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"--{name} says nothing about {what}", todo="leave it out, or name another format")


def _read(format_name: str, path: Path, facts: Facts) -> _Taken:
    why = None
    if format_name == registry.AUTO:
        importer, match = registry.recognise(path)
        why = match.why
    else:
        importer = registry.get(format_name)
    if not isinstance(importer, CollectionImporter):
        raise InputError(f"{importer.name} makes no collection", where=str(path), todo="name another format")
    return _Taken(path, why, importer.read(Files(path), facts))


def _store(taken: _Taken, here: Workspace) -> _Taken:
    file, new = public.write(taken.collection, here.root / public.FOLDER)
    made = [each for drafted in taken.drafted for each in row_launches.write(here, drafted, taken.collection)]
    return replace(taken, file=file, new=new, made=tuple(path for path, is_new in made if is_new))


def _summary(taken: _Taken) -> dict[str, Any]:
    collection = taken.collection
    return {
        "path": str(taken.path),
        "source": collection.source,
        "recognised_by": taken.why,
        "label": LABEL,
        "digest": collection.digest,
        "file": str(taken.file) if taken.file else None,
        "new": taken.new if taken.file else None,
        "benchmarks": {
            each.file.benchmark.name: {stack: chosen.row.id for stack, chosen in each.rows.items()}
            for each in taken.drafted
        },
        "made": [str(path) for path in taken.made],
        "files": len(collection.origin.files),
        "rows": len(collection.rows),
        "states": dict(Counter(row.state for row in collection.rows)),
        "metrics": {
            each.metric: {
                "name": each.name,
                "unit": each.unit,
                "values": sum(each.metric in row.values for row in collection.rows),
                "missing": dict(
                    Counter(row.missing[each.metric] for row in collection.rows if each.metric in row.missing)
                ),
                "note": each.note,
            }
            for each in collection.quantities
        },
        "shows": {topic: sum(topic in row.shows for row in collection.rows) for topic in public.TOPICS},
        "problems": [
            *({"row": None, "code": each.code, "what": each.what} for each in collection.problems),
            *(
                {"row": row.id, "code": each.code, "what": each.what}
                for row in collection.rows
                for each in row.problems
            ),
        ],
    }


def _lines(taken: _Taken, dry_run: bool) -> list[str]:
    summary = _summary(taken)
    states = ", ".join(f"{count} {state}" for state, count in sorted(summary["states"].items()))
    lines = [
        f"{taken.path}: {taken.collection.source} ({taken.why or taken.collection.title})",
        f"  {LABEL}: {summary['rows']} rows ({states}) from {summary['files']} files",
    ]
    for metric, told in summary["metrics"].items():
        missing = sum(told["missing"].values())
        note = "" if told["note"] is None else "; not ours" if "@" in metric else "; see its note"
        lines.append(f"  {metric:<36} {told['values']:>6} values, {missing} missing [{told['unit']}]{note}")
    for topic, count in summary["shows"].items():
        lines.append(f"  {topic.replace('_', ' '):<36} {count:>6} of {summary['rows']} rows can show it")
    lines += _problem_lines(summary["problems"])
    for name, rows in summary["benchmarks"].items():
        lines.append(f"  benchmark {name}:")
        lines += [f"    {stack}: {row}" for stack, row in rows.items()]
    if taken.made:
        lines.append(
            f"  {len(taken.made)} benchmark files and run folders are new; `stackproof build` writes their pages"
        )
    if dry_run:
        lines.append("  nothing written: this was a dry run")
    elif taken.new:
        lines.append(f"  wrote {taken.file}")
    else:
        lines.append(f"  was there already: {taken.file}")
    return lines


def _problem_lines(problems: list[dict[str, Any]]) -> list[str]:
    lines = []
    for code, count in Counter(each["code"] for each in problems).items():
        lines.append(f"  {code.replace('_', ' ')}: {count}")
        shown = [each for each in problems if each["code"] == code][:SHOWN]
        lines += [f"    {each['row']}: {each['what']}" if each["row"] else f"    {each['what']}" for each in shown]
        if count > len(shown):
            lines.append(f"    and {count - len(shown)} more (--format json has all)")
    return lines
