"""Which of several completed runs of one trial counts: status records that say so, for else `verify` finds two.

The last attempt takes the place of those before it. Of two hosts that ran the same attempt at once the one that began
first counts, and the other host sets its own run aside. A run is only spoken of on a branch that holds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from collector.environment import host_name
from collector.settled import SealedRuns
from ledger import status
from ledger.errors import EvidenceError
from ledger.run import Run, State
from ledger.status import SETS_ASIDE, Kind, StatusRecord

Numbered = tuple[str, Run]
"""A run with its id."""


def settle(sealed: SealedRuns) -> list[Path]:
    """Write the records that are missing for the runs of a benchmark; their paths. Raises StackproofError."""
    aside = _set_aside(sealed.evidence, *sealed.besides)
    here = {path.name[-16:] for path in sealed.evidence.glob(f"{sealed.benchmark}/*/*") if path.is_dir()}
    written: list[Path] = []
    for runs in sealed.by_trial():
        counted = [(run_id, run) for run_id, run in runs if _counts(run) and run_id not in aside]
        written += [status.write(sealed.evidence, record) for record in _records(counted, here)]
    return written


def _records(runs: list[Numbered], here: set[str]) -> Iterable[StatusRecord]:
    if len(runs) < 2:
        return
    best = min(runs, key=lambda each: (-each[1].attempt, each[1].started_at, each[0]))
    for run_id, run in runs:
        if run_id == best[0] or run_id not in here:
            continue
        if best[0] in here:
            yield _record(run_id, Kind.SUPERSEDED, _why(run, best[1]), best[0])
        elif run.attempt == best[1].attempt and run.host == host_name():
            why = f"{best[1].host} ran the same trial at the same time and began first: its run is {best[0]}"
            yield _record(run_id, Kind.EXCLUDED, why, None)


def _why(old: Run, new: Run) -> str:
    if old.attempt == new.attempt:
        return f"{new.host} ran the same trial and began first"
    days = (datetime.fromisoformat(new.started_at) - datetime.fromisoformat(old.started_at)).total_seconds() / 86_400
    return f"the trial was launched again, {days:.3g} days later"


def _record(run_id: str, kind: Kind, why: str, by: str | None) -> StatusRecord:
    return StatusRecord(run_id, kind, status.now(), f"stackproof agent on {host_name()}", why, by=by)


def _counts(run: Run) -> bool:
    return run.outcome.state is State.COMPLETED and not run.duplicate_of_attempt


def _set_aside(*folders: Path) -> set[str]:
    found: set[str] = set()
    for evidence in folders:
        with contextlib.suppress(EvidenceError):
            found |= {record.run_id for record in status.read(evidence) if record.kind in SETS_ASIDE}
    return found
