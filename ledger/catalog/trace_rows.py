"""Rows of the catalog about one run's traces: what is wrong with them, their collectives, and which libraries ran."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pyarrow as pa

from ledger.catalog.arrow import Row
from ledger.catalog.sealed_trace import SealedTrace
from ledger.durable import storage_errors
from ledger.errors import EvidenceError, InputError
from ledger.traces.breakdown import explain
from ledger.traces.cache import Cached
from ledger.traces.collectives import across, of_rank
from ledger.traces.derived import kept
from ledger.traces.integrity import Finding, RankRecord, inspect, inspect_ranks, rank_record
from ledger.traces.libraries import seen

UNREADABLE = "unreadable"
"""Code of the one row about a trace that cannot be read."""


def integrity_rows(run_id: str, sealed: Sequence[SealedTrace], root: Path) -> list[Row]:
    """Rows of trace_integrity: for each trace one a finding, or one without; then the findings across ranks."""
    found = [(trace, _read(trace, root)) for trace in sealed]
    inputs = [[trace.file, read if isinstance(read, str) else read.digest] for trace, read in found]
    with storage_errors(root):
        rows = kept(root / "integrity", inputs, lambda: _rows(found))
    return [{"run_id": run_id, **row} for row in rows]


def _read(trace: SealedTrace, root: Path) -> Cached | str:
    """The tables of a trace, or why there are none."""
    try:
        return trace.read(root)
    except (EvidenceError, InputError) as error:
        return error.what


def _rows(found: list[tuple[SealedTrace, Cached | str]]) -> list[Row]:
    rows: list[Row] = []
    ranks: list[RankRecord] = []
    for trace, read in found:
        if isinstance(read, str):
            reason = Finding(UNREADABLE, 1, f"the trace cannot be read: {read}", gates=True)
            rows += _findings({"file": trace.file, "rank": None, "events": None, "timed": None}, [reason])
            continue
        rows += _inspected(trace.file, read, ranks)
    across = inspect_ranks(ranks)
    return rows + (_findings(dict.fromkeys(("file", "rank", "events", "timed")), across) if across else [])


def _inspected(file: str, read: Cached, ranks: list[RankRecord]) -> list[Row]:
    """Rows of one trace, of which no more than its entry in `ranks` stays in memory."""
    trace = read.trace()
    ranks.append(rank_record(trace))
    record = inspect(trace)
    return _findings(
        {"file": file, "rank": trace.rank, "events": record.events, "timed": record.timed}, record.findings
    )


def _findings(common: Row, findings: Sequence[Finding]) -> list[Row]:
    """A row for each finding, else one that says that there is none."""
    usable = not any(each.gates for each in findings)
    none: Row = {"code": None, "count": None, "finding": None, "gates": None}
    told: list[Row] = [
        {"code": each.code, "count": each.count, "finding": each.text, "gates": each.gates} for each in findings
    ]
    return [{**common, "usable": usable, **each} for each in told or [none]]


def collective_rows(run_id: str, sealed: Sequence[SealedTrace], root: Path) -> list[Row]:
    """Rows of collectives: those of every trace of the run that can be read, matched across ranks."""
    found = [read for trace in sealed if isinstance(read := _read(trace, root), Cached)]
    with storage_errors(root):
        rows = kept(root / "collectives", [read.digest for read in found], lambda: _collectives(found))
    return [{"run_id": run_id, **row} for row in rows]


def _collectives(found: list[Cached]) -> list[Row]:
    return list(across([_called(read) for read in found]).to_pylist())


def _called(read: Cached) -> pa.Table:
    """The collectives of one trace, which is let go."""
    trace = read.trace()
    return of_rank(trace, explain(trace))


def library_rows(run_id: str, sealed: Sequence[SealedTrace], root: Path) -> list[Row]:
    """Rows of trace_libraries: for each trace that can be read one a library, or one without where names tell none."""
    rows: list[Row] = []
    for trace in sealed:
        read = _read(trace, root)
        if isinstance(read, Cached):
            with storage_errors(root):
                found = kept(root / "libraries", read.digest, partial(_libraries, read))
            rows += [{"run_id": run_id, "file": trace.file, "rank": read.facts.rank, **row} for row in found]
    return rows


def _libraries(read: Cached) -> list[Row]:
    none: Row = {"library": None, "events": None, "duration_ns": None, "example": None}
    return [asdict(each) for each in seen(read.files("events"))] or [none]


ROWS: dict[str, Callable[[str, Sequence[SealedTrace], Path], list[Row]]] = {
    "collectives": collective_rows,
    "trace_libraries": library_rows,
    "trace_integrity": integrity_rows,
}
"""{table: what makes its rows of one run}."""
