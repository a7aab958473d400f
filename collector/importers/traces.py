"""Profiler traces of one launch, made elsewhere, as a sealed run folder that is judged like any other.

A trace tells how long its profiled steps took and what they did; what ran without the profiler it does not tell. So the
run has the role `profiled`: its traces give parts and operations, never a timed launch. What else is known of the
launch (the card, where and when it ran) is said by who imports it, and is labelled with its source.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from collector import batch, incoming, jobs, plan, trial
from collector.claims import Claims
from collector.engines.interface import Exit
from collector.engines.local import LocalEngine
from collector.importers.interface import SURE, Importer, Match
from collector.incoming import Workbench
from collector.interrupts import Interrupts
from collector.settled import SealedRuns
from collector.stacks.command_output import ENDINGS
from collector.stacks.imported import FILE
from collector.stacks.interface import Trial
from collector.stacks.registry import ADAPTERS
from ledger import imported
from ledger.benchmark import BenchmarkFile
from ledger.canonical import digest, file_digest
from ledger.durable import storage_errors
from ledger.errors import InputError
from ledger.run import Role, Run, trial_key
from ledger.secrets import Redactor
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
    _check_stack(file, stack)
    return _trace_files(paths)


@dataclass(frozen=True)
class _Import:
    """One launch about to be sealed."""

    file: BenchmarkFile
    told: Told
    files: tuple[TraceFile, ...]

    @property
    def content(self) -> list[str]:
        """What tells one imported launch from another."""
        return sorted(each.sha256 for each in self.files)

    @property
    def record(self) -> dict[str, Any]:
        """The content of `collector.stacks.imported.FILE`."""
        files = [
            {"name": each.path.name, "sha256": each.sha256, "bytes": each.path.stat().st_size, "as": each.name}
            for each in self.files
        ]
        return {"format": FORMAT, "source": self.told.source, "files": files, "card": dict(self.told.card)}

    @property
    def environment(self) -> dict[str, Any]:
        """environment.json: nothing of this machine, which did not run it."""
        devices = list(dict.fromkeys(name for each in self.files for name in each.devices))
        absent = {"environment": f"imported: what it ran on is known from its source alone ({self.told.source})"}
        hardware = {"traced_devices": devices} if devices else {}
        return {"packages": {}, "hardware": {}, **hardware, "host": self.told.host, "absent": absent}

    @property
    def times(self) -> tuple[datetime, datetime, bool]:
        """Start, end, and whether the start is known."""
        first, last = min(each.start_ns for each in self.files), max(each.end_ns for each in self.files)
        lasted = (last - first) / 1e9
        now = datetime.now(UTC)
        known = self.told.started or (_moment(first) if EPOCH_FROM <= first <= now.timestamp() * 1e9 else None)
        start = known or now
        return start, datetime.fromtimestamp(start.timestamp() + lasted, UTC), known is not None


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
    _check_stack(file, stack)
    _check_card(told.card)
    if role not in ROLES:
        what = f"a trace holds profiled steps, which are no {role} launch"
        raise InputError(what, where=str(file.source.path), todo=f"import it as {Role.PROFILED}")
    batch.check_evidence_folder(workspace.evidence, file.benchmark.name, write=True)
    found = _Import(file, told, _trace_files(paths))
    sealed = SealedRuns(workspace.evidence, file.benchmark.name)
    sealed.refresh()
    before = _imported_before(workspace, sealed, stack, role, found)
    if before is not None:
        return before, False
    job = jobs.make_job(file, stack, workspace.root)
    repeat = 1 + max((run.repeat for run in sealed.all() if (run.stack, run.role) == (stack, role)), default=0)
    key = trial_key(
        benchmark=file.benchmark.name,
        workload=file.benchmark.workload.model_dump(mode="json"),
        digests={"imported": digest(found.content)},
        stack=stack,
        settings=job.settings,
        environment_digest=_environment_digest(found),
        role=role.value,
        repeat=repeat,
    )
    named = (job.benchmark, stack, job.settings, workspace.root)
    return _seal(workspace, found, Trial(*named, role, repeat, key, beside=job.beside)), True


def _check_stack(file: BenchmarkFile, stack: str) -> None:
    declared = file.benchmark.stacks.get(stack)
    if declared is None:
        known = ", ".join(file.benchmark.stacks)
        raise InputError(f"no stack {stack!r}", where=str(file.source.path), todo=f"use one of: {known}")
    if declared.adapter != imported.ADAPTER:
        what = f"{declared.adapter!r} launches this stack, and results from elsewhere are no launches of it"
        todo = f"declare a stack with `adapter: {imported.ADAPTER}` for them"
        raise file.error(("stacks", stack, "adapter"), what, todo)


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


def _imported_before(workspace: Workspace, sealed: SealedRuns, stack: str, role: Role, found: _Import) -> Path | None:
    """The run that holds the same files already, as they were before anything in them was redacted."""
    for runs in sealed.by_trial():
        for run_id, run in runs:
            folder = workspace.evidence / run.benchmark.name / run.date / f"{run.stack}-{run_id}"
            if (run.stack, run.role, run.adapter) == (stack, role, imported.ADAPTER) and (folder / FILE).is_file():
                files = json.loads((folder / FILE).read_bytes())["files"]
                if sorted(each["sha256"] for each in files) == found.content:
                    return folder
    return None


def _environment_digest(found: _Import) -> str:
    """Of what is known of the machine: launches on one are repeats of each other."""
    hardware = found.told.card.get("workload", {}).get("hardware")
    return digest({"imported": found.environment.get("traced_devices"), "hardware": hardware})


def _seal(workspace: Workspace, found: _Import, planned: Trial) -> Path:
    """Plan one launch, fill a workbench with what was imported, and seal that as a trial's is."""
    evidence, setting = workspace.evidence, _setting(workspace, found.file)
    workbench = incoming.open_workbench(evidence, f"{planned.trial_key}-1")
    try:
        if not setting.claims.take(planned.trial_key, 1, workbench.token):
            raise InputError("another process imports this launch", where=found.file.benchmark.name, todo="wait for it")
        made = plan.Plan(setting.origin, planned.benchmark.workload_digest, (planned,), (), (), {})
        batch_id, _ = plan.write_plan(made, evidence, trial.utc_now())
        _fill(workbench, found)
        done = Exit(0, None, timed_out=False, cancelled=False, strays=0)
        draft = _draft(setting, found, planned, batch_id)
        _, path = trial.finish(setting, ADAPTERS[imported.ADAPTER], planned, workbench, draft, done)
    finally:
        setting.claims.release(planned.trial_key, 1, workbench.token)
        workbench.discard()
    return path


