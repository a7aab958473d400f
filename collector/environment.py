"""What a trial ran on: hardware, operating system, packages and thread settings, each from its real source.

The digest of a part of it (the software of the stack, the class of the hardware) enters the trial's identity. What
changes from day to day (kernel patch level, pressure, boot) is recorded but stays outside.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import socket
from pathlib import Path
from typing import Any

import psutil
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from collector.inventory import amd, processor, source, system
from collector.inventory.nvidia import Nvidia
from collector.telemetry.host import PRESSURE, read_pressure
from ledger.canonical import digest

VARIABLES = re.compile(r"(OMP|MKL|GOMP|KMP|OPENBLAS|CUDA|NCCL|GLOO|TORCH|HF_HUB_OFFLINE|VLLM|DS)(_[A-Z0-9_]+)?")
"""Environment variables that are kept: an allow-list, for all others may hold secrets."""


def environment(requires: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """The content of environment.json before the launch; `folder` is the one whose commit is recorded."""
    absent: dict[str, str] = {}
    hardware = _hardware(absent)
    pressure = cpu_pressure()
    if pressure is None:
        absent["pressure"] = "this kernel has no /proc/pressure/cpu"
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": {"system": platform.system(), "release": platform.release(), "machine": platform.machine()},
        "packages": packages(),
        "stack_packages": stack_packages(requires),
        "hardware": hardware,
        "system": system.system(absent),
        "container": system.container(absent),
        "toolkits": system.toolkits(absent),
        "variables": {name: value for name, value in sorted(os.environ.items()) if VARIABLES.fullmatch(name)},
        "source": source.source(folder),
        "host": host_name(),
        "boot_id": boot_id(),
        "pressure": {"cpu_before": pressure},
        "absent": absent,
    }


def environment_digest(environment: dict[str, Any], variables: dict[str, str]) -> str:
    """Digest of what makes two environments the same for a trial: the stack's software and the hardware's class."""
    hardware = environment["hardware"]
    return digest(
        {
            "python": environment["python"],
            "implementation": environment["implementation"],
            "system": environment["platform"]["system"],
            "machine": environment["platform"]["machine"],
            "packages": _software(environment),
            "cpu_model": hardware["cpu_model"],
            "cores": hardware["cores"],
            "memory_gib": round(hardware["memory_bytes"] / 2**30),
            "devices": [name for device in hardware["devices"] for name in _names(device)],
            "variables": variables,
        }
    )


def _names(device: dict[str, Any]) -> list[str]:
    """A device's name, and those of the MIG instances that it is cut into."""
    return [device["name"], *(instance["name"] for instance in device.get("mig", ()))]


def _software(environment: dict[str, Any]) -> dict[str, str]:
    """What names the stack's software: its packages, or what its own virtual environment is made from."""
    own = environment.get("virtual_environment")
    return {"virtual_environment": own["key"]} if own else environment["stack_packages"]


def host_name() -> str:
    """This host's name in evidence: STACKPROOF_HOST, else what the system calls it."""
    return os.environ.get("STACKPROOF_HOST") or socket.gethostname()


def boot_id() -> str:
    """What tells one boot of this host from the next."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.is_file() else str(psutil.boot_time())


def cpu_pressure() -> dict[str, float] | None:
    """Shares of time (0 to 1) that a task waited for a processor, over 10, 60 and 300 s, and the total in seconds."""
    pressure = read_pressure(PRESSURE / "cpu")
    return None if pressure is None else {**pressure.shares, "total_s": pressure.total_s}


def packages() -> dict[str, str]:
    """{distribution: version} of everything installed here, by canonical name."""
    found = {}
    for each in importlib.metadata.distributions():
        name = each.metadata["Name"]
        if name:
            found[canonicalize_name(name)] = each.version
    return dict(sorted(found.items()))


def stack_packages(requires: tuple[str, ...]) -> dict[str, str]:
    """{distribution: version} of `requires` and, transitively, what those need; what is not installed is left out."""
    found: dict[str, str] = {}
    waiting = [canonicalize_name(name) for name in requires]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found[name] = distribution.version
        waiting += [canonicalize_name(need.name) for need in _needs(distribution)]
    return dict(sorted(found.items()))


def _needs(distribution: importlib.metadata.Distribution) -> list[Requirement]:
    needs = []
    for line in distribution.requires or []:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            needs.append(requirement)
    return needs


def _hardware(absent: dict[str, str]) -> dict[str, Any]:
    """The host's class (`cpu_model`, `cores`, `memory_bytes`, `devices`: they name it), and what it is made of."""
    with Nvidia(absent) as nvidia:
        devices, topology, driver = nvidia.devices() + amd.devices(), nvidia.topology(), nvidia.driver()
    return {
        "cpu_model": processor.model(),
        "cores": processor.cores(),
        "memory_bytes": psutil.virtual_memory().total,
        "devices": devices,
        "topology": topology,
        "driver": driver,
        "processor": processor.processor(absent),
        "numa": processor.numa(),
        "memory": processor.memory(absent),
        "network": system.network(absent),
    }
