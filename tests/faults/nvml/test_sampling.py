"""Telemetry of NVIDIA devices, read by the real pynvml from a library that answers what a test wants."""

from pathlib import Path

import pytest

from collector.telemetry.nvml_sensors import COUNTERS, GAUGES
from ledger import parquet
from tests.faults.nvml.driver import (
    GPU_IS_LOST,
    NO_PERMISSION,
    NOT_SUPPORTED,
    TIMEOUT,
    UNKNOWN,
    Driver,
    answers,
    compile_library,
)

pytestmark = pytest.mark.faults

POWER, ENERGY = "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption"
FUNCTIONS = {
    "utilisation": ("nvmlDeviceGetUtilizationRates", {"utilisation", "memory_activity"}),
    "memory": ("nvmlDeviceGetMemoryInfo", {"memory_bytes"}),
    "power": (POWER, {"power_w"}),
    "clock": ("nvmlDeviceGetClockInfo:1", {"clock_hz"}),
    "memory clock": ("nvmlDeviceGetClockInfo:2", {"memory_clock_hz"}),
    "temperature": ("nvmlDeviceGetTemperature:0", {"temperature_c"}),
    "throttle reasons": ("nvmlDeviceGetCurrentClocksEventReasons", {"throttled_by"}),
    "pcie traffic": ("nvmlDeviceGetPcieThroughput:0", {"pcie_received_bytes_per_s", "pcie_sent_bytes_per_s"}),
    "energy": (ENERGY, {"energy_j"}),
    "pcie replays": ("nvmlDeviceGetPcieReplayCounter", {"pcie_replays"}),
    "nvlink traffic": ("nvmlDeviceGetFieldValues:138", {"nvlink_received_bytes", "nvlink_sent_bytes"}),
    "processes": ("nvmlDeviceGetComputeRunningProcesses", {"in_use", "trial_memory_bytes"}),
}
"""{sensor: (an NVML function that it needs, its columns)}."""


def test_a_healthy_device_in_the_units_of_telemetry(driver: Driver) -> None:
    driver.later = {
        (ENERGY, "0"): (0, "5700000"),
        ("nvmlDeviceGetPcieReplayCounter", "0"): (0, "9"),
        ("nvmlDeviceGetFieldValues:138", "0"): (0, "800"),
        ("nvmlDeviceGetFieldValues:139", "0"): (0, "300"),
        ("nvmlDeviceGetCurrentClocksEventReasons", "0"): (0, str(0x001 | 0x004 | 0x040)),
        ("nvmlDeviceGetComputeRunningProcesses", "0"): (0, f"1 4096, SELF {2**30}"),
    }
    rows, absent = driver.samples(2)
    steady = {
        "device": "gpu0",
        "utilisation": 0.87,
        "memory_activity": 0.41,
        "memory_bytes": 2**30,
        "power_w": 350.5,
        "clock_hz": 1_755_000_000,
        "memory_clock_hz": 2_619_000_000,
        "temperature_c": 61.0,
        "pcie_received_bytes_per_s": 2_048_000,
        "pcie_sent_bytes_per_s": 1_024_000,
    }
    before = {"energy_j": 0, "pcie_replays": 0, "nvlink_sent_bytes": 0, "nvlink_received_bytes": 0, "throttled_by": []}
    after = {
        "energy_j": 700,
        "pcie_replays": 2,
        "nvlink_sent_bytes": 512_000,
        "nvlink_received_bytes": 102_400,
        "throttled_by": ["sw_power_cap", "hw_thermal_slowdown"],
    }
    assert rows == [
        {**steady, **before, "in_use": False, "trial_memory_bytes": 0},
        {**steady, **after, "in_use": True, "trial_memory_bytes": 2**30},
    ]
    assert absent == {}


def test_every_sensor_has_its_failure_tested_and_every_column_its_place() -> None:
    assert set(FUNCTIONS) == {each.name for each in GAUGES + COUNTERS} | {"processes"}
    assert {column for _, columns in FUNCTIONS.values() for column in columns} <= set(parquet.TELEMETRY.names)


@pytest.mark.parametrize("sensor", FUNCTIONS)
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (NOT_SUPPORTED, "NVML: Not Supported"),
        (NO_PERMISSION, "NVML: Insufficient Permissions"),
        (UNKNOWN, "NVML: Unknown Error"),
    ],
)
def test_a_sensor_that_fails_leaves_its_columns_out_and_the_others_in(
    driver: Driver, sensor: str, code: int, words: str
) -> None:
    function, columns = FUNCTIONS[sensor]
    driver.first[function, "0"] = (code, "")
    rows, absent = driver.samples()
    assert absent == {sensor: words}
    everything = {column for _, filled in FUNCTIONS.values() for column in filled}
    assert [set(row) - {"device"} for row in rows] == [everything - columns] * 4