def _setting(workspace: Workspace, file: BenchmarkFile) -> trial.Setting:
    return trial.Setting(
        workspace=workspace.root,
        evidence=workspace.evidence,
        benchmark_text=file.source.text,
        origin=batch.origin_of(file),
        batch="",
        engine=LocalEngine(),
        claims=Claims(workspace.evidence, lambda token: incoming.is_alive(workspace.evidence, token)),
        redactor=Redactor(os.environ),
        interrupts=Interrupts(),
        say=lambda _: None,
    )


def _fill(workbench: Workbench, found: _Import) -> None:
    """What is known before the run is sealed, and the traces where an adapter looks for them."""
    run, out = workbench.run, workbench.out / "traces"
    with storage_errors(run):
        for folder in (run / "launch", run / "samples", run / "logs", out):
            folder.mkdir()
        (run / "benchmark.yaml").write_bytes(found.file.source.text.encode())
        for path, content in ((run / "environment.json", found.environment), (run / FILE, found.record)):
            path.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")
        for each in found.files:
            shutil.copyfile(each.path, out / each.name)


def _draft(setting: trial.Setting, found: _Import, planned: Trial, batch_id: str) -> Run:
    start, end, known = found.times
    return Run(
        benchmark=setting.origin,
        stack=planned.stack_name,
        adapter=imported.ADAPTER,
        settings=planned.settings,
        role=planned.role,
        repeat=planned.repeat,
        attempt=1,
        trial_key=planned.trial_key,
        workload_digest=planned.benchmark.workload_digest,
        environment_digest=_environment_digest(found),
        batch=batch_id,
        launch_order=1,
        started_at=_text(start),
        ended_at=_text(end),
        host=found.told.host,
        outcome=trial.UNSEEN,
        absent={**_ABSENT, **({} if known else {"started_at": _NO_TIME})},
    )


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
