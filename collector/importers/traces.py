"""Profiler traces of one launch, made elsewhere, as a sealed run folder that is judged like any other.

A trace tells how long its profiled steps took and what they did; what ran without the profiler it does not tell. So the
run has the role `profiled`: its traces give parts and operations, never a timed launch. What else is known of the
launch (the card, where and when it ran) is said by who imports it, and is labelled with its source.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from collector import batch
from collector.importers import launches
from collector.importers.interface import SURE, Importer, Match
from collector.importers.launches import Launch
from collector.stacks.command_output import ENDINGS
from ledger import imported
from ledger.benchmark import BenchmarkFile
from ledger.canonical import digest, file_digest
from ledger.errors import InputError
from ledger.run import Role
from ledger.traces import read
from ledger.traces.reading import format_of
from ledger.traces.source import Source
from ledger.workspace import Workspace

FORMAT = "trace"
MARKS = ((b'"traceEvents"',), (b'"schemaVersion"', b'"deviceProperties"'), (b'"ph"', b'"ts"', b'"dur"'))
"""What the beginning of a profiler's JSON holds, one of these groups whole."""
BEGINNING = 2**18
"""Bytes of it that are looked at: what recorded the trace may have written of itself first."""
ROLES = frozenset({Role.PROFILED, Role.SEARCH, Role.WARMUP})
"""What a launch may have been for of which there is a trace alone."""
EPOCH_FROM = 1_262_304_000_000_000_000
"""2010-01-01 in nanoseconds since 1970: a trace's clock that shows more counts from then, another from a boot."""
_NO_TIME = "the trace's clock does not tell when it was made: the time of the import stands in its place"
_ABSENT = {
    "steps": "imported: the launch's own clock is not known, only that of its profiler",
    "telemetry": "imported: nothing was sampled beside the launch",
}


@dataclass(frozen=True)
class Told:
    """What who imports a launch says of it."""

    source: str
    """Where the traces come from, in words or as an address: shown wherever they are."""
    card: Mapping[str, Any] = field(default_factory=dict)
    """Parts of the workload card, nested as card.yaml has them."""
    host: str = imported.HOST
    started: datetime | None = None
    """With a time zone; None: as the trace tells."""


@dataclass(frozen=True)
class TraceFile:
    """One trace that was read."""

    path: Path
    sha256: str
    name: str
    """In the run folder: `rank-0.json.gz`."""
    start_ns: int
    end_ns: int
    devices: tuple[str, ...]
    events: int


class TraceImporter(Importer):
    """A profiler's traces of one launch, one file a rank."""

    name: ClassVar[str] = FORMAT
    title: ClassVar[str] = "a profiler's traces of one launch: PyTorch (Kineto) and Nsight Systems"

    def detect(self, path: Path) -> Match | None:
        """By what a format of traces says of the file's first bytes; of JSON, by the profiler's own keys."""
        try:
            form, head = format_of(path), Source(path).head(BEGINNING)
        except InputError:
            return None
        if head.lstrip()[:1] in (b"{", b"[") and not any(all(mark in head for mark in group) for group in MARKS):
            return None
        return Match(SURE, f"a profiler's trace: {form.name}")


def look(file: BenchmarkFile, stack: str, paths: Sequence[Path]) -> tuple[TraceFile, ...]:
    """What `import_launch` would seal of these files; nothing is written. Raises InputError as that does."""
    launches.check_stack(file, stack)
    return _trace_files(paths)


def import_launch(
    workspace: Workspace,
    file: BenchmarkFile,
    stack: str,
    paths: Sequence[Path],
    told: Told,
    role: Role = Role.PROFILED,
) -> tuple[Path, bool]:
    """Seal the traces of one launch of `stack`, one file a rank; returns the run folder, and whether it is new.

    Importing the same files again gives the run that holds them. Raises InputError for a stack that is not declared
    as imported, a file that is no trace and a role that a trace cannot show, StorageError when the disk refuses.
    """
    launches.check_stack(file, stack)
    _check_card(told.card)
    if role not in ROLES:
        what = f"a trace holds profiled steps, which are no {role} launch"
        raise InputError(what, where=str(file.source.path), todo=f"import it as {Role.PROFILED}")
    batch.check_evidence_folder(workspace.evidence, file.benchmark.name, write=True)
    return launches.seal(workspace, _launch(file, stack, role, told, _trace_files(paths)))


