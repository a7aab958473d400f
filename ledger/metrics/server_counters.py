"""What a server counted of itself during a launch: its Prometheus text before and after the load.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text). Of a series with labels all are added up.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

BEFORE, AFTER = "samples/metrics_before.prom", "samples/metrics_after.prom"
FILES = (BEFORE, AFTER)

_LINE = re.compile(r"^(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{.*\})?\s+(?P<value>\S+)")


def growth(folder: Path, name: str) -> float | None:
    """By how much a counter grew over a launch, in its own unit; None where the server does not tell, or began anew."""
    before, after = (_total(folder / file, name) for file in FILES)
    if before is None or after is None or after < before:
        return None
    return after - before


def _total(path: Path, name: str) -> float | None:
    """Sum of a counter's series; None where there is none, or one is no number."""
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [match["value"] for line in lines if (match := _LINE.match(line)) and match["name"] == name]
    try:
        total = sum(map(float, found))
    except ValueError:
        return None
    return total if found and math.isfinite(total) else None
