"""What a collector that died left behind: launched trials become evidence, the rest is removed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from collector import incoming, trial
from collector.engines.interface import Exit
from collector.incoming import Workbench
from collector.stacks.interface import Trial
from collector.stacks.registry import ADAPTERS
from ledger import benchmark as benchmark_file
from ledger.durable import storage_errors
from ledger.errors import StackproofError
from ledger.run import Run
from ledger.seal import seal


def recover(setting: trial.Setting, say: Callable[[str], None]) -> list[Path]:
    """Seal or remove every leftover workbench of `setting.evidence`; returns the run folders that came of it."""
    sealed = []
    for workbench in incoming.leftovers(setting.evidence):
        path = _recover(setting, workbench)
        if path is None:
            say(f"removed {workbench.path.name}: its collector died before the launch")
        else:
            say(f"sealed {path.name}: its collector died while it was launched")
            sealed.append(path)
        workbench.discard()
    return sealed


def _recover(setting: trial.Setting, workbench: Workbench) -> Path | None:
    whole = trial.read_run(workbench.run / trial.RUN)
    if whole is not None:
        with storage_errors(workbench.run):
            return seal(workbench.run, setting.evidence, whole)
    draft = trial.read_run(workbench.draft)
    if draft is None:
        return None
    ended = _seen_end(workbench)
    draft = replace(draft, ended_at=trial.utc_now(), absent={"telemetry": "the collector died before it was written"})
    _, path = trial.finish(setting, ADAPTERS[draft.adapter], _trial(setting, workbench, draft), workbench, draft, ended)
    return path


def _seen_end(workbench: Workbench) -> Exit | None:
    """How the trial ended, by itself or by its user; a trial that fell with its collector has partial output."""
    if workbench.cancelled.exists():
        return Exit(None, None, timed_out=False, cancelled=True, strays=0)
    try:
        ended = Exit(**json.loads(workbench.result.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return None if ended.cancelled else ended


def _trial(setting: trial.Setting, workbench: Workbench, draft: Run) -> Trial:
    path = workbench.run / "benchmark.yaml"
    try:
        file = benchmark_file.read(path, draft.benchmark.profile)
    except StackproofError as error:
        error.todo = f"remove {workbench.path}"
        raise
    beside = Path(workbench.beside.read_text()) if workbench.beside.is_file() else None
    if draft.arm is not None and draft.arm.changed:
        file = file.changed(draft.arm.intervention)
    if draft.search is not None:
        file = file.tuned(draft.stack, draft.search.parameters)
    named = (file.benchmark, draft.stack, draft.settings, setting.workspace)
    launch = (draft.role, draft.repeat, draft.trial_key)
    return Trial(*named, *launch, beside=beside, arm=draft.arm, search=draft.search, tuned=draft.tuned)