def _check_card(card: Mapping[str, Any]) -> None:
    """What is read of it here and by every page is nested as card.yaml has it."""
    part: Any = card
    for name in ("workload", "hardware"):
        part = part.get(name, {})
        if not isinstance(part, dict):
            raise InputError(f"the card's {name} must be a mapping", todo="nest it as card.yaml of a run has it")


def _trace_files(paths: Sequence[Path]) -> tuple[TraceFile, ...]:
    """Every file read once, with its rank: what it says, else its place. Raises InputError."""
    if not paths:
        raise InputError("no trace is named", todo="name the files of one launch, one a rank")
    found: dict[str, TraceFile] = {}
    for place, path in enumerate(paths):
        ending = next((each for each in sorted(ENDINGS, key=len, reverse=True) if path.name.endswith(each)), None)
        if ending is None or not path.is_file():
            what = "is not a file with one of these endings: " + ", ".join(ENDINGS)
            raise InputError(what, where=str(path), todo="name the trace that the profiler wrote")
        trace = read(path)
        if not len(trace.events):
            raise InputError("holds no timed event", where=str(path), todo="leave it out")
        name = f"rank-{place if trace.rank is None else trace.rank}"
        if name in found:
            what = f"is of {name.replace('-', ' ')}, as {found[name].path.name} is"
            raise InputError(what, where=str(path), todo="name the traces of one launch, one a rank")
        sha256 = file_digest(path)
        twin = next((each for each in found.values() if each.sha256 == sha256), None)
        if twin is not None:
            what = f"holds the same bytes as {twin.path.name}, and two ranks never record the same"
            raise InputError(what, where=str(path), todo="name each rank's own trace")
        base = trace.facts.base_ns or 0
        devices = tuple(str(each["name"]) for each in trace.facts.devices if each.get("name"))
        times = base + int(trace.events.start.min()), base + int(trace.events.end.max())
        found[name] = TraceFile(path, sha256, f"{name}{ending}", *times, devices, len(trace.events))
    return tuple(found.values())


def _launch(file: BenchmarkFile, stack: str, role: Role, told: Told, files: Sequence[TraceFile]) -> Launch:
    start, end, known = _times(told, files)
    devices = list(dict.fromkeys(name for each in files for name in each.devices))
    hardware = told.card.get("workload", {}).get("hardware")
    return Launch(
        file=file,
        stack=stack,
        role=role,
        record=_record(told, files),
        environment=_environment(told, devices),
        environment_digest=digest({"imported": devices or None, "hardware": hardware}),
        started=start,
        ended=end,
        absent={**_ABSENT, **({} if known else {"started_at": _NO_TIME})},
        fill=lambda out: _copy(files, out / "traces"),
        host=told.host,
    )


def _record(told: Told, files: Sequence[TraceFile]) -> dict[str, Any]:
    found = [
        {"name": each.path.name, "sha256": each.sha256, "bytes": each.path.stat().st_size, "as": each.name}
        for each in files
    ]
    return {"format": FORMAT, "source": told.source, "files": found, "card": dict(told.card)}


def _environment(told: Told, devices: Sequence[str]) -> dict[str, Any]:
    absent = {"environment": f"imported: what it ran on is known from its source alone ({told.source})"}
    hardware = {"traced_devices": list(devices)} if devices else {}
    return {"packages": {}, "hardware": {}, **hardware, "host": told.host, "absent": absent}


def _times(told: Told, files: Sequence[TraceFile]) -> tuple[datetime, datetime, bool]:
    """Start, end, and whether the start is known."""
    first, last = min(each.start_ns for each in files), max(each.end_ns for each in files)
    now = datetime.now(UTC)
    known = told.started or (_moment(first) if EPOCH_FROM <= first <= now.timestamp() * 1e9 else None)
    start = known or now
    return start, datetime.fromtimestamp(start.timestamp() + (last - first) / 1e9, UTC), known is not None


def _copy(files: Sequence[TraceFile], target: Path) -> None:
    target.mkdir()
    for each in files:
        shutil.copyfile(each.path, target / each.name)


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)
