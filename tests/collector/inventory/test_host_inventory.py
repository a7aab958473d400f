"""The inventory of a host, from made-up /proc and /sys: each value with its unit, what is not told with its reason."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from collector.environment import environment, environment_digest
from collector.inventory import amd, files, processor, source, system


def tree(root: Path, contents: dict[str, str]) -> Path:
    """Files below `root`, by path."""
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Platinum 8480+
flags\t\t: fpu avx2 avx512f amx_bf16 hypervisor

processor\t: 1
model name\t: another
"""


def test_two_sockets_with_two_threads_a_core(tmp_path: Path) -> None:
    topology = {
        f"sys/devices/system/cpu/cpu{cpu}/topology/{name}": text
        for cpu in range(8)
        for name, text in (
            ("physical_package_id", f"{cpu // 2 % 2}\n"),
            ("thread_siblings_list", f"{cpu % 4},{cpu % 4 + 4}\n"),
        )
    }
    governor = {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n"}
    root = tree(tmp_path, {"proc/cpuinfo": CPUINFO, **topology, **governor})
    absent: dict[str, str] = {}
    found = processor.processor(absent, root)
    assert processor.model(root) == "Intel(R) Xeon(R) Platinum 8480+"
    assert (found["sockets"], found["physical_cores"], found["governor"]) == (2, 4, "performance")
    assert found["instructions"] == ["avx2", "avx512f", "amx_bf16"]
    assert found["hypervisor"] is True
    assert absent == {}


def test_a_kernel_that_tells_nothing(tmp_path: Path) -> None:
    absent: dict[str, str] = {}
    found = processor.processor(absent, tmp_path)
    assert set(found) == {"threads", "instructions"}
    assert set(absent) == {f"processor.{name}" for name in ("sockets", "physical_cores", "governor", "hypervisor")}
    assert processor.numa(tmp_path) == []


def test_numa_nodes_with_their_memory_and_distances(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            f"sys/devices/system/node/node{node}/{name}": text
            for node in (0, 1, 10)
            for name, text in (
                ("cpulist", f"{node * 4}-{node * 4 + 1},{node * 4 + 3}\n"),
                ("meminfo", f"Node {node} MemTotal:  2048 kB\nNode {node} MemFree: 1 kB\n"),
                ("distance", "10 21 21\n"),
            )
        },
    )
    nodes = processor.numa(root)
    assert [each["node"] for each in nodes] == [0, 1, 10]
    assert nodes[1] == {"node": 1, "processors": [4, 5, 7], "memory_bytes": 2 * 2**20, "distances": [10, 21, 21]}


@pytest.mark.parametrize(
    ("contents", "limit"),
    [
        ({"sys/fs/cgroup/memory.max": "1073741824\n"}, 2**30),
        ({"sys/fs/cgroup/memory.max": "max\n"}, None),
        ({"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ({"sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n"}, 2**20),
    ],
)
def test_what_a_control_group_allows(tmp_path: Path, contents: dict[str, str], limit: int | None) -> None:
    pages = {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}
    found = processor.memory({}, tree(tmp_path, contents | pages))
    assert found.get("limit_bytes") == limit
    assert found["transparent_hugepages"] == "madvise"


def test_a_podman_container_names_its_image(tmp_path: Path) -> None:
    root = tree(tmp_path, {"run/.containerenv": 'engine="podman-5.4"\nimage="docker.io/vllm/vllm:v1"\nimageid="abc"\n'})
    absent: dict[str, str] = {}
    found = system.container(absent, root)
    assert (found, absent) == ({"runtime": "podman", "image": "docker.io/vllm/vllm:v1", "image_id": "abc"}, {})


def test_a_docker_container_is_told_its_image_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path, {".dockerenv": ""})
    absent: dict[str, str] = {}
    assert system.container(absent, root) == {"runtime": "docker"}
    assert absent["container.image"].endswith("set STACKPROOF_CONTAINER_IMAGE")
    monkeypatch.setenv(system.IMAGE, "registry.example/vllm@sha256:1")
    assert system.container({}, root)["image"] == "registry.example/vllm@sha256:1"


def test_no_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    absent: dict[str, str] = {}
    assert (system.container(absent, tmp_path), absent) == ({}, {})


def test_infiniband_ports_that_are_up(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
            "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
            "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
            "sys/class/infiniband/mlx5_1/ports/1/rate": "10 Gb/sec (4X SDR)\n",
            "sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN\n",
        },
    )
    ports = [each for each in system.network({}, root) if each["kind"] == "infiniband"]
    assert ports == [{"name": "mlx5_0/1", "kind": "infiniband", "speed_gbps": 400.0}]


