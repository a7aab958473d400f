"""The system around a trial: kernel and distribution, container, network, and the toolkits that are installed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psutil

from collector.inventory.files import line, pairs

ROOT = Path("/")
IMAGE = "STACKPROOF_CONTAINER_IMAGE"
"""The environment variable that names the container image where the container is not told it."""


def system(absent: dict[str, str], root: Path = ROOT) -> dict[str, Any]:
    """Kernel build, distribution and C library."""
    distribution = pairs(root / "etc/os-release", "=").get("PRETTY_NAME")
    if distribution is None:
        absent["system.distribution"] = "there is no /etc/os-release"
    library = " ".join(filter(None, platform.libc_ver()))
    found = {"kernel": platform.version(), "distribution": distribution, "c_library": library or None}
    return {name: value for name, value in found.items() if value}


def container(absent: dict[str, str], root: Path = ROOT) -> dict[str, Any]:
    """{runtime, image, image_id} of the container that this process runs in; empty outside of one."""
    podman = root / "run/.containerenv"
    if podman.is_file():
        told = pairs(podman, "=")
        found = {"runtime": "podman", "image": told.get("image"), "image_id": told.get("imageid")}
    elif (root / ".dockerenv").exists():
        found = {"runtime": "docker", "image": None, "image_id": None}
    elif "KUBERNETES_SERVICE_HOST" in os.environ:
        found = {"runtime": "kubernetes", "image": None, "image_id": None}
    else:
        return {}
    found["image"] = os.environ.get(IMAGE) or found["image"]
    if not found["image"]:
        absent["container.image"] = f"{found['runtime']} does not tell it to the container; set {IMAGE}"
    return {name: value for name, value in found.items() if value}


def network(absent: dict[str, str], root: Path = ROOT) -> list[dict[str, Any]]:
    """Interfaces that are up, but for loopback: {name, kind, speed_gbps}, InfiniBand ports among them."""
    interfaces = []
    for name, state in sorted(psutil.net_if_stats().items()):
        if state.isup and name != "lo":
            speed = state.speed / 1000 if state.speed > 0 else None
            interfaces.append({"name": name, "kind": "ethernet", "speed_gbps": speed})
    if interfaces and all(each["speed_gbps"] is None for each in interfaces):
        absent["network.speed"] = "no interface tells its speed, as virtual ones do not"
    for port in sorted((root / "sys/class/infiniband").glob("*/ports/*")):
        rate = line(port / "rate")
        if rate and "ACTIVE" in (line(port / "state") or ""):
            kind = (line(port / "link_layer") or "InfiniBand").lower()
            interfaces.append(
                {"name": f"{port.parts[-3]}/{port.name}", "kind": kind, "speed_gbps": float(rate.split()[0])}
            )
    return interfaces


def toolkits(absent: dict[str, str], root: Path = ROOT) -> dict[str, str]:
    """Versions of the CUDA and ROCm toolkits on this host: `{cuda, rocm}`, each where it is installed."""
    found = {}
    cuda = _cuda()
    if cuda is None:
        absent["toolkits.cuda"] = "no nvcc on PATH"
    else:
        found["cuda"] = cuda
    rocm = line(root / "opt/rocm/.info/version")
    if rocm is None:
        absent["toolkits.rocm"] = "there is no /opt/rocm/.info/version"
    else:
        found["rocm"] = rocm
    return found


def _cuda() -> str | None:
    """The release that nvcc tells, such as `13.0 (V13.0.88)`."""
    program = shutil.which("nvcc")
    if program is None:
        return None
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    release = re.search(r"release ([\d.]+), (V[\d.]+)", done.stdout)
    return f"{release[1]} ({release[2]})" if release else None
