"""Real training from benchmark file to site: torch, eager and compiled, launched, sealed, queried, launched again."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger import workspace
from ledger.run_folder import RunFolder, scan
from ledger.verify import verify_evidence
from tests import factory

SMALL = {
    "repeats": {"initial": 1, "max": 1, "profiled": 1},
    "comparisons": [],
    "timeout": "5 min",
    "envelope": {"limits": {}, "objective": {"minimise": "step_time"}},
}


def stackproof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "STACKPROOF_MEASURING_LOCK": str(folder / "measuring.lock"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "stackproof", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done


def collected(folder: Path, stacks: dict[str, Any]) -> dict[str, RunFolder]:
    """Collect a tiny benchmark of these stacks in a new workspace; {role: run}."""
    stackproof(folder.parent, "init", str(folder))
    workload = {**factory.BENCHMARK["workload"], "steps": 4, "warmup_steps": 1, "profiled_steps": 1}
    workload["acceptance"] = {"kind": "threshold", "field": "evaluation_loss", "rule": "<= 5"}
    factory.write_benchmark(folder / "benchmarks", **SMALL, workload=workload, stacks=stacks)
    stackproof(folder, "collect", "tiny")
    assert verify_evidence(workspace.find(folder).evidence).findings == ()
    return {run.run.role: run for run in scan(folder / "evidence")}


def query(folder: Path, sql: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(stackproof(folder, "query", sql, "--format", "json").stdout)
    return rows


@pytest.mark.torch
def test_eager_training_from_file_to_site_and_again_from_its_script(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    runs = collected(folder, {"eager": {"adapter": "torch", "settings": {"threads": 1}}})
    assert set(runs) == {"warmup", "timed", "profiled"}
    states = query(folder, "SELECT role, state, accepted FROM runs ORDER BY launch_order")
    assert [row["state"] for row in states] == ["completed"] * 3
    assert all(row["accepted"] for row in states)

    losses = query(folder, "SELECT step, loss FROM steps JOIN runs USING (run_id) WHERE role = 'timed' ORDER BY step")
    assert [row["step"] for row in losses] == sorted({row["step"] for row in losses})
    assert all(row["loss"] > 0 for row in losses)
    parts = query(folder, "SELECT value FROM metrics WHERE metric = 'traced_step_time' AND value IS NOT NULL")
    assert parts, "the profiled launch has no trace"

    stackproof(folder, "build", "--strict")
    assert (folder / f"site/runs/{runs['timed'].run_id}/index.html").is_file()

    out = tmp_path / "again"
    out.mkdir()
    launch = tmp_path / "launch"
    shutil.copytree(runs["timed"].path / "launch", launch)
    environment = {
        **os.environ,
        "STACKPROOF_OUT": str(out),
        "STACKPROOF_WORKSPACE": str(folder),
        "OMP_NUM_THREADS": "1",
    }
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(["sh", "run.sh"], cwd=launch, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [path for path in out.rglob("*") if path.is_file()]


@pytest.mark.engines
def test_compiled_training_fills_its_cache_in_the_warm_up(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    runs = collected(folder, {"compiled": {"adapter": "torch", "settings": {"threads": 1, "compile": True}}})
    assert {role: run.run.outcome.state for role, run in runs.items()} == dict.fromkeys(runs, "completed")
    times = query(
        folder,
        "SELECT role, max(duration_ns) AS longest FROM steps JOIN runs USING (run_id) GROUP BY role",
    )
    longest = {row["role"]: row["longest"] for row in times}
    assert longest["warmup"] > longest["timed"], "the timed launch compiled again"
