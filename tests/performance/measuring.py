"""One command as a process of its own: its wall time, its CPU time and its memory, those of its children included."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_EVERY = 0.05
"""Seconds between two looks at the memory."""
_GROUPS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
"""Version 1 of control groups, then version 2."""


@dataclass(frozen=True)
class Measured:
    """What a command took."""

    status: int
    """0 where it went well; negative: the signal that ended it."""
    output: str
    errors: str
    wall: float
    """Seconds, from before its start."""
    cpu: float
    """Seconds, user and system, of it and of the children that it waited for."""
    pss: int
    """The most bytes that all its processes held at once, shared pages counted by share; seen every 50 ms."""
    anonymous: int
    """The same without the pages of files, which the system can take back."""
    largest: int
    """The most bytes resident in any one of its processes (ru_maxrss): exact, but blind to the sum."""


def run(command: Sequence[str], group: Path | None = None) -> Measured:
    """Run a command to its end; `group`: a control group that it and its children belong to."""
    if group is not None:
        command = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group), *command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begins = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        memory = _Memory(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begins
        process.returncode = os.waitstatus_to_exitcode(status)
        pss, anonymous = memory.stop()
        out.seek(0)
        err.seek(0)
        output, errors = (file.read().decode(errors="replace") for file in (out, err))
    cpu = used.ru_utime + used.ru_stime
    return Measured(process.returncode, output, errors, wall, cpu, pss, anonymous, used.ru_maxrss * 1024)


class _Memory:
    """Looks at the memory of a process and all below it until it is told to stop."""

    def __init__(self, pid: int) -> None:
        self._pid, self._done = pid, threading.Event()
        self._most = self._most_anonymous = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[int, int]:
        """The most bytes seen, and the most without the pages of files."""
        self._done.set()
        self._thread.join()
        return self._most, self._most_anonymous

    def _watch(self) -> None:
        while not self._done.wait(_EVERY):
            found = [_held(pid) for pid in self._pids()]
            self._most = max(self._most, sum(held for held, _ in found))
            self._most_anonymous = max(self._most_anonymous, sum(anonymous for _, anonymous in found))

    def _pids(self) -> list[int]:
        try:
            return [self._pid, *(child.pid for child in psutil.Process(self._pid).children(recursive=True))]
        except psutil.Error:
            return []


def _held(pid: int) -> tuple[int, int]:
    """Bytes of a process by share, and of these the anonymous ones; none once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0, 0
    sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith(" kB")}
    return sizes.get("Pss", 0), sizes.get("Pss_Anon", 0)


@contextmanager
def limited(size: int) -> Iterator[Path | None]:
    """A control group that holds this many bytes, page cache included, and no swap; None where none can be made."""
    group = _new_group(size)
    try:
        yield group
    finally:
        if group is not None:
            group.rmdir()


def _new_group(size: int) -> Path | None:
    for root, name in zip(_GROUPS, ("memory.limit_in_bytes", "memory.max"), strict=True):
        group = root / f"performance-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(size))
            swap = group / name.replace("memory.limit", "memory.memsw.limit").replace("memory.max", "memory.swap.max")
            if swap.exists():
                swap.write_text(str(size if "memsw" in swap.name else 0))
        except OSError:
            group.rmdir()
            continue
        return group
    return None


def most(group: Path) -> int:
    """The most bytes that a control group was charged with, page cache included; at most its limit."""
    files = (group / "memory.max_usage_in_bytes", group / "memory.peak")
    return next((int(file.read_text()) for file in files if file.exists()), 0)
