"""What a device could do at best, by its name: the table `peaks.yaml`, each row with its source."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml

TABLE = Path(__file__).with_name("peaks.yaml")


def memory_bandwidth(device: str) -> float | None:
    """Peak bandwidth of a device's memory in bytes a second; None for a device that the table does not have."""
    name = " ".join(device.split())
    return next((peak for pattern, peak in _memory_bandwidths() if pattern.fullmatch(name)), None)


@cache
def _memory_bandwidths() -> tuple[tuple[re.Pattern[str], float], ...]:
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["memory_bandwidth"]
    return tuple((re.compile(row["device"], re.IGNORECASE), float(row["bytes_per_s"])) for row in rows)
