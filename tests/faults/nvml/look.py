"""Run in a process of its own, where the loader finds the made-up NVML: reads it as a collector does, prints JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from collector.inventory.nvidia import Nvidia
from collector.telemetry import nvml


def answer(current: Path, file: Path, trial: int) -> None:
    """Let the library answer from `file`, the trial's process filled in."""
    aside = current.with_name("aside")
    aside.write_text(file.read_text().replace("SELF", str(trial)))
    aside.replace(current)


def samples(current: Path, first: Path, later: Path, rounds: int) -> dict[str, Any]:
    """`rounds` rounds of the real probe beside a process that sleeps; half-way the answers change."""
    trial = subprocess.Popen(["sleep", "60"])
    try:
        answer(current, first, trial.pid)
        opened = nvml.open_nvml()
        if isinstance(opened, str):
            return {"rows": [], "absent": {"power": opened}}
        probe = nvml.NvmlProbe(opened, os.getpid())
        rows: list[dict[str, object]] = []
        for number in range(rounds):
            if number == rounds // 2:
                answer(current, later, trial.pid)
            rows += [reading() for reading in probe.readings()]
        probe.close()
        return {"rows": rows, "absent": probe.absences.told()}
    finally:
        trial.kill()
        trial.wait()


def inventory(current: Path, first: Path) -> dict[str, Any]:
    """What the real inventory tells."""
    answer(current, first, os.getpid())
    absent: dict[str, str] = {}
    with Nvidia(absent) as found:
        told = {"devices": found.devices(), "topology": found.topology(), "driver": found.driver()}
    return {**told, "absent": absent, "count": nvml.device_count()}


if __name__ == "__main__":
    place, start, end = map(Path, sys.argv[1:4])
    seen = samples(place, start, end, int(sys.argv[5])) if sys.argv[4] == "samples" else inventory(place, start)
    print(json.dumps(seen))
