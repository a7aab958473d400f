"""A made-up NVIDIA driver: fake_nvml.c compiled, a file of answers, and processes that the real pynvml loads it in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SOURCE = Path(__file__).with_name("fake_nvml.c")
LOOK = Path(__file__).with_name("look.py")

NOT_SUPPORTED, NO_PERMISSION, TIMEOUT, GPU_IS_LOST, UNKNOWN = 3, 4, 10, 15, 999
"""NVML's return codes, as nvml.h numbers them."""

Answers = dict[tuple[str, str], tuple[int, str]]
"""{(function, device): (return code, payload)}."""


def compile_library(folder: Path, *options: str) -> Path:
    """The folder that holds libnvidia-ml.so.1, made from fake_nvml.c."""
    folder.mkdir()
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Werror",
        *options,
        str(SOURCE),
        "-o",
        f"{folder}/libnvidia-ml.so.1",
    ]
    subprocess.run(command, check=True)
    return folder


def answers(devices: int = 1) -> Answers:
    """A healthy driver with `devices` GPUs that differ only in their numbers."""
    found: Answers = {
        ("nvmlInit", "*"): (0, ""),
        ("nvmlShutdown", "*"): (0, ""),
        ("nvmlDeviceGetCount", "*"): (0, str(devices)),
        ("nvmlDeviceGetHandleByIndex", "*"): (0, ""),
        ("nvmlSystemGetDriverVersion", "*"): (0, "580.65.06"),
        ("nvmlSystemGetCudaDriverVersion_v2", "*"): (0, "13000"),
    }
    for index in range(devices):
        found |= {(function, str(index)): (0, payload) for function, payload in _device(index).items()}
    return found


def _device(index: int) -> dict[str, str]:
    return {
        "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
        "nvmlDeviceGetUUID": f"GPU-0000{index}",
        "nvmlDeviceGetPciInfo": f"00000000:{index + 1:02X}:00.0",
        "nvmlDeviceGetVbiosVersion": "96.00.89.00.01",
        "nvmlDeviceGetCudaComputeCapability": "9 0",
        "nvmlDeviceGetEccMode": "1 1",
        "nvmlDeviceGetMigMode": "0 0",
        "nvmlDeviceGetEnforcedPowerLimit": "700000",
        "nvmlDeviceGetMaxPcieLinkGeneration": "5",
        "nvmlDeviceGetMaxPcieLinkWidth": "16",
        "nvmlDeviceGetMaxClockInfo:1": "1980",
        "nvmlDeviceGetMaxClockInfo:2": "2619",
        "nvmlDeviceGetUtilizationRates": "87 41",
        "nvmlDeviceGetMemoryInfo": f"{80 * 2**30} {(index + 1) * 2**30}",
        "nvmlDeviceGetPowerUsage": str(350_500 + index),
        "nvmlDeviceGetTotalEnergyConsumption": "5000000",
        "nvmlDeviceGetClockInfo:1": "1755",
        "nvmlDeviceGetClockInfo:2": "2619",
        "nvmlDeviceGetTemperature:0": str(61 + index),
        "nvmlDeviceGetCurrentClocksEventReasons": "0",
        "nvmlDeviceGetCurrentClocksThrottleReasons": "0",
        "nvmlDeviceGetPcieThroughput:1": "2000",
        "nvmlDeviceGetPcieThroughput:0": "1000",
        "nvmlDeviceGetPcieReplayCounter": "7",
        "nvmlDeviceGetFieldValues": "",
        "nvmlDeviceGetFieldValues:138": "300",
        "nvmlDeviceGetFieldValues:139": "200",
        "nvmlDeviceGetComputeRunningProcesses": "",
    }


@dataclass
class Driver:
    """What the library answers, at first and after half of the samples were taken."""

    library: Path
    folder: Path
    first: Answers = field(default_factory=answers)
    later: Answers = field(default_factory=dict)
    """What changes half-way."""

    def samples(self, rounds: int = 4) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """What the real NvmlProbe reads in `rounds` rounds, and its `absent`. The pid `SELF` stands for the trial's."""
        said = self._look("samples", str(rounds))
        return said["rows"], said["absent"]

    def inventory(self) -> dict[str, Any]:
        """`{devices, topology, driver, absent, count}` as the real inventory tells them."""
        return self._look("inventory")

    def _look(self, *words: str) -> dict[str, Any]:
        files = [self.folder / name for name in ("first", "later")]
        for path, told in zip(files, (self.first, self.first | self.later), strict=True):
            lines = [f"{name} {device} {code} {payload}\n" for (name, device), (code, payload) in told.items()]
            path.write_text("".join(lines))
        current = self.folder / "current"
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.library),
            "PYTHONPATH": str(ROOT),
            "FAKE_NVML": str(current),
        }
        command = [sys.executable, str(LOOK), str(current), *map(str, files), *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))
