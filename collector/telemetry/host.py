"""The host itself: processor, the trial's memory, pressure, disks and network, from psutil and /proc/pressure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from collector.telemetry.probe import Probe, Sample
from collector.telemetry.processes import family, resident_set

_Counted = TypeVar("_Counted")

PRESSURE = Path("/proc/pressure")
RESOURCES = {"cpu": "cpu_stall_s", "memory": "memory_stall_s", "io": "io_stall_s"}
"""{file of /proc/pressure: its column}."""


class HostProbe(Probe):
    """The host: its processors, the resident set of the trial's processes, and counters since the launch."""

    def __init__(self, pid: int, pressure: Path = PRESSURE) -> None:
        super().__init__()
        self._pid = pid
        self._pressure = pressure
        psutil.cpu_percent()  # the first call gives no value: it only begins to count
        self._start = self._counters()

    def readings(self) -> list[Callable[[], Sample]]:
        """One, for `host`."""
        return [self._read]

    def _read(self) -> Sample:
        now = self._counters()
        since = {name: value - self._start[name] for name, value in now.items() if name in self._start}
        return {
            "device": "host",
            "utilisation": psutil.cpu_percent() / 100,
            "memory_bytes": resident_set(family(self._pid)),
            "clock_hz": self._clock(),
            **since,
        }

    def _counters(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for source in (self._stalls, self._disks, self._network):
            found |= source()
        return found

    def _stalls(self) -> dict[str, float]:
        found = {}
        for resource, column in RESOURCES.items():
            pressure = read_pressure(self._pressure / resource)
            if pressure is None:
                self.absences.missed("host", f"{resource} pressure", f"this kernel has no {self._pressure / resource}")
            else:
                self.absences.had("host", f"{resource} pressure")
                found[column] = pressure.total_s
        return found

    def _disks(self) -> dict[str, float]:
        counted = _or_none(psutil.disk_io_counters)
        if counted is None:
            self.absences.missed("host", "disk", "the system counts no disk transfers")
            return {}
        self.absences.had("host", "disk")
        return {"disk_read_bytes": counted.read_bytes, "disk_written_bytes": counted.write_bytes}

    def _network(self) -> dict[str, float]:
        """Bytes over all interfaces but loopback, which carries a trial's talk with itself."""
        by_interface = _or_none(lambda: psutil.net_io_counters(pernic=True)) or {}
        counted = [each for name, each in by_interface.items() if name != "lo"]
        if not counted:
            self.absences.missed("host", "network", "no network interface but loopback")
            return {}
        self.absences.had("host", "network")
        return {
            "network_received_bytes": sum(each.bytes_recv for each in counted),
            "network_sent_bytes": sum(each.bytes_sent for each in counted),
        }

    def _clock(self) -> int | None:
        found = _or_none(psutil.cpu_freq)
        if found is None or not found.current:
            self.absences.missed("host", "processor clock", "the system does not tell the processor's clock")
            return None
        self.absences.had("host", "processor clock")
        return round(found.current * 1e6)


@dataclass(frozen=True)
class Pressure:
    """The `some` line of a file of /proc/pressure: time in which a task at least waited for the resource."""

    shares: dict[str, float]
    """{avg10, avg60, avg300: share of the time, 0 to 1}."""
    total_s: float
    """Since the boot."""


def read_pressure(path: Path) -> Pressure | None:
    """What a file of /proc/pressure says; None where the kernel has none."""
    try:
        line = path.read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    values = dict(part.split("=") for part in line.split()[1:])
    shares = {name: float(values[name]) / 100 for name in ("avg10", "avg60", "avg300")}
    return Pressure(shares, int(values["total"]) / 1e6)


def _or_none(call: Callable[[], _Counted]) -> _Counted | None:
    """psutil raises where a system has no such counter, or gives None."""
    try:
        return call()
    except (OSError, RuntimeError, NotImplementedError, AttributeError):
        return None
