"""`stackproof supersede`: say, beside the evidence, that another run takes a run's place."""

from __future__ import annotations

import click

from ledger import status, workspace
from ledger.authorship import announce, author, must_add, own_run, reason
from ledger.errors import InputError
from ledger.status import Kind, StatusRecord


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--by", required=True, metavar="RUN", help="The run that takes its place.")
@click.option("--why", required=True, metavar="TEXT", help="Why it does.")
@click.option("--who", metavar="NAME", help="Who says so; default: git's user.name and user.email.")
def command(run: str, by: str, why: str, who: str | None) -> int:
    """Supersede a run by another of the same benchmark: a status record beside the evidence says so.

    RUN is a run's id, its first digits, or its folder.

    \b
    Example: stackproof supersede 3f9c0a --by 81d2e7 --why "launched again with the driver fixed"
    """
    evidence = workspace.find().evidence
    old, new = own_run(evidence, run), own_run(evidence, by)
    if old.run_id == new.run_id:
        raise InputError("a run cannot supersede itself", where=old.name, todo="name two runs")
    if old.run.benchmark.name != new.run.benchmark.name:
        what = f"is of another benchmark than {new.name}"
        raise InputError(what, where=old.name, todo="supersede it by a run of its own benchmark")
    gone = {record.kind.value for record in status.read_of(evidence, new.run_id) if record.kind in status.SETS_ASIDE}
    if gone:
        what = f"is {' and '.join(sorted(gone))} itself"
        raise InputError(what, where=new.name, todo="name a run that still counts")
    record = StatusRecord(old.run_id, Kind.SUPERSEDED, status.now(), author(who, evidence), reason(why), by=new.run_id)
    note = must_add(status.read_of(evidence, old.run_id), record)
    announce(status.write(evidence, record), f"{old.name} is superseded by {new.name}", note)
    return 0
