"""Telemetry beside a trial: one sample a device at a steady interval, from psutil and, where there is a driver, NVML.

A sensor that is not there leaves nulls in its column and one reason in `absent`; it never leaves zeros.
"""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psutil

INTERVAL_S = 0.5

Sample = dict[str, object]


class Probe(ABC):
    """One source of samples."""

    absent: dict[str, str]
    """{sensor: why it is not there}."""

    @abstractmethod
    def read(self) -> list[Sample]:
        """One sample for each device: columns of `ledger.parquet.TELEMETRY` but `elapsed_ns`."""

    def close(self) -> None:  # noqa: B027 (most probes hold nothing)
        """Let go of the source."""


class HostProbe(Probe):
    """CPU utilisation of the host and the resident set of the trial's processes."""

    def __init__(self, pid: int) -> None:
        self.absent = {}
        self._pid = pid
        psutil.cpu_percent()

    def read(self) -> list[Sample]:
        """One sample for `host`."""
        share = psutil.cpu_percent() / 100
        return [{"device": "host", "utilisation": share, "memory_bytes": resident_set(self._pid)}]


def resident_set(pid: int) -> int | None:
    """Bytes of the resident sets of all processes below `pid`; None once there are none."""
    try:
        family = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return None
    sizes = []
    for process in family:
        with contextlib.suppress(psutil.Error):
            sizes.append(process.memory_info().rss)
    return sum(sizes) if sizes else None


class NvmlProbe(Probe):
    """NVIDIA devices through NVML. `open_nvml` gives one, or the reason why there is none."""

    def __init__(self, nvml: Any) -> None:
        self.absent = {}
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        energy = nvml.nvmlDeviceGetTotalEnergyConsumption
        self._energy_start = [self._try("energy", energy, handle) for handle in self._handles]

    def inventory(self) -> list[dict[str, Any]]:
        """What the devices are: name, memory in bytes, and the driver's version."""
        nvml = self._nvml
        driver = nvml.nvmlSystemGetDriverVersion()
        return [
            {
                "name": nvml.nvmlDeviceGetName(handle),
                "memory_bytes": getattr(self._try("memory", nvml.nvmlDeviceGetMemoryInfo, handle), "total", None),
                "driver": driver,
            }
            for handle in self._handles
        ]

    def read(self) -> list[Sample]:
        """One sample for each of `gpu0`, `gpu1`, …"""
        return [self._sample(index, handle) for index, handle in enumerate(self._handles)]

    def close(self) -> None:
        """Shut NVML down."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _sample(self, index: int, handle: Any) -> Sample:
        nvml = self._nvml
        utilisation = self._try("utilisation", nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._try("memory", nvml.nvmlDeviceGetMemoryInfo, handle)
        power_mw = self._try("power", nvml.nvmlDeviceGetPowerUsage, handle)
        energy_mj = self._try("energy", nvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        clock_mhz = self._try("clock", nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM)
        start = self._energy_start[index]
        return {
            "device": f"gpu{index}",
            "utilisation": None if utilisation is None else utilisation.gpu / 100,
            "memory_bytes": None if memory is None else memory.used,
            "power_w": None if power_mw is None else power_mw / 1e3,
            "energy_j": None if energy_mj is None or start is None else (energy_mj - start) / 1e3,
            "clock_hz": None if clock_mhz is None else clock_mhz * 10**6,
        }

    def _try(self, sensor: str, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except self._nvml.NVMLError as error:
            self.absent.setdefault(sensor, f"NVML: {error}")
            return None


def open_nvml() -> NvmlProbe | str:
    """A probe of this host's NVIDIA devices, or why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pynvml  # noqa: PLC0415 (only where something is launched)
    try:
        pynvml.nvmlInit()
        return NvmlProbe(pynvml)
    except pynvml.NVMLError as error:
        return f"no NVIDIA driver on this host ({error})"


@dataclass
class Sampler:
    """Samples in a thread of its own between `start` and `stop`."""

    interval_s: float = INTERVAL_S
    rows: list[Sample] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._probes: list[Probe] = []

    def start(self, pid: int) -> None:
        """Begin to sample the processes below `pid` and the host's devices."""
        self._probes = [HostProbe(pid)]
        nvml = open_nvml()
        if isinstance(nvml, NvmlProbe):
            self._probes.append(nvml)
        else:
            self.absent["power"] = f"no power sensor on this host: {nvml}"
        self._thread = threading.Thread(target=self._loop, name="telemetry", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop, and gather why sensors were absent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for probe in self._probes:
            self.absent |= probe.absent
            probe.close()

    def _loop(self) -> None:
        begin = time.monotonic_ns()
        while not self._stop.wait(self.interval_s):
            elapsed = time.monotonic_ns() - begin
            for probe in self._probes:
                self.rows.extend({"elapsed_ns": elapsed, **sample} for sample in probe.read())
