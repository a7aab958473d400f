"""The host's processors, NUMA nodes and memory, from /proc and /sys."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import psutil

from collector.inventory.files import line, listed, number, pairs

ROOT = Path("/")
INSTRUCTIONS = (
    "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16",
    "asimd", "asimddp", "bf16", "i8mm", "sve", "sve2", "sme",
)  # fmt: skip
"""Instruction sets that decide which kernels a framework takes, as the kernel names them (x86, then Arm)."""


def cores() -> int | None:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def model(root: Path = ROOT) -> str:
    """The processor's name as the kernel tells it; where it tells none, its family and model numbers."""
    fields = pairs(root / "proc/cpuinfo", ":")
    name = fields.get("model name", "")
    if name and name != "unknown":
        return name
    numbers = [fields[key] for key in ("vendor_id", "cpu family", "model", "stepping") if key in fields]
    return " ".join(numbers) or platform.processor() or platform.machine()


def processor(absent: dict[str, str], root: Path = ROOT) -> dict[str, Any]:
    """Sockets, cores, threads, instruction sets and the governor."""
    fields = pairs(root / "proc/cpuinfo", ":")
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    folders = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*/topology"))
    sockets = {number(each / "physical_package_id") for each in folders} - {None}
    siblings = {line(each / "thread_siblings_list") for each in folders} - {None}
    found = {
        "sockets": len(sockets) or None,
        "physical_cores": len(siblings) or None,
        "threads": os.cpu_count(),
        "instructions": [each for each in INSTRUCTIONS if each in flags],
        "governor": line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "hypervisor": "hypervisor" in flags if flags else None,
    }
    return _known(found, "processor", "the kernel does not tell it", absent)


def numa(root: Path = ROOT) -> list[dict[str, Any]]:
    """The NUMA nodes: {node, processors, memory_bytes, distances to every node}; none where the kernel tells none."""
    nodes = []
    for folder in sorted((root / "sys/devices/system/node").glob("node[0-9]*"), key=lambda each: int(each.name[4:])):
        memory = pairs(folder / "meminfo", ":")
        total = next((value for key, value in memory.items() if key.endswith("MemTotal")), "")
        distances = line(folder / "distance")
        nodes.append(
            {
                "node": int(folder.name[4:]),
                "processors": listed(line(folder / "cpulist") or ""),
                "memory_bytes": int(total.split()[0]) * 1024 if total else None,
                "distances": [int(each) for each in distances.split()] if distances else None,
            }
        )
    return nodes


def memory(absent: dict[str, str], root: Path = ROOT) -> dict[str, Any]:
    """Bytes of memory and swap, what the control group allows, and how the kernel treats large pages."""
    pages = line(root / "sys/kernel/mm/transparent_hugepage/enabled")
    found = {
        "total_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "transparent_hugepages": pages.partition("[")[2].partition("]")[0] if pages else None,
    }
    known = _known(found, "memory", "the kernel does not tell it", absent)
    limit = _group_limit(root)
    if limit is not None:
        known["limit_bytes"] = limit
    return known


def _group_limit(root: Path) -> int | None:
    """The smallest memory limit of the control groups that this process sees, in bytes; None without one."""
    limits = [number(root / "sys/fs/cgroup" / name) for name in ("memory.max", "memory/memory.limit_in_bytes")]
    real = [limit for limit in limits if limit is not None and limit < psutil.virtual_memory().total]
    return min(real, default=None)


def _known(found: dict[str, Any], of: str, reason: str, absent: dict[str, str]) -> dict[str, Any]:
    """`found` without what is None; each of those goes to `absent`."""
    absent.update({f"{of}.{name}": reason for name, value in found.items() if value is None})
    return {name: value for name, value in found.items() if value is not None}
