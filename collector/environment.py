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

from collector import telemetry
from ledger import git
from ledger.canonical import digest
from ledger.errors import GitError

VARIABLES = re.compile(r"(OMP|MKL|GOMP|KMP|OPENBLAS|CUDA|NCCL|GLOO|TORCH|HF_HUB_OFFLINE|VLLM|DS)(_[A-Z0-9_]+)?")
"""Environment variables that are kept: an allow-list, for all others may hold secrets."""


def environment(requires: tuple[str, ...], source: Path) -> dict[str, Any]:
    """The content of environment.json before the launch; `source` is the folder whose commit is recorded."""
    hardware = _hardware()
    absent = {}
    devices, reason = _devices()
    if reason:
        absent["devices"] = reason
    pressure = cpu_pressure()
    if pressure is None:
        absent["pressure"] = "this kernel has no /proc/pressure/cpu"
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": {"system": platform.system(), "release": platform.release(), "machine": platform.machine()},
        "packages": packages(),
        "stack_packages": stack_packages(requires),
        "hardware": {**hardware, "devices": devices},
        "variables": {name: value for name, value in sorted(os.environ.items()) if VARIABLES.fullmatch(name)},
        "source": _source(source),
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
            "devices": [device["name"] for device in hardware["devices"]],
            "variables": variables,
        }
    )


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
    """/proc/pressure/cpu's `some` line: shares of time (0 to 1) over 10, 60 and 300 s, and the total in seconds."""
    try:
        line = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    values = dict(part.split("=") for part in line.split()[1:])
    shares = {name: float(values[name]) / 100 for name in ("avg10", "avg60", "avg300")}
    return {**shares, "total_s": int(values["total"]) / 1e6}


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


def _hardware() -> dict[str, Any]:
    return {
        "cpu_model": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }


def _cpu_model() -> str:
    """The processor's name as the kernel tells it; where it tells none, its family and model numbers."""
    fields: dict[str, str] = {}
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name", "")
    if name and name != "unknown":
        return name
    numbers = [fields[key] for key in ("vendor_id", "cpu family", "model", "stepping") if key in fields]
    return " ".join(numbers) or platform.processor() or platform.machine()


def _devices() -> tuple[list[dict[str, Any]], str | None]:
    """The NVIDIA devices of this host, or why there are none."""
    probe = telemetry.open_nvml()
    if isinstance(probe, str):
        return [], probe
    try:
        return probe.inventory(), None
    finally:
        probe.close()


def _source(folder: Path) -> dict[str, Any]:
    """Commit of the repository around `folder`, and whether its tracked files differ from it."""
    try:
        repository = git.find(folder)
        dirty = bool(repository.text("status", "--porcelain", "--untracked-files=no", "--", ":!evidence"))
        return {"commit": repository.head(), "dirty": dirty}
    except GitError:
        return {"commit": None, "dirty": None}