def test_a_reading_that_fails_now_and_then_is_counted(driver: Driver) -> None:
    driver.later = {(POWER, "0"): (TIMEOUT, "")}
    rows, absent = driver.samples()
    assert [row.get("power_w") for row in rows] == [350.5, 350.5, None, None]
    assert absent == {"power": "NVML: Timeout, in 2 of 5 samples"}  # the counters' start is a sample too


def test_what_one_of_two_devices_lacks_is_told_by_its_name(driver: Driver) -> None:
    driver.first = answers(2)
    driver.first[POWER, "1"] = (NOT_SUPPORTED, "")
    rows, absent = driver.samples(1)
    assert [(row["device"], row.get("power_w"), row["memory_bytes"]) for row in rows] == [
        ("gpu0", 350.5, 2**30),
        ("gpu1", None, 2**31),
    ]
    assert absent == {"gpu1.power": "NVML: Not Supported"}


def test_a_device_that_is_lost_is_left_alone_and_the_other_goes_on(driver: Driver) -> None:
    driver.first = answers(2)
    driver.later = {("nvmlDeviceGetTemperature:0", "1"): (GPU_IS_LOST, "")}
    rows, absent = driver.samples()
    assert [row["device"] for row in rows] == ["gpu0", "gpu1"] * 3 + ["gpu0"]
    last = next(row for row in reversed(rows) if row["device"] == "gpu1")
    assert "power_w" in last
    assert "temperature_c" not in last
    assert list(absent) == ["gpu1"]
    assert absent["gpu1"].startswith("lost 0.")
    assert absent["gpu1"].endswith("s after the launch (NVML: GPU is lost)")


def test_a_device_that_cannot_be_opened_is_told_and_the_other_is_read(driver: Driver) -> None:
    driver.first = answers(2)
    driver.first["nvmlDeviceGetHandleByIndex", "0"] = (NO_PERMISSION, "")
    rows, absent = driver.samples(1)
    assert [row["device"] for row in rows] == ["gpu1"]
    assert absent == {"gpu0": "cannot be opened (NVML: Insufficient Permissions)"}


def test_a_mig_device_tells_its_instances_memory_beside_its_own_power(driver: Driver) -> None:
    driver.first |= {
        ("nvmlDeviceGetMigMode", "0"): (0, "1 1"),
        ("nvmlDeviceGetMaxMigDeviceCount", "0"): (0, "7"),
        ("nvmlDeviceGetUtilizationRates", "0"): (NOT_SUPPORTED, ""),
    }
    for number, used in ((0, 5), (3, 9)):
        driver.first["nvmlDeviceGetMigDeviceHandleByIndex", f"0/{number}"] = (0, "")
        driver.first["nvmlDeviceGetMemoryInfo", f"0/{number}"] = (0, f"{10 * 2**30} {used}")
    rows, absent = driver.samples(1)
    assert [(row["device"], row.get("power_w"), row.get("memory_bytes")) for row in rows] == [
        ("gpu0", 350.5, 2**30),
        ("gpu0/mig0", None, 5),
        ("gpu0/mig3", None, 9),
    ]
    assert absent["utilisation"] == "NVML: Not Supported"
    assert absent["gpu0/mig0.processes"] == "NVML: Not Supported"


def test_a_counter_that_is_set_back_counts_no_more(driver: Driver) -> None:
    driver.later = {(ENERGY, "0"): (0, "1000")}
    rows, absent = driver.samples()
    assert [row.get("energy_j") for row in rows] == [0, 0, None, None]
    assert "the device's counter was set back" in absent["energy"]


def test_an_old_driver_has_throttle_reasons_by_their_former_name(tmp_path: Path) -> None:
    driver = Driver(compile_library(tmp_path / "old", "-DOLD_DRIVER"), tmp_path)
    driver.first["nvmlDeviceGetCurrentClocksThrottleReasons", "0"] = (0, "8")
    rows, absent = driver.samples(1)
    assert rows[0]["throttled_by"] == ["hw_slowdown"]
    assert absent == {"nvlink traffic": "NVML: Function Not Found"}


@pytest.mark.parametrize(
    ("code", "words"), [(9, "Driver Not Loaded"), (18, "RM has detected an NVML/RM version mismatch")]
)
def test_a_driver_that_does_not_start_gives_no_samples(driver: Driver, code: int, words: str) -> None:
    driver.first["nvmlInit", "*"] = (code, "")
    assert driver.samples() == ([], {"power": f"no NVIDIA driver on this host ({words})"})


def test_devices_that_cannot_be_counted(driver: Driver) -> None:
    driver.first["nvmlDeviceGetCount", "*"] = (UNKNOWN, "")
    assert driver.samples() == ([], {"devices": "NVML does not count the devices (Unknown Error)"})
