"""`stackproof verify`: is the evidence what was sealed?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from ledger import append_only, layout, verify, workspace
from ledger.errors import InputError, StackproofError
from ledger.finding import Finding
from ledger.plain_text import neutral
from ledger.recompute import recompute
from ledger.run_folder import RunFolder
from ledger.secrets import Redactor
from ledger.verify import RunCheck


@dataclass
class _Outcome:
    """What is printed at the end."""

    checks: tuple[RunCheck, ...]
    findings: list[Finding]
    files: int
    warnings: tuple[Finding, ...] = ()

    @property
    def redacted(self) -> list[str]:
        return [f"{check.folder.name}/{name}" for check in self.checks for name in check.redacted]


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--recompute", "again", is_flag=True, help="Derive the sealed metrics again and compare.")
@click.option("--secrets", "scan", is_flag=True, help="Look for tokens, passwords and keys in every file.")
@click.option("--base", metavar="REV", help="Check also that nothing which REV holds was changed or deleted.")
@click.option("--evidence", type=click.Path(path_type=Path), help="The evidence folder; default: the workspace's.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it."
)
def command(runs: tuple[str, ...], again: bool, scan: bool, base: str | None, evidence: Path | None, style: str) -> int:
    """Check that run folders are what was sealed: every byte, name and place.

    RUN is a run's id, its first digits, or its folder; without any, all evidence is checked: what lies between the
    runs, plans and status records too.

    \b
    Exit code: 0 as sealed, 1 something is wrong, 2 it could not be checked.

    \b
    Example: stackproof verify --base origin/main
    """
    folder = evidence if evidence is not None else workspace.find().evidence
    outcome = _some(folder, runs) if runs else _all(folder, allow_empty=base is not None)
    for check in outcome.checks:
        if again and not check.findings:
            outcome.findings += recompute(check.folder, check.redacted)
    if scan:
        outcome.findings += _secrets([check.folder.path for check in outcome.checks] if runs else [folder], folder)
    if base is not None:
        outcome.findings += append_only.check(folder, base).findings
    _print_json(outcome) if style == "json" else _print_text(outcome, again=again, scan=scan, base=base)
    return 1 if outcome.findings else 0


def _some(evidence: Path, runs: tuple[str, ...]) -> _Outcome:
    checks = tuple(verify.check_run(folder) for folder in _progress(verify.find_runs(evidence, runs)))
    findings = [finding for check in checks for finding in check.findings]
    return _Outcome(checks, findings, sum(check.files for check in checks))


def _all(evidence: Path, *, allow_empty: bool) -> _Outcome:
    report = verify.verify_evidence(evidence, _progress)
    if not (report.checks or report.findings or report.plans or allow_empty):
        raise InputError("holds no run", where=str(evidence), todo="run `stackproof collect BENCHMARK` first")
    return _Outcome(report.checks, list(report.findings), report.files, report.warnings)


def _progress(folders: list[RunFolder]) -> Iterator[RunFolder]:
    """Pass run folders through, with a progress bar on a terminal."""
    console = Console(stderr=True)
    return iter(
        track(folders, "Checking", console=console, transient=True, disable=not console.is_terminal, show_speed=False)
    )


def _secrets(folders: list[Path], evidence: Path) -> Iterator[Finding]:
    """Secrets in any file below `folders`; the values of this process's own secret variables count too."""
    redactor = Redactor(os.environ)
    for folder in folders:
        for name, kind in layout.walk(folder):
            if kind != "file" or name.split("/")[0] in layout.LOCAL:
                continue
            path = (folder / name).relative_to(evidence) if folder.is_relative_to(evidence) else folder / name
            try:
                for hit in redactor.scan(folder / name):
                    todo = "revoke the secret, then take the file out by a `redacted` status record"
                    yield Finding("secret", path.as_posix(), None, f"line {hit.line} holds a secret ({hit.name})", todo)
            except StackproofError as error:
                yield Finding("unreadable", path.as_posix(), None, error.what, str(error.todo))


def _print_text(outcome: _Outcome, *, again: bool, scan: bool, base: str | None) -> None:
    for finding in outcome.findings:
        click.echo(finding.line())
    for warning in outcome.warnings:
        click.echo(f"warning: {warning.line()}", err=True)
    for path in outcome.redacted:
        click.echo(f"{neutral(path)}: redacted, as a status record says")
    counted = f"{_count(len(outcome.checks), 'run')}, {_count(outcome.files, 'file')}"
    if outcome.findings:
        click.echo(f"{counted}: {_count(len(outcome.findings), 'problem')}")
        return
    said = ["all as sealed"]
    said += [f"{len(outcome.redacted)} redacted"] if outcome.redacted else []
    said += ["metrics derived again alike"] if again else []
    said += ["no secret found"] if scan else []
    said += [f"nothing of {base} changed"] if base else []
    click.echo(", ".join([counted, *said]))


def _print_json(outcome: _Outcome) -> None:
    content = {
        "ok": not outcome.findings,
        "runs": len(outcome.checks),
        "files": outcome.files,
        "redacted": [neutral(path) for path in outcome.redacted],
        "findings": [finding.to_json() for finding in outcome.findings],
        "warnings": [warning.to_json() for warning in outcome.warnings],
    }
    json.dump(content, sys.stdout, indent=1)
    click.echo()


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
