"""One trial from launch to sealed run folder.

`launch` runs it in a workbench; `finish` turns what it left into a run folder and seals that. A collector that finds
the workbench of a dead one goes straight to `finish`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector import card as cards
from collector import outcome as outcomes
from collector import places, virtual_environment
from collector.claims import Claims
from collector.engines.interface import Engine, Exit, LaunchRequest
from collector.environment import cpu_pressure, environment_digest, host_name
from collector.incoming import Workbench
from collector.interrupts import Interrupts
from collector.stacks.interface import Adapter, Ending, Observed, Trial
from collector.stacks.registry import ADAPTERS
from collector.telemetry.sampler import Sampler
from collector.virtual_environment import BrokenEnvironmentError
from ledger import acceptance, parquet
from ledger.durable import storage_errors
from ledger.errors import EvidenceError
from ledger.manifest import list_files
from ledger.metrics import derive
from ledger.metrics.tables import Launch
from ledger.run import BenchmarkOrigin, Outcome, Reason, Run, State
from ledger.seal import seal
from ledger.secrets import Redactor

RUN = "run.json"


@dataclass(frozen=True)
class Setting:
    """What all trials of a batch share."""

    workspace: Path
    evidence: Path
    benchmark_text: str
    origin: BenchmarkOrigin
    batch: str
    engine: Engine
    claims: Claims
    redactor: Redactor
    interrupts: Interrupts
    say: Callable[[str], None]
    """Tells the user what takes long."""


def utc_now() -> str:
    """The time as run.json writes it: RFC 3339 in UTC with microseconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def launch(
    setting: Setting,
    trial: Trial,
    workbench: Workbench,
    environment: dict[str, Any],
    *,
    order: int,
    attempt: int,
) -> tuple[Run, Path]:
    """Launch `trial`, wait for its end, seal what happened. Raises StorageError when the disk refuses."""
    adapter = ADAPTERS[trial.stack.adapter]
    digest = environment_digest(environment, trial.stack.environment.variables)
    try:
        prepared = prepare_environments(setting, adapter, trial, environment)
    except BrokenEnvironmentError as error:
        draft = _draft(setting, trial, order, attempt, digest)
        _prepare(setting, adapter, trial, workbench, environment, draft)
        return _give_up(setting, adapter, trial, workbench, draft, error)
    draft = _draft(setting, trial, order, attempt, digest)
    _prepare(setting, adapter, trial, workbench, prepared.environment, draft)
    sampler = Sampler()
    ended = _launch(setting, trial, workbench, prepared, sampler.start)
    sampler.stop()
    with storage_errors(workbench.run):
        parquet.write(workbench.run / "samples/telemetry.parquet", sampler.rows, parquet.TELEMETRY)
    draft = replace(draft, ended_at=utc_now(), absent=sampler.absent)
    return finish(setting, adapter, trial, workbench, draft, ended, sampling=sampler.cost)


def _give_up(
    setting: Setting, adapter: Adapter, trial: Trial, workbench: Workbench, draft: Run, error: BrokenEnvironmentError
) -> tuple[Run, Path]:
    """Seal a trial that was not launched, for its environment could not be made: that is a failure of the stack."""
    with storage_errors(workbench.run):
        (workbench.run / "logs/stderr.log").write_text(error.log, encoding="utf-8")
    draft = replace(draft, ended_at=utc_now(), absent={"telemetry": "the trial was not launched"})
    if setting.interrupts.asked:
        ended = Exit(None, None, timed_out=False, cancelled=True, strays=0)
        return finish(setting, adapter, trial, workbench, draft, ended)
    return finish(setting, adapter, trial, workbench, draft, None, unlaunched=error.detail)


