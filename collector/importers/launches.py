"""A launch that was made elsewhere, sealed as a run folder like any other: what all importers of launches share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector import batch, incoming, jobs, plan, trial
from collector.claims import Claims
from collector.engines.interface import Exit
from collector.engines.local import LocalEngine
from collector.incoming import Workbench
from collector.interrupts import Interrupts
from collector.settled import SealedRuns
from collector.stacks.imported import FILE
from collector.stacks.interface import Trial
from collector.stacks.registry import ADAPTERS
from ledger import imported, status
from ledger.benchmark import BenchmarkFile
from ledger.canonical import digest
from ledger.durable import storage_errors
from ledger.errors import InputError
from ledger.run import Role, Run, trial_key
from ledger.secrets import Redactor
from ledger.workspace import Workspace


@dataclass(frozen=True)
class Launch:
    """One launch about to be sealed as evidence of a stack."""

    file: BenchmarkFile
    stack: str
    role: Role
    record: Mapping[str, Any]
    """The content of `collector.stacks.imported.FILE`: `{format, source, files, card, …}`."""
    environment: Mapping[str, Any]
    """environment.json: nothing of this machine, which did not run it."""
    environment_digest: str
    """Of what is known of the machine: launches on one are repeats of each other."""
    started: datetime
    ended: datetime
    absent: Mapping[str, str]
    """{what a launch has: why this one does not}."""
    fill: Callable[[Path], None]
    """Puts what was imported where the adapter looks for it."""
    host: str = imported.HOST
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """{path in the run folder: bytes} of what else is known before it is sealed."""

    @property
    def content(self) -> list[str]:
        """What tells one imported launch from another."""
        return sorted(each["sha256"] for each in self.record["files"])


@dataclass(frozen=True)
class Before:
    """A run that was imported earlier."""

    run_id: str
    path: Path
    record: Mapping[str, Any]


def check_stack(file: BenchmarkFile, stack: str) -> None:
    """Raise InputError for a stack that is not declared as imported."""
    declared = file.benchmark.stacks.get(stack)
    if declared is None:
        known = ", ".join(file.benchmark.stacks)
        raise InputError(f"no stack {stack!r}", where=str(file.source.path), todo=f"use one of: {known}")
    if declared.adapter != imported.ADAPTER:
        what = f"{declared.adapter!r} launches this stack, and results from elsewhere are no launches of it"
        todo = f"declare a stack with `adapter: {imported.ADAPTER}` for them"
        raise file.error(("stacks", stack, "adapter"), what, todo)


def earlier(workspace: Workspace, file: BenchmarkFile, stack: str, role: Role) -> list[Before]:
    """The imported runs of a stack and role that still count."""
    sealed = SealedRuns(workspace.evidence, file.benchmark.name)
    sealed.refresh()
    found = []
    for runs in sealed.by_trial():
        for run_id, run in runs:
            folder = workspace.evidence / run.benchmark.name / run.date / f"{run.stack}-{run_id}"
            if (run.stack, run.role, run.adapter) != (stack, role, imported.ADAPTER) or not (folder / FILE).is_file():
                continue
            if not any(each.kind in status.SETS_ASIDE for each in status.read_of(workspace.evidence, run_id)):
                found.append(Before(run_id, folder, json.loads((folder / FILE).read_bytes())))
    return found


def seal(workspace: Workspace, launch: Launch) -> tuple[Path, bool]:
    """The run folder of a launch, and whether it is new: the same files again give the run that holds them.

    Raises InputError, and StorageError when the disk refuses.
    """
    file, stack, role = launch.file, launch.stack, launch.role
    check_stack(file, stack)
    batch.check_evidence_folder(workspace.evidence, file.benchmark.name, write=True)
    before = earlier(workspace, file, stack, role)
    for each in before:
        if sorted(one["sha256"] for one in each.record["files"]) == launch.content:
            return each.path, False
    job = jobs.make_job(file, stack, workspace.root)
    repeat = 1 + _repeats(workspace, file, stack, role)
    key = trial_key(
        benchmark=file.benchmark.name,
        workload=file.benchmark.workload.model_dump(mode="json"),
        digests={"imported": digest(launch.content)},
        stack=stack,
        settings=job.settings,
        environment_digest=launch.environment_digest,
        role=role.value,
        repeat=repeat,
    )
    named = (job.benchmark, stack, job.settings, workspace.root)
    return _seal(workspace, launch, Trial(*named, role, repeat, key, beside=job.beside)), True


def text(moment: datetime) -> str:
    """A time as run.json has it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _repeats(workspace: Workspace, file: BenchmarkFile, stack: str, role: Role) -> int:
    """The highest repeat of a stack and role that was sealed, also one that no longer counts."""
    sealed = SealedRuns(workspace.evidence, file.benchmark.name)
    sealed.refresh()
    return max((run.repeat for run in sealed.all() if (run.stack, run.role) == (stack, role)), default=0)


def _seal(workspace: Workspace, launch: Launch, planned: Trial) -> Path:
    """Plan one launch, fill a workbench with what was imported, and seal that as a trial's is."""
    evidence, setting = workspace.evidence, _setting(workspace, launch.file)
    workbench = incoming.open_workbench(evidence, f"{planned.trial_key}-1")
    try:
        if not setting.claims.take(planned.trial_key, 1, workbench.token):
            what = "another process imports this launch"
            raise InputError(what, where=launch.file.benchmark.name, todo="wait for it")
        made = plan.Plan(setting.origin, planned.benchmark.workload_digest, (planned,), (), (), {})
        batch_id, _ = plan.write_plan(made, evidence, trial.utc_now())
        _fill(workbench, launch)
        done = Exit(0, None, timed_out=False, cancelled=False, strays=0)
        draft = _draft(setting, launch, planned, batch_id)
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


def _fill(workbench: Workbench, launch: Launch) -> None:
    """What is known before the run is sealed, and what was imported where the adapter looks for it."""
    run = workbench.run
    with storage_errors(run):
        for folder in (run / "launch", run / "samples", run / "logs"):
            folder.mkdir()
        (run / "benchmark.yaml").write_bytes(launch.file.source.text.encode())
        for path, content in ((run / "environment.json", launch.environment), (run / FILE, launch.record)):
            path.write_text(json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")
        for name, data in launch.beside.items():
            (run / name).write_bytes(data)
        launch.fill(workbench.out)


def _draft(setting: trial.Setting, launch: Launch, planned: Trial, batch_id: str) -> Run:
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
        environment_digest=launch.environment_digest,
        batch=batch_id,
        launch_order=1,
        started_at=text(launch.started),
        ended_at=text(launch.ended),
        host=launch.host,
        outcome=trial.UNSEEN,
        absent=dict(launch.absent),
    )
