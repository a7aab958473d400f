"""What DeepSpeed measured itself in a warm-up launch, as numbers: samples/deepspeed.json, and its flops profile's text.

Its communication log (calls, bytes, times by operation and size) and wall-clock breakdown come as data; of the flops
profile only the summary is read, whose lines are `name: value unit`.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from collector.stacks import training_output
from collector.stacks.interface import Observed, Trial
from ledger.run import Role

FILE = "deepspeed.json"
PROFILE = "flops-profile.txt"
SUMMARY_LINES = {
    "params per GPU": "parameters_per_rank",
    "fwd MACs per GPU": "forward_macs_per_rank",
    "fwd flops per GPU": "forward_flops_per_rank",
    "fwd latency": "forward_s",
    "bwd latency": "backward_s",
    "step latency": "optimizer_s",
    "iter latency": "iteration_s",
}
"""{name in the flops profiler's summary: ours}; of one rank's last micro-batch or step, as DeepSpeed defines each."""
LINE = re.compile(r"^(?P<name>[^:]+):\s+(?P<value>\d+(\.\d+)?)\s*(?P<scale>[KMGTPmun]?)(MACs|FLOPS|s)?\s*$")
SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "u": 1e-6, "n": 1e-9}


def add(trial: Trial, out: Path, run: Path, observed: Observed) -> Observed:
    """Write samples/deepspeed.json; what is not there or not readable is absent with its reason, never an error."""
    if trial.role is not Role.WARMUP:
        return observed
    found = _measured(out / FILE)
    flops = _flops(out / PROFILE)
    absent = {} if found else {"deepspeed": "DeepSpeed's own measurements were not written"}
    absent |= {} if flops else {"deepspeed_flops_profile": "DeepSpeed's flops profile has no summary that can be read"}
    if found or flops:
        training_output.write_json(run / "samples" / FILE, {**found, "flops_profile": flops} if flops else found)
    if flops:
        (run / "logs").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(out / PROFILE, run / "logs/deepspeed-flops-profile.log")
    return replace(observed, absent={**observed.absent, **absent})


def _measured(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _flops(path: Path) -> dict[str, float]:
    """The summary's numbers in base units (s, FLOPs, parameters), rounded as DeepSpeed prints them."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    read = (LINE.match(line) for line in lines)
    return {
        SUMMARY_LINES[line["name"]]: float(line["value"]) * SCALES[line["scale"]]
        for line in read
        if line and line["name"] in SUMMARY_LINES
    }
