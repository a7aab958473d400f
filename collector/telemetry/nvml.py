"""NVIDIA devices through NVML: one sample for each device, and one for each MIG instance on it.

Every call may fail on its own: a driver too old, a device without the sensor, a container without the right. What is
not supported is asked once; what fails now and then is asked again. A device that is lost is not asked any more.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from typing import Any

from collector.telemetry.nvml_sensors import COUNTERS, GAUGES, MIG_GAUGES, Sensor
from collector.telemetry.probe import Probe, Sample
from collector.telemetry.processes import family

_FINAL = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_ERROR_NO_PERMISSION")
_LOST = ("NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_RESET_REQUIRED", "NVML_ERROR_GPU_NOT_FOUND")


def open_nvml() -> Any | str:
    """pynvml, initialised, or why there is no NVIDIA driver. Whoever gets it calls `nvmlShutdown`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pynvml  # noqa: PLC0415 (only where something is launched)
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return f"no NVIDIA driver on this host ({str(error).rstrip('.')})"
    return pynvml


def close_nvml(nvml: Any) -> None:
    """Let go of NVML, whatever state the driver is in."""
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlShutdown()


def device_count() -> int | str:
    """How many NVIDIA devices this host has, or why that is not known."""
    nvml = open_nvml()
    if isinstance(nvml, str):
        return nvml
    try:
        return int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError as error:
        return f"NVML does not count the devices ({error})"
    finally:
        close_nvml(nvml)


class _LostError(Exception):
    """The device is not there any more."""


class _Device:
    """One device or MIG instance, and the counters that it began with."""

    def __init__(self, probe: NvmlProbe, name: str, handle: Any, sensors: tuple[Sensor, ...]) -> None:
        self.name = name
        self.lost = False
        self._probe = probe
        self._handle = handle
        self._sensors = (*sensors, Sensor("processes", self._use))
        self._unsupported: dict[str, str] = {}
        self._first: dict[str, float] = {}

    def read(self) -> Sample:
        """All its sensors now. A device that is lost meanwhile gives what came before."""
        sample: Sample = {"device": self.name}
        try:
            for sensor in self._sensors:
                found = self._ask(sensor)
                sample |= self._since_launch(sensor, found) if sensor in COUNTERS else found
        except _LostError as error:
            self.lost = True
            self._probe.lose(self.name, str(error))
        return sample

    def _ask(self, sensor: Sensor) -> Sample:
        absences, nvml = self._probe.absences, self._probe.nvml
        if sensor.name in self._unsupported:
            absences.missed(self.name, sensor.name, self._unsupported[sensor.name])
            return {}
        try:
            found = sensor.read(nvml, self._handle)
        except nvml.NVMLError as error:
            if error.value in _codes(nvml, _LOST):
                raise _LostError(str(error)) from None
            reason = f"NVML: {error}"
            absences.missed(self.name, sensor.name, reason)
            if error.value in _codes(nvml, _FINAL):
                self._unsupported[sensor.name] = reason
            return {}
        absences.had(self.name, sensor.name)
        return found

    def _since_launch(self, sensor: Sensor, found: Sample) -> Sample:
        """Counters less what they were at first; a counter that was set back counts nothing more."""
        since: Sample = {}
        for column, value in found.items():
            number = float(str(value))
            gone = number - self._first.setdefault(column, number)
            if gone < 0:
                self._unsupported[sensor.name] = "the device's counter was set back"
                continue
            since[column] = gone
        return since

    def _use(self, nvml: Any, handle: Any) -> Sample:
        """Whether processes of the trial compute on the device, and with how much of its memory."""
        running = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        mine = [each.usedGpuMemory for each in running if each.pid in self._probe.pids]
        known = [memory for memory in mine if memory is not None]
        return {"in_use": bool(mine), "trial_memory_bytes": sum(known) if len(known) == len(mine) else None}


class NvmlProbe(Probe):
    """All NVIDIA devices of this host that can be opened."""

    def __init__(self, nvml: Any, pid: int) -> None:
        super().__init__()
        self.nvml = nvml
        self.pids: frozenset[int] = frozenset()
        self._pid = pid
        self._start = time.monotonic()
        self._devices = self._open()
        for device in self._devices:
            device.read()  # the counters begin here

    def readings(self) -> list[Callable[[], Sample]]:
        """One for each device and MIG instance that is not lost."""
        self.pids = frozenset(process.pid for process in family(self._pid))
        return [device.read for device in self._devices if not device.lost]

    def lose(self, device: str, error: str) -> None:
        """Note that a device went away."""
        elapsed = time.monotonic() - self._start
        self.absences.say(device, f"lost {elapsed:.1f} s after the launch (NVML: {error})")

    def close(self) -> None:
        """Shut NVML down."""
        close_nvml(self.nvml)

    def _open(self) -> list[_Device]:
        devices: list[_Device] = []
        for index in range(self._count()):
            name = f"gpu{index}"
            try:
                handle = self.nvml.nvmlDeviceGetHandleByIndex(index)
            except self.nvml.NVMLError as error:
                self.absences.say(name, f"cannot be opened (NVML: {error})")
                continue
            devices.append(_Device(self, name, handle, GAUGES + COUNTERS))
            for number, instance in mig_instances(self.nvml, handle):
                devices.append(_Device(self, f"{name}/mig{number}", instance, MIG_GAUGES))
        return devices

    def _count(self) -> int:
        try:
            return int(self.nvml.nvmlDeviceGetCount())
        except self.nvml.NVMLError as error:
            self.absences.say("devices", f"NVML does not count the devices ({error})")
            return 0


def mig_instances(nvml: Any, handle: Any) -> list[tuple[int, Any]]:
    """[(number, handle)] of a device's MIG instances; none where MIG is off or unknown to the device."""
    found = []
    try:
        if nvml.nvmlDeviceGetMigMode(handle)[0] != nvml.NVML_DEVICE_MIG_ENABLE:
            return []
        count = nvml.nvmlDeviceGetMaxMigDeviceCount(handle)
    except nvml.NVMLError:
        return []
    for number in range(count):
        with contextlib.suppress(nvml.NVMLError):  # a number that no instance has
            found.append((number, nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)))
    return found


def _codes(nvml: Any, names: tuple[str, ...]) -> set[int]:
    return {getattr(nvml, name) for name in names if hasattr(nvml, name)}
