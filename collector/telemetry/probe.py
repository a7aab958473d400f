"""What every source of samples has: readings, and a record of those that could not be had."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

Sample = dict[str, object]
"""Columns of `ledger.parquet.TELEMETRY`, without `elapsed_ns`."""


@dataclass
class _Sensor:
    asked: int = 0
    failed: int = 0
    reason: str = ""


@dataclass
class Absences:
    """Which sensors gave nothing, why, and in how many samples."""

    _sensors: dict[tuple[str, str], _Sensor] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)

    def had(self, device: str, sensor: str) -> None:
        """A reading came."""
        self._of(device, sensor).asked += 1

    def missed(self, device: str, sensor: str, reason: str) -> None:
        """A reading did not come."""
        found = self._of(device, sensor)
        found.asked += 1
        found.failed += 1
        found.reason = reason

    def say(self, name: str, reason: str) -> None:
        """A whole device or a whole source is not there."""
        self._said[name] = reason

    def told(self) -> dict[str, str]:
        """{sensor: reason}; what only some devices lack is named by the device too (`gpu1.power`)."""
        lacking = {key: each for key, each in self._sensors.items() if each.failed}
        told = dict(self._said)
        for name in dict.fromkeys(sensor for _, sensor in lacking):
            reasons = {device: _reason(each) for (device, sensor), each in lacking.items() if sensor == name}
            everywhere = len(reasons) == sum(sensor == name for _, sensor in self._sensors)
            if everywhere and len(set(reasons.values())) == 1:
                told[name] = next(iter(reasons.values()))
            else:
                told |= {f"{device}.{name}": reason for device, reason in reasons.items()}
        return told

    def _of(self, device: str, sensor: str) -> _Sensor:
        return self._sensors.setdefault((device, sensor), _Sensor())


def _reason(sensor: _Sensor) -> str:
    if sensor.failed == sensor.asked:
        return sensor.reason
    return f"{sensor.reason}, in {sensor.failed} of {sensor.asked} samples"


class Probe(ABC):
    """One source of samples."""

    def __init__(self) -> None:
        self.absences = Absences()

    @abstractmethod
    def readings(self) -> list[Callable[[], Sample]]:
        """One reading for each device that is there now: each takes its time, so that each has a time of its own."""

    def close(self) -> None:  # noqa: B027 (most probes hold nothing)
        """Let go of the source."""
