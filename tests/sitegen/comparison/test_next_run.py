"""A next run launches something when it is run; where no run would help, the page says so in words."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.commands.collect import command as collect_command
from collector.plan import Plan, Wish, make_plan, write_plan
from collector.settled import SealedRuns
from collector.stacks.interface import Trial
from ledger import benchmark as benchmark_file
from ledger.run import BenchmarkOrigin, Reason, Role
from ledger.workspace import Workspace
from sitegen.comparison import judge_all
from sitegen.comparison.verdict import Verdict
from tests.factory import BENCHMARK, make_run, write_benchmark

pytest.importorskip("torch")
Outcome = Callable[[Trial], dict[str, Any] | None]
"""Arguments of `make_run` for a planned trial; None where it was not launched."""


def timing(trial: Trial) -> dict[str, Any]:
    return {"step_time": 0.1 + trial.repeat / 1000 if trial.stack_name == "slow" else 0.06}


def plan(root: Path, *, profile: str | None = None, **options: Any) -> Plan:
    file = benchmark_file.read(root / "benchmarks/tiny.yaml", profile)
    sealed = SealedRuns(root / "evidence", "tiny")
    return make_plan(file, BenchmarkOrigin("tiny", profile=profile), sealed, root, Wish(**options))


def launch(root: Path, outcome: Outcome, changes: dict[str, Any], **options: Any) -> None:
    """Seal what a plan launches, each trial as `outcome` says."""
    planned = plan(root, **options)
    batch, _ = write_plan(planned, root / "evidence", "2026-11-30T11:00:00.000000Z")
    for order, trial in enumerate(planned.launches, 1):
        said = outcome(trial)
        if said is not None:
            make_run(
                root / "evidence",
                trial.stack_name,
                role=trial.role.value,
                repeat=trial.repeat,
                order=order,
                started=f"2026-11-30T12:{order:02}:00.000000Z",
                changes=changes,
                trial_key=trial.trial_key,
                workload_digest=planned.workload_digest,
                batch=batch,
                benchmark=planned.origin,
                settings=trial.settings,
                **said,
            )


def fast_fails(trial: Trial) -> dict[str, Any]:
    failing = trial.stack_name == "fast" and trial.role is Role.TIMED and trial.repeat > 1
    return {"failed": Reason.OUT_OF_MEMORY} if failing else timing(trial)


def undecided(trial: Trial) -> dict[str, Any]:
    return {"step_time": 0.1 * (1 + 0.2 * ((trial.repeat + (trial.stack_name == "slow")) % 2) + trial.repeat / 1000)}


def constant(trial: Trial) -> dict[str, Any]:
    return {"step_time": 0.1 if trial.stack_name == "slow" else 0.05}


def near_the_limit(trial: Trial) -> dict[str, Any]:
    return {**timing(trial), "loss": 2.9 + 0.1 * (trial.repeat % 3)}


def interrupted(trial: Trial) -> dict[str, Any] | None:
    return timing(trial) if trial.role is not Role.TIMED or trial.repeat < 5 else None


def without_profiled(trial: Trial) -> dict[str, Any] | None:
    return timing(trial) if trial.role is not Role.PROFILED else None


def cancelled(trial: Trial) -> dict[str, Any]:
    return timing(trial) if trial.repeat < 3 else {"failed": Reason.CANCELLED}


DEMO = {"demo": {"workload": {"steps": 8}}}
CASES: dict[str, tuple[str, Outcome, dict[str, Any], dict[str, Any]]] = {
    "one launch a side, as declared": (
        "too_few_launches",
        timing,
        {"repeats": {"initial": 1, "max": 5, "profiled": 1}},
        {},
    ),
    "launches failed": ("too_few_launches", fast_fails, {"repeats": {"initial": 2, "max": 2, "profiled": 0}}, {}),
    "a stack declared with one launch": (
        "too_few_launches",
        timing,
        {"stacks": {**BENCHMARK["stacks"], "fast": {"adapter": "torch", "settings": {"threads": 2}, "repeats": 1}}},
        {},
    ),
    "launches cancelled": ("too_few_launches", cancelled, {}, {}),
    "a longer batch was broken off": ("trials_missing", interrupted, {}, {"repeats": 5}),
    "undecided": ("interval_undecided", undecided, {"repeats": {"initial": 3, "max": 3, "profiled": 1}}, {}),
    "no spread": ("no_interval", constant, {}, {}),
    "near a limit": ("envelope_unknown", near_the_limit, {}, {}),
    "never profiled": (
        "explanation_missing",
        timing,
        {"repeats": {"initial": 3, "max": 5, "profiled": 0}},
        {},
    ),
    "profiled launches missing": ("trials_missing", without_profiled, {}, {}),
    "no launch is profiled by its roles": (
        "explanation_missing",
        timing,
        {"stacks": {name: {**stack, "roles": ["timed"]} for name, stack in BENCHMARK["stacks"].items()}},
        {},
    ),
    "profiled without a trace": ("explanation_missing", timing, {}, {}),
    "a short form": ("too_few_launches", timing, {"profiles": DEMO}, {"profile": "demo", "repeats": 2}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_next_run_launches_something_or_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str):
    code, outcome, changes, options = CASES[case]
    (tmp_path / "mkdocs.yml").write_text("site_name: test\n")
    (tmp_path / "evidence").mkdir()
    write_benchmark(tmp_path / "benchmarks", **changes)
    launch(tmp_path, outcome, changes, **options)
    verdict = judge_all(Workspace(tmp_path, {}))[0]
    assert verdict.readiness.reasons[0].code == code, verdict.readiness
    monkeypatch.chdir(tmp_path)
    assert launches_something_or_is_no_run(verdict)


def launches_something_or_is_no_run(verdict: Verdict) -> bool:
    command, step = verdict.readiness.next_run, verdict.readiness.next_step
    if command is None:
        return bool(step) and not (step or "").startswith("stackproof collect")
    assert step is None
    words = shlex.split(command)
    assert words[:2] == ["stackproof", "collect"]
    done = CliRunner().invoke(collect_command, [*words[2:], "--dry-run"], standalone_mode=False)
    assert done.exception is None, done.output
    return " to launch" in done.output and not done.output.startswith("0 to launch")


def test_nothing_at_all_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mkdocs.yml").write_text("site_name: test\n")
    (tmp_path / "evidence").mkdir()
    write_benchmark(tmp_path / "benchmarks")
    monkeypatch.chdir(tmp_path)
    assert launches_something_or_is_no_run(judge_all(Workspace(tmp_path, {}))[0])
