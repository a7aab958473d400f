"""Processes of a launch: started in sessions of their own, waited for, and ended with all that they started.

Standard library alone; the launched scripts beside it use it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

TAIL = 4_000
"""Characters of a service's log that are repeated when it fails."""


def adopt_strays() -> None:
    """Become the parent of processes that lose theirs, so that they can be found and ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def descendants(besides: Collection[int] = ()) -> set[int]:
    """Living processes below this one, zombies while they have threads; not `besides`, nor what is below them."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = entry.joinpath("stat").read_text().rpartition(")")[2].split()
            if (
                fields[0] not in "ZX" or int(fields[17]) > 1
            ):  # its threads may outlive its first one, and hold its files
                parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    level = {os.getpid()}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level and pid not in besides} - found
        found |= level
    return found


def end(process: subprocess.Popen[bytes], grace_s: float, besides: Collection[int] = ()) -> None:
    """End what is left of a process and all below this one, first kindly; returns once nothing is left."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while strays := descendants(besides):
        hard = time.monotonic() > deadline
        for pid in strays:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if hard else signal.SIGTERM)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.02 if hard else 0.1)
    process.poll()


def wait_until_healthy(process: subprocess.Popen[bytes], url: str, limit_s: float, log: Path, what: str) -> float:
    """Wait until `url` answers 200, and return the seconds that took; ends this launch when it never does."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit_s:
        if process.poll() is not None:
            give_up(log, f"the {what} ended with exit code {process.returncode} before it was healthy")
        with suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=2) as answered:  # noqa: S310
            if answered.status == 200:
                return time.monotonic() - begin
        time.sleep(0.1)
    give_up(log, f"the {what} was not healthy after {limit_s:g} s")
    return 0.0


def give_up(log: Path, why: str) -> None:
    """End this launch with the last words of a log, and why."""
    sys.stderr.write(log.read_text(errors="replace")[-TAIL:] + "\n")
    sys.exit(why)
