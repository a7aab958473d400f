"""NVIDIA devices and how they are linked, from NVML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from collector.inventory.files import number
from collector.telemetry.nvml import close_nvml, mig_instances, open_nvml

ROOT = Path("/")


class Nvidia:
    """What NVML tells of this host's devices. Use it as a context; `devices` is empty where there is no driver."""

    def __init__(self, absent: dict[str, str], root: Path = ROOT) -> None:
        self._absent = absent
        self._root = root
        self._nvml: Any = None
        self._handles: list[Any] = []

    def __enter__(self) -> Nvidia:
        """Open NVML; where that fails, `absent` says why."""
        nvml = open_nvml()
        if isinstance(nvml, str):
            self._absent["devices"] = nvml
            return self
        self._nvml = nvml
        for index in range(self._ask("devices", nvml.nvmlDeviceGetCount) or 0):
            self._handles.append(self._ask(f"gpu{index}", nvml.nvmlDeviceGetHandleByIndex, index))
        return self

    def __exit__(self, *_: object) -> None:
        """Close NVML."""
        if self._nvml is not None:
            close_nvml(self._nvml)

    def driver(self) -> dict[str, Any]:
        """`{nvidia, cuda}`: the driver's version, and the newest CUDA that it can run."""
        if self._nvml is None:
            return {}
        version = self._ask("driver", self._nvml.nvmlSystemGetDriverVersion)
        cuda = self._ask("driver.cuda", self._nvml.nvmlSystemGetCudaDriverVersion_v2)
        known = {"nvidia": version, "cuda": None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}"}
        return {name: value for name, value in known.items() if value is not None}

    def devices(self) -> list[dict[str, Any]]:
        """Each device that could be opened: name, memory in bytes, driver, and what else it is made of."""
        driver = self.driver().get("nvidia")
        return [self._device(index, handle, driver) for index, handle in self._opened()]

    def topology(self) -> dict[str, dict[str, str]]:
        """{device: {other: link}}, in the words of `nvidia-smi topo`; empty with fewer than two devices."""
        return {
            f"gpu{one}": {
                f"gpu{two}": self._link(a, b, f"topology.gpu{one}.gpu{two}") for two, b in self._opened() if two != one
            }
            for one, a in self._opened()
            if len(self._opened()) > 1
        }

    def _opened(self) -> list[tuple[int, Any]]:
        return [(index, handle) for index, handle in enumerate(self._handles) if handle is not None]

    def _device(self, index: int, handle: Any, driver: str | None) -> dict[str, Any]:
        nvml, where = self._nvml, f"gpu{index}"

        def ask(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
            return self._ask(f"{where}.{name}", call, handle, *arguments)

        capability = ask("compute_capability", nvml.nvmlDeviceGetCudaComputeCapability)
        limit_mw = ask("power_limit", nvml.nvmlDeviceGetEnforcedPowerLimit)
        ecc = ask("ecc", nvml.nvmlDeviceGetEccMode)
        pci = ask("pci", nvml.nvmlDeviceGetPciInfo)
        found = {
            "name": ask("name", nvml.nvmlDeviceGetName) or "NVIDIA device",
            "memory_bytes": getattr(ask("memory", nvml.nvmlDeviceGetMemoryInfo), "total", None),
            "driver": driver,
            "uuid": ask("uuid", nvml.nvmlDeviceGetUUID),
            "pci_bus_id": _text(pci.busId) if pci is not None else None,
            "numa_node": self._numa_node(pci),
            "vbios": ask("vbios", nvml.nvmlDeviceGetVbiosVersion),
            "compute_capability": None if capability is None else f"{capability[0]}.{capability[1]}",
            "power_limit_w": None if limit_mw is None else limit_mw / 1e3,
            "max_clock_hz": _hertz(ask("max_clock", nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM)),
            "max_memory_clock_hz": _hertz(ask("max_memory_clock", nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_MEM)),
            "pcie_generation": ask("pcie_generation", nvml.nvmlDeviceGetMaxPcieLinkGeneration),
            "pcie_lanes": ask("pcie_lanes", nvml.nvmlDeviceGetMaxPcieLinkWidth),
            "ecc": None if ecc is None else bool(ecc[0]),
            "nvlinks": len(self._links(handle)) or None,
            "mig": self._instances(handle) or None,
        }
        return {name: value for name, value in found.items() if value is not None or name in ("memory_bytes", "driver")}

    def _instances(self, handle: Any) -> list[dict[str, Any]]:
        """The MIG instances: {name, memory_bytes}."""
        found = []
        for number_, instance in mig_instances(self._nvml, handle):
            name = self._ask(f"mig{number_}.name", self._nvml.nvmlDeviceGetName, instance)
            memory = self._ask(f"mig{number_}.memory", self._nvml.nvmlDeviceGetMemoryInfo, instance)
            found.append({"name": name or "MIG instance", "memory_bytes": getattr(memory, "total", None)})
        return found

    def _numa_node(self, pci: Any) -> int | None:
        """The node that the device's slot belongs to; the kernel writes -1 where it does not know."""
        if pci is None:
            return None
        place = _text(pci.busId).lower()[-12:]  # NVML writes 8 digits of the domain, the kernel 4
        node = number(self._root / "sys/bus/pci/devices" / place / "numa_node")
        return node if node is not None and node >= 0 else None

    def _links(self, handle: Any) -> list[str]:
        """PCI addresses of what is at the other end of each active NVLink: a device, or a switch."""
        nvml, ends = self._nvml, []
        for link in range(nvml.NVML_NVLINK_MAX_LINKS):
            try:
                if nvml.nvmlDeviceGetNvLinkState(handle, link):
                    ends.append(_text(nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId))
            except nvml.NVMLError:  # a link that this device does not have
                break
        return ends

    def _link(self, one: Any, two: Any, name: str) -> str:
        nvml = self._nvml
        other = self._ask(name, nvml.nvmlDeviceGetPciInfo, two)
        ends = self._links(one)
        direct = ends.count(_text(other.busId)) if other is not None else 0
        if direct:
            return f"NV{direct}"
        if ends and self._is_nvlink(one, two):  # through switches every link leads to every device
            return f"NV{len(ends)}"
        level = self._ask(name, nvml.nvmlDeviceGetTopologyCommonAncestor, one, two)
        return "unknown" if level is None else _levels(nvml).get(level, f"level {level}")

    def _is_nvlink(self, one: Any, two: Any) -> bool:
        nvml = self._nvml
        try:
            status = nvml.nvmlDeviceGetP2PStatus(one, two, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
        except nvml.NVMLError:
            return False
        return bool(status == nvml.NVML_P2P_STATUS_OK)

    def _ask(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except self._nvml.NVMLError as error:
            self._absent[name] = f"NVML: {error}"
            return None


def _levels(nvml: Any) -> dict[int, str]:
    """What `nvidia-smi topo` calls the nearest thing that two devices share."""
    return {
        nvml.NVML_TOPOLOGY_INTERNAL: "board",
        nvml.NVML_TOPOLOGY_SINGLE: "PIX",
        nvml.NVML_TOPOLOGY_MULTIPLE: "PXB",
        nvml.NVML_TOPOLOGY_HOSTBRIDGE: "PHB",
        nvml.NVML_TOPOLOGY_NODE: "NODE",
        nvml.NVML_TOPOLOGY_SYSTEM: "SYS",
    }


def _hertz(megahertz: int | None) -> int | None:
    return None if megahertz is None else megahertz * 10**6


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
