"""Sampling in a thread of the collector, and what that costs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from collector.telemetry.host import HostProbe
from collector.telemetry.nvml import NvmlProbe, open_nvml
from collector.telemetry.probe import Probe, Sample

INTERVAL_S = 0.5


@dataclass
class Sampler:
    """Samples in a thread of its own between `start` and `stop`."""

    interval_s: float = INTERVAL_S
    rows: list[Sample] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    """{sensor: why it is not there}, once stopped."""
    cost: dict[str, float] = field(default_factory=dict)
    """What sampling took, once stopped: `interval_s`, `rounds`, `late` (rounds longer than the interval), `cpu_s`."""

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._probes: list[Probe] = []

    def start(self, pid: int) -> None:
        """Begin to sample the processes below `pid` and the host's devices."""
        self._probes = [HostProbe(pid)]
        nvml = open_nvml()
        if isinstance(nvml, str):
            self.absent["power"] = f"no power sensor on this host: {nvml}"
        else:
            self._probes.append(NvmlProbe(nvml, pid))
        self._thread = threading.Thread(target=self._loop, name="telemetry", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop, and gather why sensors were absent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for probe in self._probes:
            self.absent |= probe.absences.told()
            probe.close()

    def _loop(self) -> None:
        begin, rounds, late = time.monotonic_ns(), 0, 0
        due = begin
        while True:
            due += round(self.interval_s * 1e9)
            ended = self._stop.wait(max(0, due - time.monotonic_ns()) / 1e9)
            try:
                self._take(begin)  # once more at the end, so that counters speak of the whole launch
            except Exception as error:
                self.absent["telemetry"] = f"ended after {rounds} rounds ({type(error).__name__}: {error})"
                break
            rounds += 1
            if ended:
                break
            if time.monotonic_ns() > due + self.interval_s * 1e9:
                late, due = late + 1, time.monotonic_ns()
        self.cost = {"interval_s": self.interval_s, "rounds": rounds, "late": late, "cpu_s": time.thread_time()}

    def _take(self, begin: int) -> None:
        """One sample of each device; each carries the time at which it was begun."""
        for probe in self._probes:
            for reading in probe.readings():
                elapsed = time.monotonic_ns() - begin
                self.rows.append({"elapsed_ns": elapsed, **reading()})
