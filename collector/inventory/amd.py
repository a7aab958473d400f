"""AMD devices, as the amdgpu driver shows them in /sys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collector.inventory.files import line, number

ROOT = Path("/")
_VENDOR = "0x1002"


def devices(root: Path = ROOT) -> list[dict[str, Any]]:
    """{name, memory_bytes, driver, pci_bus_id, numa_node} of each device, in PCI order; none without amdgpu."""
    driver = line(root / "sys/module/amdgpu/version") or line(root / "proc/sys/kernel/osrelease")
    found = []
    for folder in sorted((root / "sys/module/amdgpu/drivers/pci:amdgpu").glob("[0-9a-f]*:*")):
        if line(folder / "vendor") != _VENDOR:
            continue
        found.append(
            {
                "name": line(folder / "product_name") or f"AMD device {line(folder / 'device')}",
                "memory_bytes": number(folder / "mem_info_vram_total"),
                "driver": driver,
                "pci_bus_id": folder.name,
                "numa_node": number(folder / "numa_node"),
            }
        )
    return found
