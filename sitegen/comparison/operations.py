"""The traced steps of both sides aligned by operation, from the traces that the accounting rests on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger import traces, workspace
from ledger.catalog.sealed_trace import SealedTrace
from ledger.durable import storage_errors
from ledger.errors import EvidenceError, InputError
from ledger.metrics import registry
from ledger.run_folder import RunFolder
from ledger.traces.derived import kept
from ledger.traces.difference import Difference, Profile, Row, Spent, difference, profile
from ledger.traces.interface import rank_in_name
from ledger.traces.profiles import of_data, to_data
from sitegen.comparison.accounting import INNER, traced_runs
from sitegen.comparison.aligned import Level, Operation, Operations, Rest
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.selection import Selection

MOST_ROWS = 15
"""Rows that are shown one by one; the rest is one row."""
MOST_KERNELS = 2
"""Kernel names that stand beside an operation."""


def align(selection: Selection, evidence: Path | None) -> Operations | None:
    """Both sides' traced steps by operation, each launch counting the same; of the rank whose parts are shown.

    None where a side has no profiled launch with parts, or the evidence lies in no folder. A trace that is kept
    elsewhere or was changed leaves all of it out: a mean of the other launches would mislead.
    """
    runs = [traced_runs(side) for side in selection.sides]
    if evidence is None or not all(runs):
        return None
    try:
        with _cache(evidence) as cache:
            before, after = ([_profile(run, evidence, cache) for run in side] for side in runs)
            return aligned(difference(before, after))
    except (EvidenceError, InputError) as error:
        where = f"{Path(error.where).name}: " if error.where else ""
        return Operations(1, 0, 0, (), None, None, absent=f"{where}{error.what}")


def aligned(found: Difference) -> Operations:
    """The rows of a difference that have no finer ones but kernels, the largest changes first."""
    rows = sorted(_rows(found.step.rows), key=lambda row: (-abs(row.change_ns), -_time(row), row.part, row.name or ""))
    shown, others = rows[:MOST_ROWS], rows[MOST_ROWS:]
    before, after = found.step.before, found.step.after
    return Operations(
        steps=found.steps,
        baseline_ns=before.time if before else 0,
        candidate_ns=after.time if after else 0,
        rows=tuple(shown),
        rest=_rest(others) if others else None,
        aligned=_alignment(rows),
    )


def _alignment(rows: Iterable[Operation]) -> float | None:
    """The share of named work on both sides; work that no known operation launched is not shown to be the same."""
    worked = [row for row in rows if row.level in {Level.OPERATION, Level.UNKNOWN}]
    both = (row for row in worked if row.name and row.baseline_ns is not None and row.candidate_ns is not None)
    whole = sum(map(_time, worked))
    return sum(map(_time, both)) / whole if whole else None


def _rest(rows: Iterable[Operation]) -> Rest:
    found = list(rows)
    return Rest(len(found), sum(row.baseline_ns or 0 for row in found), sum(row.candidate_ns or 0 for row in found))


def _rows(parts: Iterable[Row]) -> Iterator[Operation]:
    for part in parts:
        if part.name == INNER.rstrip("."):
            for kind in part.rows:
                yield from _of_part(kind, f"{INNER}{kind.name}" if kind.level == "class" else INNER.rstrip("."))
        else:
            yield from _of_part(part, part.name or "")


def _of_part(part: Row, id: str) -> Iterator[Operation]:
    """The operations of a part or class; the part itself where nothing in it has a name."""
    for row in part.rows or (part,):
        if not row.rows and not any(side and (side.time or side.calls) for side in (row.before, row.after)):
            continue
        known = registry.get(id)
        yield Operation(
            level=_level(row),
            part=id,
            title=known.title if known else id,
            name=row.name if row.level == "operator" else None,
            baseline_ns=row.before.time if row.before else None,
            candidate_ns=row.after.time if row.after else None,
            baseline_calls=_calls(row, row.before),
            candidate_calls=_calls(row, row.after),
            baseline_kernels=_kernels(row, 0),
            candidate_kernels=_kernels(row, 1),
        )


def _level(row: Row) -> Level:
    if row.level == "operator":
        return Level.UNKNOWN if row.name is None else Level.OPERATION
    return Level.OVERLAP if row.level == "overlap" else Level.PART


def _calls(row: Row, spent: Spent | None) -> int | None:
    return spent.calls if spent is not None and row.level == "operator" else None


def _kernels(row: Row, side: int) -> tuple[str, ...]:
    found = [(spent.time, each.name) for each in row.rows if (spent := (each.before, each.after)[side]) and each.name]
    return tuple(name for _, name in sorted(found, key=lambda each: (-each[0], each[1]))[:MOST_KERNELS])


def _time(row: Operation) -> int:
    return (row.baseline_ns or 0) + (row.candidate_ns or 0)


@contextmanager
def _cache(evidence: Path) -> Iterator[Path]:
    """Where tables of traces are kept; for this once only where there is no such place, or it cannot be written."""
    kept_at = _kept_at(evidence)
    if kept_at is not None:
        yield kept_at
        return
    with tempfile.TemporaryDirectory(prefix="stackproof-traces-") as folder:
        yield Path(folder)


def _kept_at(evidence: Path) -> Path | None:
    """The workspace's cache. Looking at evidence makes no folder in somebody's repository: what builds or collects
    does."""
    try:
        here = workspace.find(evidence)
    except InputError:
        return None
    return here.traces if here.local.is_dir() and os.access(here.local, os.W_OK) else None


def _profile(run: TrialRun, evidence: Path, cache: Path) -> Profile:
    """One launch's profile, made now or before. Raises EvidenceError, InputError, StorageError."""
    folder = RunFolder(evidence / run.path)
    digests = folder.digests
    ranks = {rank_in_name(Path(name)) or 0: name for name in digests if Path(name).match(traces.PATTERN)}
    if not ranks:
        raise EvidenceError("was sealed without a trace", where=folder.name)
    shown = ranks[min(ranks)]
    sealed = SealedTrace(run.run_id, shown, digests[shown], folder.path / shown)
    with storage_errors(cache):
        found = kept(cache / "profiles", [shown, sealed.sha256], lambda: to_data(profile(sealed.read(cache).trace())))
    return of_data(found)
