"""The inventory of NVIDIA devices, read by the real pynvml from a library that answers what a test wants."""

import pytest

from tests.faults.nvml.driver import NO_PERMISSION, NOT_SUPPORTED, Driver, answers

pytestmark = pytest.mark.faults

LEVELS = {0: "board", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}


def test_a_device_with_all_that_nvml_tells(driver: Driver) -> None:
    found = driver.inventory()
    assert found["count"] == 1
    assert found["absent"] == {}
    assert found["driver"] == {"nvidia": "580.65.06", "cuda": "13.0"}
    assert found["topology"] == {}
    assert found["devices"] == [
        {
            "name": "NVIDIA H100 80GB HBM3",
            "memory_bytes": 80 * 2**30,
            "driver": "580.65.06",
            "uuid": "GPU-00000",
            "pci_bus_id": "00000000:01:00.0",
            "vbios": "96.00.89.00.01",
            "compute_capability": "9.0",
            "power_limit_w": 700.0,
            "max_clock_hz": 1_980_000_000,
            "max_memory_clock_hz": 2_619_000_000,
            "pcie_generation": 5,
            "pcie_lanes": 16,
            "ecc": True,
        }
    ]


def test_what_a_device_does_not_tell_is_absent_with_its_reason(driver: Driver) -> None:
    driver.first["nvmlDeviceGetEccMode", "0"] = (NOT_SUPPORTED, "")
    driver.first["nvmlDeviceGetMemoryInfo", "0"] = (NO_PERMISSION, "")
    found = driver.inventory()
    assert found["absent"] == {"gpu0.ecc": "NVML: Not Supported", "gpu0.memory": "NVML: Insufficient Permissions"}
    assert "ecc" not in found["devices"][0]
    assert found["devices"][0]["memory_bytes"] is None


def test_a_device_that_cannot_be_opened_is_absent_and_the_others_keep_their_numbers(driver: Driver) -> None:
    driver.first = answers(3)
    driver.first["nvmlDeviceGetHandleByIndex", "1"] = (NO_PERMISSION, "")
    driver.first["nvmlDeviceGetTopologyCommonAncestor:2", "0"] = (0, "10")
    driver.first["nvmlDeviceGetTopologyCommonAncestor:0", "2"] = (0, "10")
    found = driver.inventory()
    assert [each["uuid"] for each in found["devices"]] == ["GPU-00000", "GPU-00002"]
    assert found["absent"] == {"gpu1": "NVML: Insufficient Permissions"}
    assert found["topology"] == {"gpu0": {"gpu2": "PIX"}, "gpu2": {"gpu0": "PIX"}}


@pytest.mark.parametrize(("level", "word"), LEVELS.items())
def test_the_topology_matrix_in_the_words_of_nvidia_smi(driver: Driver, level: int, word: str) -> None:
    driver.first = answers(2)
    for one, two in ((0, 1), (1, 0)):
        driver.first[f"nvmlDeviceGetTopologyCommonAncestor:{two}", str(one)] = (0, str(level))
    assert driver.inventory()["topology"] == {"gpu0": {"gpu1": word}, "gpu1": {"gpu0": word}}


def test_direct_nvlinks_are_counted_by_the_device_at_their_end(driver: Driver) -> None:
    driver.first = answers(3)
    ends = {0: (1, 1, 2), 1: (0, 0), 2: (0,)}
    for device, others in ends.items():
        for link, other in enumerate(others):
            driver.first[f"nvmlDeviceGetNvLinkState:{link}", str(device)] = (0, "1")
            end = f"00000000:{other + 1:02X}:00.0"
            driver.first[f"nvmlDeviceGetNvLinkRemotePciInfo:{link}", str(device)] = (0, end)
        for other in range(3):
            driver.first[f"nvmlDeviceGetTopologyCommonAncestor:{other}", str(device)] = (0, "50")
    found = driver.inventory()
    assert found["topology"]["gpu0"] == {"gpu1": "NV2", "gpu2": "NV1"}
    assert found["topology"]["gpu1"] == {"gpu0": "NV2", "gpu2": "SYS"}
    assert [each["nvlinks"] for each in found["devices"]] == [3, 2, 1]


def test_through_switches_every_link_leads_to_every_device(driver: Driver) -> None:
    driver.first = answers(2)
    for one, two in ((0, 1), (1, 0)):
        driver.first[f"nvmlDeviceGetP2PStatus:{two}", str(one)] = (0, "0")
        for link in range(18):
            driver.first[f"nvmlDeviceGetNvLinkState:{link}", str(one)] = (0, "1")
            driver.first[f"nvmlDeviceGetNvLinkRemotePciInfo:{link}", str(one)] = (0, f"00000000:{link + 128:02X}:00.0")
    assert driver.inventory()["topology"] == {"gpu0": {"gpu1": "NV18"}, "gpu1": {"gpu0": "NV18"}}


def test_mig_instances_are_named(driver: Driver) -> None:
    driver.first |= {
        ("nvmlDeviceGetMigMode", "0"): (0, "1 1"),
        ("nvmlDeviceGetMaxMigDeviceCount", "0"): (0, "7"),
        ("nvmlDeviceGetMigDeviceHandleByIndex", "0/2"): (0, ""),
        ("nvmlDeviceGetName", "0/2"): (0, "NVIDIA H100 80GB HBM3 MIG 1g.10gb"),
        ("nvmlDeviceGetMemoryInfo", "0/2"): (0, f"{10 * 2**30} 0"),
    }
    found = driver.inventory()["devices"][0]["mig"]
    assert found == [{"name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "memory_bytes": 10 * 2**30}]
