"""Paths of the collecting machine in a trial's logs, written as what they stand for.

A log then reads the same wherever the trial ran, and evidence does not tell how somebody's disk is laid out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def known(workspace: Path, out: Path, run: Path) -> dict[bytes, bytes]:
    """{path: what to write for it}, the longest path first, for one trial."""
    places = {
        run: "$RUN",
        out: "$STACKPROOF_OUT",
        workspace: "$STACKPROOF_WORKSPACE",
        Path(sys.prefix): "$PYTHON_PREFIX",
        Path(sys.base_prefix): "$PYTHON_BASE_PREFIX",
    }
    usable = {str(path): name for path, name in places.items() if len(path.parts) > 2}
    return {path.encode(): usable[path].encode() for path in sorted(usable, key=len, reverse=True)}


def rewrite(log: Path, places: Mapping[bytes, bytes]) -> None:
    """Replace `places` in a log, line by line; a log that holds none keeps its bytes."""
    aside = log.with_name(f"{log.name}.part")
    changed = False
    with log.open("rb") as source, aside.open("wb") as target:
        for line in source:
            written = line
            for path, name in places.items():
                written = written.replace(path, name)
            changed = changed or written != line
            target.write(written)
    if changed:
        aside.replace(log)
    else:
        aside.unlink()
