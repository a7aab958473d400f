"""The processes of a trial: those below the supervisor that launched it."""

from __future__ import annotations

import contextlib

import psutil


def family(pid: int) -> list[psutil.Process]:
    """All processes below `pid`; none once it is gone."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def resident_set(processes: list[psutil.Process]) -> int | None:
    """Bytes of the resident sets of `processes`; None when none of them is there any more."""
    sizes = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            sizes.append(process.memory_info().rss)
    return sum(sizes) if sizes else None
