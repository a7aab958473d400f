"""`stackproof init`: a new workspace, ready to build, from the files in collector/workspace_template."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from collector import new_workspace, repository_tasks
from ledger.errors import InputError

HELP = """Make a workspace in DIR: configuration, benchmarks, evidence, CI workflow, README.

Nothing that is there is overwritten. Outside a git repository one is made, with a first commit.

With `--example repository-tasks` the benchmark is made from a git repository of your own: commits that fixed something
and came with tests become tasks, each the repository before the fix, judged by those tests.

\b
Example:
  stackproof init decisions --example cpu-training
  cd decisions
  stackproof collect cpu-training --profile demo
\b
  stackproof init repairs --example repository-tasks --repository ~/code/mine
"""


@click.command("init", help=HELP, short_help="Make a new workspace.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--example", metavar="NAME", help="Put a complete benchmark into it, such as cpu-training.")
@click.option(
    "--repository",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The repository whose fixes become tasks. [default: the one around the current folder]",
)
@click.option("--most", metavar="N", type=click.IntRange(1, 1000), help="Tasks to make of it. [default: 10]")
@click.option(
    "--check",
    metavar="COMMAND",
    help="How its tests are run; {tests} stands for a fix's test files. [default: pytest]",
)
def command(folder: Path, example: str | None, repository: Path | None, most: int | None, check: str | None) -> None:
    """Make a workspace and say what to do next."""
    if example == repository_tasks.NAME:
        with tempfile.TemporaryDirectory(prefix="suite-") as scratch:
            extra = repository_tasks.contents(Path(scratch), repository or Path(), most or 10, check, click.echo)
            made = new_workspace.make(folder, extra=extra)
    else:
        _refuse({"--repository": repository, "--most": most, "--check": check})
        made = new_workspace.make(folder, example)
    commit = f", first commit {made.commit[:12]}" if made.commit else ""
    click.echo(f"Made a workspace in {folder} ({len(made.files)} files{commit}).")
    for note in made.notes:
        click.echo(f"note: {note}")
    click.echo("Next:")
    for line in _next(folder, example):
        click.echo(f"  {line}")


def _refuse(given: dict[str, object]) -> None:
    """Raise InputError for an option that only one example takes."""
    for option, value in given.items():
        if value is not None:
            what = f"{option} has a meaning only with `--example {repository_tasks.NAME}`"
            raise InputError(what, todo="add that, or leave the option out")


def _next(folder: Path, example: str | None) -> list[str]:
    enter = [] if folder.resolve() == Path.cwd() else [f"cd {folder}"]
    if example is None:
        return [*enter, "write a benchmark into benchmarks/ (see benchmarks/README.md)", "stackproof build"]
    return [*enter, f"stackproof collect {example} --dry-run", f"stackproof collect {example}", "stackproof build"]