def test_toolkits_by_their_own_tool_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = tmp_path / "bin/nvcc"
    tree(tmp_path, {"bin/nvcc": "#!/bin/sh\necho 'Cuda compilation tools, release 12.8, V12.8.93'\n"})
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/bin:/usr/bin")
    root = tree(tmp_path, {"opt/rocm/.info/version": "6.4.1-83\n"})
    absent: dict[str, str] = {}
    assert system.toolkits(absent, root) == {"cuda": "12.8 (V12.8.93)", "rocm": "6.4.1-83"}
    assert absent == {}
    monkeypatch.setenv("PATH", "/nonexistent")
    assert system.toolkits(absent, tmp_path / "none") == {}
    assert set(absent) == {"toolkits.cuda", "toolkits.rocm"}


def test_amd_devices_as_the_driver_shows_them(tmp_path: Path) -> None:
    place = "sys/module/amdgpu/drivers/pci:amdgpu"
    root = tree(
        tmp_path,
        {
            "sys/module/amdgpu/version": "6.12.12\n",
            f"{place}/0000:05:00.0/vendor": "0x1002\n",
            f"{place}/0000:05:00.0/device": "0x74a1\n",
            f"{place}/0000:05:00.0/product_name": "AMD Instinct MI300X OAM\n",
            f"{place}/0000:05:00.0/mem_info_vram_total": "206141652992\n",
            f"{place}/0000:05:00.0/numa_node": "1\n",
            f"{place}/0000:15:00.0/vendor": "0x1002\n",
            f"{place}/0000:15:00.0/device": "0x74a1\n",
        },
    )
    first, second = amd.devices(root)
    assert first == {
        "name": "AMD Instinct MI300X OAM",
        "memory_bytes": 206_141_652_992,
        "driver": "6.12.12",
        "pci_bus_id": "0000:05:00.0",
        "numa_node": 1,
    }
    assert (second["name"], second["memory_bytes"]) == ("AMD device 0x74a1", None)
    assert amd.devices(tmp_path / "none") == []


@pytest.mark.parametrize(("text", "numbers"), [("0-2,8", [0, 1, 2, 8]), ("5", [5]), ("", []), ("0-0", [0])])
def test_lists_as_the_kernel_writes_them(text: str, numbers: list[int]) -> None:
    assert files.listed(text) == numbers


def git(folder: Path, *words: str) -> None:
    """git with an identity, for a test's repository."""
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_what_differs_from_the_commit_has_a_digest_that_evidence_does_not_change(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    tree(tmp_path, {"a.py": "1\n", "evidence/x": "1\n"})
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a")
    clean = source.source(tmp_path)
    assert (clean["dirty"], "diff_digest" in clean) == (False, False)
    tree(tmp_path, {"evidence/x": "2\n"})
    assert source.source(tmp_path) == clean
    tree(tmp_path, {"a.py": "2\n"})
    once = source.source(tmp_path)
    assert once["dirty"] is True
    assert len(once["diff_digest"]) == 64
    tree(tmp_path, {"a.py": "3\n"})
    assert source.source(tmp_path)["diff_digest"] != once["diff_digest"]
    tree(tmp_path, {"a.py": "2\n"})
    assert source.source(tmp_path) == once


def test_outside_of_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert source.source(tmp_path) == {"commit": None, "dirty": None}


def test_the_class_of_the_hardware_names_mig_instances_and_no_more_than_it_did(tmp_path: Path) -> None:
    found = environment((), tmp_path)
    plain = environment_digest(found, {})
    found["hardware"]["processor"] = found["system"] = found["container"] = {"changed": True}
    found["hardware"]["devices"] = []
    assert environment_digest(found, {}) == plain
    found["hardware"]["devices"] = [{"name": "H100", "power_limit_w": 700}]
    whole = environment_digest(found, {})
    found["hardware"]["devices"] = [{"name": "H100", "power_limit_w": 500}]
    assert environment_digest(found, {}) == whole
    found["hardware"]["devices"] = [{"name": "H100", "mig": [{"name": "H100 MIG 1g.10gb"}]}]
    assert environment_digest(found, {}) != whole
