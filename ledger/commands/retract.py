"""`stackproof retract`: say, beside the evidence, that a run must not be relied on."""

from __future__ import annotations

import click

from ledger import status, workspace
from ledger.authorship import announce, author, must_add, own_run, reason
from ledger.status import Kind, StatusRecord


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--why", required=True, metavar="TEXT", help="What is wrong with the run.")
@click.option("--who", metavar="NAME", help="Who says so; default: git's user.name and user.email.")
def command(run: str, why: str, who: str | None) -> int:
    """Retract a run: its folder stays as it is, a status record beside it says that it no longer counts.

    RUN is a run's id, its first digits, or its folder.

    \b
    Example: stackproof retract 3f9c0a --why "the machine was throttled, see logs/stderr.log"
    """
    evidence = workspace.find().evidence
    folder = own_run(evidence, run)
    record = StatusRecord(folder.run_id, Kind.RETRACTED, status.now(), author(who, evidence), reason(why))
    note = must_add(status.read_of(evidence, folder.run_id), record)
    announce(status.write(evidence, record), f"retracted {folder.name}", note)
    return 0