def finish(
    setting: Setting,
    adapter: Adapter,
    trial: Trial,
    workbench: Workbench,
    draft: Run,
    ended: Exit | None,
    *,
    unlaunched: str | None = None,
    sampling: dict[str, float] | None = None,
) -> tuple[Run, Path]:
    """Turn a workbench whose trial has ended into a sealed run folder.

    `ended` is None when the collector died and nobody saw the end: that is a failed trial with partial output; or when
    its environment could not be made, and then `unlaunched` says why. `sampling` is what telemetry took.
    """
    with storage_errors(workbench.run):
        observed = adapter.collect(trial, workbench.out, workbench.run)
        _complete_environment(workbench, sampling)
        cards.write(workbench.run, adapter.card(trial, workbench.run), trial)
        _name_places(setting.workspace, workbench)
        redactions = _redact(workbench.run, setting.redactor)
        rows = derive.derive(workbench.run, launch=Launch(draft.stack, draft.benchmark.profile))
        derive.write(workbench.run, rows)
        accepted = acceptance.judge(trial.benchmark.workload, rows)
        outcome = _outcome(adapter, trial, workbench.run, observed, accepted, ended, unlaunched)
        run = replace(
            draft,
            outcome=outcome,
            accepted=accepted,
            absent={**draft.absent, **observed.absent},
            redactions=tuple(redactions),
            duplicate_of_attempt=not _still_ours(setting.claims, workbench, draft),
        )
        _write_run(workbench, run, setting.redactor)
    return run, seal(workbench.run, setting.evidence, run)


@dataclass(frozen=True)
class Prepared:
    """Where a trial's programs run."""

    environment: dict[str, Any]
    """environment.json, with the packages of the stack's own virtual environment where it has one."""
    python: Path | None = None
    client_python: Path | None = None


def prepare_environments(setting: Setting, adapter: Adapter, trial: Trial, environment: dict[str, Any]) -> Prepared:
    """Make the environments that a trial needs, where they are not there. Raises BrokenEnvironmentError."""
    found, python, client_python = environment, None, None
    named = trial.stack.environment.requirements
    if named is not None:
        wish = virtual_environment.wanted(trial.find(named), adapter.repairs)
        made = virtual_environment.prepare(wish, adapter, setting.workspace, setting.say, setting.interrupts)
        python, found = made.python, {**found, **made.describe(wish, adapter.requires)}
    if adapter.client_requirements is not None:
        wish = virtual_environment.wanted(adapter.client_requirements)
        made = virtual_environment.prepare(wish, None, setting.workspace, setting.say, setting.interrupts)
        client_python, found = made.python, {**found, "client_packages": made.packages}
    return Prepared(found, python, client_python)


def _draft(setting: Setting, trial: Trial, order: int, attempt: int, digest: str) -> Run:
    """The run as it must be sealed if nobody sees its end."""
    now = utc_now()
    return Run(
        benchmark=setting.origin,
        stack=trial.stack_name,
        adapter=trial.stack.adapter,
        settings=trial.settings,
        role=trial.role,
        repeat=trial.repeat,
        attempt=attempt,
        trial_key=trial.trial_key,
        workload_digest=trial.benchmark.workload_digest,
        environment_digest=digest,
        batch=setting.batch,
        launch_order=order,
        started_at=now,
        ended_at=now,
        host=host_name(),
        outcome=UNSEEN,
        arm=trial.arm,
        search=trial.search,
        tuned=trial.tuned,
    )


UNSEEN = Outcome(State.FAILED, Reason.PARTIAL_OUTPUT, detail="the collector died while this trial ran")


def _prepare(
    setting: Setting, adapter: Adapter, trial: Trial, workbench: Workbench, environment: dict[str, Any], draft: Run
) -> None:
    """Write what is known before the launch; the draft last, for it says that all the rest is there."""
    run = workbench.run
    with storage_errors(run):
        for name in ("launch", "logs", "samples"):
            (run / name).mkdir()
        (run / "benchmark.yaml").write_bytes(setting.benchmark_text.encode())
        _write_json(run / "environment.json", environment)
        adapter.write_launch(trial, run / "launch")
        freeze = "".join(f"{name}=={version}\n" for name, version in environment["packages"].items())
        (run / "launch/freeze.txt").write_text(freeze)
        if trial.beside is not None:
            workbench.beside.write_text(str(trial.beside))
        _write_json(workbench.draft, draft.to_json())


