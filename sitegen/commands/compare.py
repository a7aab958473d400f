"""`stackproof compare`: the verdict on each declared comparison, in the terminal or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ledger import benchmark as benchmark_file
from ledger import catalog, workspace
from ledger.benchmark import BenchmarkFile
from ledger.errors import InputError
from sitegen.comparison import judge_file, report


@click.command("compare")
@click.argument("benchmark")
@click.option("--comparison", "slug", metavar="SLUG", help="Only this one, named `baseline-vs-candidate`.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
@click.option("--require-ready", is_flag=True, help="Exit 1 when a verdict is not ready to decide on.")
@click.option("--evidence", type=click.Path(path_type=Path), help="Evidence folder (default: the workspace's).")
@click.pass_context
def command(
    ctx: click.Context, benchmark: str, slug: str | None, form: str, require_ready: bool, evidence: Path | None
) -> None:
    """Judge the comparisons that BENCHMARK declares, from the evidence that there is.

    BENCHMARK is a path or a name in the workspace's benchmarks folder. Exit code 0 for any verdict.

    \b
    Example:
      stackproof compare cpu-training
      stackproof compare cpu-training --comparison eager-vs-compile --format json
    """
    here = workspace.find()
    file = _with_comparisons(benchmark_file.read(here.find_benchmark(benchmark)), slug)
    folder = evidence or here.evidence
    with catalog.open(folder) as opened:
        verdicts = judge_file(opened, file, folder, slug=slug)
    if form == "json":
        click.echo(json.dumps(report.to_json(verdicts), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n\n".join(report.to_text(verdict) for verdict in verdicts))
    if require_ready and not all(verdict.readiness.ready for verdict in verdicts):
        ctx.exit(1)


def _with_comparisons(file: BenchmarkFile, slug: str | None) -> BenchmarkFile:
    """The file, once it is sure that it declares what is asked for. Raises InputError."""
    known = [comparison.slug for comparison in file.benchmark.comparisons]
    if not known:
        todo = "add `comparisons: [{baseline: …, candidate: …, threshold: 5%}]`"
        raise file.error(("comparisons",), "declares no comparison", todo)
    if slug is not None and slug not in known:
        raise InputError(f"no comparison {slug!r}", where=str(file.source.path), todo=f"use one of: {', '.join(known)}")
    return file
