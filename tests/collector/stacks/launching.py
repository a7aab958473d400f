"""Trials of a tiny benchmark, written, launched and collected by the real adapter."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.stacks.interface import Ending, Observed, Trial
from collector.stacks.registry import ADAPTERS
from ledger import benchmark
from ledger.run import Role
from tests.factory import BENCHMARK, write_benchmark

LEARNABLE = {
    **BENCHMARK["workload"],
    "dataset": {"synthetic": "markov", "seed": 1, "tokens": 6000, "branching": 2},
    "global_batch_size": 8,
    "steps": 30,
}
"""The tiny workload with enough data and steps to learn from."""


def make_trial(folder: Path, settings: dict[str, Any], *, role: str = "timed", repeat: int = 1, **stack: Any) -> Trial:
    """A trial of LEARNABLE with one stack `one`; keywords are the stack's further keys."""
    stacks = {"one": {"adapter": "torch", "settings": settings, **stack}}
    path = write_benchmark(folder, workload=LEARNABLE, stacks=stacks, comparisons=[])
    declared = benchmark.read(path).benchmark
    return Trial(declared, "one", ADAPTERS["torch"].resolve(settings, declared), Path(), Role(role), repeat, "0" * 16)


@dataclass(frozen=True)
class Launched:
    """One finished launch."""

    trial: Trial
    out: Path
    run: Path
    ending: Ending
    observed: Observed


def launch(trial: Trial, folder: Path, script: Path | None = None) -> Launched:
    """Write, run and collect a trial below `folder`; `script` runs instead of the one that was written."""
    out, run = folder / "out", folder / "run"
    out.mkdir(parents=True)
    adapter = ADAPTERS["torch"]
    adapter.write_launch(trial, run / "launch")
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "STACKPROOF_OUT": str(out),
        "STACKPROOF_WORKSPACE": str(folder / "workspace"),
        "STACKPROOF_PYTHON": sys.executable,
    }
    command = ["/bin/sh", str(script or run / "launch/run.sh")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    log = tuple((done.stderr + done.stdout).splitlines()[-40:])
    ending = Ending(done.returncode, None, timed_out=False, cancelled=False, log_tail=log)
    return Launched(trial, out, run, ending, adapter.collect(trial, out, run))
