"""Trials of a tiny benchmark, written, launched and collected by the real adapter."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.stacks.interface import Ending, Observed, Trial
from collector.stacks.registry import ADAPTERS
from ledger import benchmark, parquet
from ledger.run import Role
from tests.factory import BENCHMARK, write_benchmark

LEARNABLE = {
    **BENCHMARK["workload"],
    "dataset": {"synthetic": "markov", "seed": 1, "tokens": 6000, "branching": 2},
    "global_batch_size": 8,
    "steps": 30,
}
"""The tiny workload with enough data and steps to learn from."""


def make_trial(
    folder: Path,
    settings: dict[str, Any],
    *,
    role: str = "timed",
    repeat: int = 1,
    adapter: str = "torch",
    precision: str = "float32",
    **stack: Any,
) -> Trial:
    """A trial of LEARNABLE with one stack `one`; further keywords are the stack's further keys."""
    workload = {**LEARNABLE, "model": {**LEARNABLE["model"], "precision": precision}}
    stacks = {"one": {"adapter": adapter, "settings": settings, **stack}}
    path = write_benchmark(folder, workload=workload, stacks=stacks, comparisons=[])
    declared = benchmark.read(path).benchmark
    return Trial(declared, "one", ADAPTERS[adapter].resolve(settings, declared), Path(), Role(role), repeat, "0" * 16)


@dataclass(frozen=True)
class Launched:
    """One finished launch."""

    trial: Trial
    out: Path
    run: Path
    ending: Ending
    observed: Observed


def launch(
    trial: Trial, folder: Path, script: Path | None = None, *, workspace: Path | None = None, limit_s: float = 300
) -> Launched:
    """Write, run and collect a trial below `folder`; `script` runs instead of the one that was written."""
    out, run = folder / "out", folder / "run"
    out.mkdir(parents=True)
    adapter = ADAPTERS[trial.stack.adapter]
    adapter.write_launch(trial, run / "launch")
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "STACKPROOF_OUT": str(out),
        "STACKPROOF_WORKSPACE": str(workspace or folder / "workspace"),
        "STACKPROOF_PYTHON": sys.executable,
    }
    command = ["/bin/sh", str(script or run / "launch/run.sh")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=limit_s)
    (folder / "stdout.log").write_text(done.stdout)
    (folder / "stderr.log").write_text(done.stderr)
    log = tuple((done.stderr + done.stdout).splitlines()[-40:])
    ending = Ending(done.returncode, None, timed_out=False, cancelled=False, log_tail=log)
    return Launched(trial, out, run, ending, adapter.collect(trial, out, run))


def steps(launched: Launched) -> dict[str, list[Any]]:
    """samples/steps.parquet of a launch, by column."""
    found: dict[str, list[Any]] = parquet.read(launched.run / "samples/steps.parquet").to_pydict()
    return found


def summary(launched: Launched) -> dict[str, Any]:
    """samples/summary.json of a launch."""
    return dict(json.loads((launched.run / "samples/summary.json").read_bytes()))


def events(trace: Path) -> list[dict[str, Any]]:
    """A trace's events."""
    return list(json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"])
