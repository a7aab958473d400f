"""`stackproof init`: a new workspace, ready to build, from the files in collector/workspace_template."""

from __future__ import annotations

from pathlib import Path

import click

from collector import new_workspace

HELP = """Make a workspace in DIR: configuration, benchmarks, evidence, CI workflow, README.

Nothing that is there is overwritten. Outside a git repository one is made, with a first commit.

\b
Example:
  stackproof init decisions --example cpu-training
  cd decisions
  stackproof collect cpu-training --profile demo
"""


@click.command("init", help=HELP, short_help="Make a new workspace.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--example", metavar="NAME", help="Put a complete benchmark into it, such as cpu-training.")
def command(folder: Path, example: str | None) -> None:
    """Make a workspace and say what to do next."""
    made = new_workspace.make(folder, example)
    commit = f", first commit {made.commit[:12]}" if made.commit else ""
    click.echo(f"Made a workspace in {folder} ({len(made.files)} files{commit}).")
    for note in made.notes:
        click.echo(f"note: {note}")
    click.echo("Next:")
    for line in _next(folder, example):
        click.echo(f"  {line}")


def _next(folder: Path, example: str | None) -> list[str]:
    enter = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    if example is None:
        return [*enter, "write a benchmark into benchmarks/ (see benchmarks/README.md)", "stackproof build"]
    return [*enter, f"stackproof collect {example} --dry-run", f"stackproof collect {example}", "stackproof build"]
