"""The shipped serving benchmark on real servers: llama.cpp, transformers and vLLM answer a few of its questions.

STACKPROOF_TEST_WORKSPACE names a folder that keeps weights and environments from one run of the tests to the next.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collector import new_workspace
from ledger import parquet, traces
from ledger.run_folder import RunFolder, scan
from ledger.traces.breakdown import explain
from ledger.verify import verify_run

pytestmark = pytest.mark.engines
NAME = "smollm2-serving-cpu"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the benchmark and its weights, fetched as its file says."""
    kept = os.environ.get("STACKPROOF_TEST_WORKSPACE")
    root = Path(kept) if kept else tmp_path_factory.mktemp("serving")
    if not (root / "benchmarks").is_dir():
        new_workspace.make(root, NAME)
    subprocess.run([sys.executable, "benchmarks/fetch/smollm2.py"], cwd=root, check=True)
    return root


def collect(root: Path, stack: str, *more: str) -> list[RunFolder]:
    """The runs of a stack, a short form of the benchmark, oldest first."""
    command = [sys.executable, "-m", "stackproof", "collect", NAME, "--profile", "demo", "--stack", stack]
    done = subprocess.run([*command, "--repeats", "1", "--no-commit", *more], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = [run for run in scan(root / "evidence") if run.run.stack == stack]
    assert runs, done.stdout + done.stderr
    assert [run.run.outcome.last_log_lines for run in runs] == [()] * len(runs)
    return sorted(runs, key=lambda run: run.run.started_at)


def values(run: RunFolder) -> dict[str, Any]:
    return {row["metric"]: row["value"] for row in run.json("metrics.json")}


@pytest.mark.parametrize("stack", ["llamacpp-q4", "transformers", "vllm-float32"])
def test_a_real_server_answers_and_is_gone(workspace, stack):
    run = collect(workspace, stack)[0]
    assert verify_run(run) == []
    rows = parquet.read(run.path / "samples/requests.parquet").to_pylist()
    measured = [row for row in rows if row["phase"] == "measured"]
    assert len(measured) == 24
    assert [row["error"] for row in measured] == [None] * 24
    assert all(row["output_tokens"] > 0 and row["text"] for row in measured)
    found = values(run)
    # A model of this size knows many capitals and few of the rest; what knows nothing is broken.
    assert found["acceptance_rate"] > 0.2
    assert found["cost_per_accepted_result"] > 0
    assert found["ttft.mean"] < found["e2e.mean"]
    assert found["peak_memory"] > 100e6
    assert run.json("samples/summary.json")["stopped"]
    environment = run.json("environment.json")
    assert environment["virtual_environment"]["key"]
    assert environment["stack_packages"]


def test_vllms_profiler_gives_a_trace_and_its_repairs_are_recorded(workspace):
    run = collect(workspace, "vllm-float32", "--profiled", "1")[-1]
    assert run.run.role == "profiled"
    (path,) = run.path.glob(traces.PATTERN)
    assert explain(traces.read(path)).part("compute") > 0
    assert len(run.json("environment.json")["virtual_environment"]["repaired"]) == 2