def _launch(
    setting: Setting, trial: Trial, workbench: Workbench, prepared: Prepared, started: Callable[[int], None]
) -> Exit:
    return setting.engine.launch(
        LaunchRequest(
            launch=workbench.run / "launch",
            out=workbench.out,
            workspace=setting.workspace,
            stdout=workbench.run / "logs/stdout.log",
            stderr=workbench.run / "logs/stderr.log",
            result=workbench.result,
            timeout_s=trial.benchmark.timeout,
            variables={**_secrets(trial), **trial.stack.environment.variables},
            interrupts=setting.interrupts,
            python=prepared.python,
            client_python=prepared.client_python,
        ),
        started,
    )


def _secrets(trial: Trial) -> dict[str, str]:
    """What the adapter lets the launch see of this process's environment; it is written nowhere."""
    names = ADAPTERS[trial.stack.adapter].secrets(trial)
    return {name: os.environ[name] for name in names if name in os.environ}


def _complete_environment(workbench: Workbench, sampling: dict[str, float] | None) -> None:
    """Add what is known only at the end; a collector that dies meanwhile leaves the old file or the new one, whole."""
    path, aside = workbench.run / "environment.json", workbench.path / "environment.json"
    environment = json.loads(path.read_bytes())
    if "pressure" in environment:  # not of an imported trial: this machine did not run it
        environment["pressure"]["cpu_after"] = cpu_pressure()
    if sampling:
        environment["sampling"] = sampling
    _write_json(aside, environment)
    aside.replace(path)


def _name_places(workspace: Path, workbench: Workbench) -> None:
    known = places.known(workspace, workbench.out, workbench.run)
    for log in (workbench.run / "logs").glob("*.log"):
        places.rewrite(log, known)


def _redact(run: Path, redactor: Redactor) -> list[str]:
    """Redact every file of the run folder; the names of those that had something to hide."""
    return [path.relative_to(run).as_posix() for path in list_files(run) if redactor.file(path)]


def _outcome(
    adapter: Adapter,
    trial: Trial,
    run: Path,
    observed: Observed,
    accepted: bool | None,
    ended: Exit | None,
    unlaunched: str | None,
) -> Outcome:
    tail = _tail(run / "logs/stdout.log") + _tail(run / "logs/stderr.log")
    if unlaunched is not None:
        return Outcome(State.FAILED, Reason.ENVIRONMENT_FAILED, detail=unlaunched, last_log_lines=tail)
    if ended is None:
        return replace(UNSEEN, last_log_lines=tail)
    ending = Ending(ended.exit_code, ended.signal, ended.timed_out, ended.cancelled, tail)
    return outcomes.judge(adapter, ending, observed, accepted, trial.benchmark.timeout)


def _tail(path: Path) -> tuple[str, ...]:
    """The last lines of a log, each cut to a readable length."""
    if not path.is_file():
        return ()
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64 * 1024))
        lines = file.read().decode(errors="replace").splitlines()
    return tuple(line[:500] for line in lines[-outcomes.TAIL_LINES :])


def _still_ours(claims: Claims, workbench: Workbench, draft: Run) -> bool:
    return claims.holder(draft.trial_key, draft.attempt) == workbench.token


def _write_run(workbench: Workbench, run: Run, redactor: Redactor) -> None:
    """Write run.json last and whole: from then on a dead collector's workbench can be sealed as it is."""
    aside = workbench.path / RUN
    _write_json(aside, run.to_json())
    redactor.file(aside)
    aside.replace(workbench.run / RUN)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_run(path: Path) -> Run | None:
    """The run that a draft or run.json in a dead collector's workbench tells of; None unless it is whole."""
    try:
        return Run.from_json(json.loads(path.read_bytes()), str(path))
    except (OSError, ValueError, EvidenceError):
        return None
