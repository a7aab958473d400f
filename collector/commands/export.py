"""`stackproof export`: runs in the files of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from collector.importers import ccl_bench_writing
from ledger import verify, workspace
from ledger.errors import EvidenceError
from ledger.plain_text import neutral


@click.command("export", short_help="Write runs as the files of another tool.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--as", "form", type=click.Choice(["ccl-bench"]), required=True, help="Which tool's files to write.")
@click.option(
    "--output", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new folder to write them into."
)
@click.option("--evidence", type=click.Path(path_type=Path), help="The evidence folder; default: the workspace's.")
def command(runs: tuple[str, ...], form: str, output: Path, evidence: Path | None) -> None:
    """Write runs as the files of another tool: of CCL-Bench a workload card each, and a row for what completed.

    RUN is a run's id, its first digits, or its folder. Each run is verified first.

    \b
    Example:
      stackproof export 0123456789abcdef --as ccl-bench --output ccl-bench
    """
    folders = verify.find_runs(evidence if evidence is not None else workspace.find().evidence, runs)
    for folder in folders:
        findings = verify.check_run(folder).findings
        if findings:
            todo = f"see `stackproof verify {folder.run_id}`"
            raise EvidenceError(f"is not as it was sealed ({findings[0].what})", where=folder.name, todo=todo)
    cards, rows = ccl_bench_writing.write(folders, output)
    failed = cards - rows
    click.echo(neutral(f"wrote {output}: {cards} cards and {rows} rows ({form})"))
    if failed:
        click.echo(f"{failed} failed runs have a card with `runs:` and no row, as {form} keeps them")
