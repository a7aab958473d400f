"""What is read of an NVIDIA device, a sensor a time: the NVML call and the columns of telemetry that it fills.

Units are those of `ledger.parquet.TELEMETRY`: NVML tells milliwatts, millijoules, megahertz, percent and kibibytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from collector.telemetry.probe import Sample

THROTTLE_REASONS = {
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
"""{bit of NVML's clocks event reasons: its name}. Bit 0x001 says that the device is idle, which slows nothing down."""

_ALL_LINKS = 0xFFFF_FFFF
_KIB = 1024


@dataclass(frozen=True)
class Sensor:
    """One NVML question. `read(pynvml, handle)` gives columns, or raises NVMLError."""

    name: str
    """What `absent` calls it."""
    read: Callable[[Any, Any], Sample]


def _utilisation(nvml: Any, handle: Any) -> Sample:
    rates = nvml.nvmlDeviceGetUtilizationRates(handle)
    return {"utilisation": rates.gpu / 100, "memory_activity": rates.memory / 100}


def _memory(nvml: Any, handle: Any) -> Sample:
    return {"memory_bytes": nvml.nvmlDeviceGetMemoryInfo(handle).used}


def _power(nvml: Any, handle: Any) -> Sample:
    return {"power_w": nvml.nvmlDeviceGetPowerUsage(handle) / 1e3}


def _clock(nvml: Any, handle: Any) -> Sample:
    return {"clock_hz": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * 10**6}


def _memory_clock(nvml: Any, handle: Any) -> Sample:
    return {"memory_clock_hz": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM) * 10**6}


def _temperature(nvml: Any, handle: Any) -> Sample:
    return {"temperature_c": float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))}


def _throttling(nvml: Any, handle: Any) -> Sample:
    try:
        bits = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except nvml.NVMLError as error:  # drivers before 535 know it by its former name
        if error.value != nvml.NVML_ERROR_FUNCTION_NOT_FOUND:
            raise
        bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return {"throttled_by": [name for bit, name in THROTTLE_REASONS.items() if bits & bit]}


def _pcie_traffic(nvml: Any, handle: Any) -> Sample:
    """NVML looks for 20 ms at each direction before it answers."""
    received = nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_RX_BYTES)
    sent = nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_TX_BYTES)
    return {"pcie_received_bytes_per_s": received * _KIB, "pcie_sent_bytes_per_s": sent * _KIB}


def _energy(nvml: Any, handle: Any) -> Sample:
    return {"energy_j": nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3}


def _pcie_replays(nvml: Any, handle: Any) -> Sample:
    return {"pcie_replays": nvml.nvmlDeviceGetPcieReplayCounter(handle)}


def _nvlink(nvml: Any, handle: Any) -> Sample:
    """Bytes of data over all links together."""
    columns = {
        nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX: "nvlink_received_bytes",
        nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX: "nvlink_sent_bytes",
    }
    found: Sample = {}
    for value in nvml.nvmlDeviceGetFieldValues(handle, [(each, _ALL_LINKS) for each in columns]):
        if value.nvmlReturn != nvml.NVML_SUCCESS:
            raise nvml.NVMLError(value.nvmlReturn)
        found[columns[value.fieldId]] = value.value.ullVal * _KIB
    return found


GAUGES = (
    Sensor("utilisation", _utilisation),
    Sensor("memory", _memory),
    Sensor("power", _power),
    Sensor("clock", _clock),
    Sensor("memory clock", _memory_clock),
    Sensor("temperature", _temperature),
    Sensor("throttle reasons", _throttling),
    Sensor("pcie traffic", _pcie_traffic),
)
COUNTERS = (Sensor("energy", _energy), Sensor("pcie replays", _pcie_replays), Sensor("nvlink traffic", _nvlink))
"""Sensors whose columns count up from an unknown start."""
MIG_GAUGES = (Sensor("memory", _memory),)
"""What NVML tells of a MIG instance; the rest belongs to the device as a whole."""
