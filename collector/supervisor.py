"""The process between the collector and a trial: it runs one command and leaves no child of it behind.

It runs as a script of its own with the standard library alone, for two reasons. As a child subreaper it inherits every
stray the trial leaves, also one that moved into a session of its own, and ends them all. And when the collector dies,
however hard, the kernel sends it SIGTERM and the trial goes too.

Usage: supervisor.py RESULT TIMEOUT_S COMMAND [ARGUMENT...]; what happened is written to RESULT as JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path

GRACE_S = 5.0
"""Seconds between SIGTERM and SIGKILL."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> int:
    """Run the command in argv and write how it ended."""
    result, timeout_s, command = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    parent = os.getppid()
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return 1
    child = _spawn(command)
    ending = _watch(child, time.monotonic() + timeout_s)
    ending["strays"] = _end_all()
    aside = result.with_suffix(".part")
    aside.write_text(json.dumps(ending))
    aside.replace(result)
    return 0


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _spawn(command: list[str]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        os.execvp(command[0], command)  # noqa: S606 (no shell is meant)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _watch(child: int, deadline: float) -> dict[str, object]:
    """Wait for `child`; end it at the deadline or when told to."""
    ending: dict[str, object] = {"timed_out": False, "cancelled": False}
    kill_at: float | None = None
    while True:
        status = _reap(child)
        if status is not None:
            code = os.waitstatus_to_exitcode(status)
            ending["exit_code"] = code if code >= 0 else None
            ending["signal"] = signal.Signals(-code).name if code < 0 else None
            return ending
        now = time.monotonic()
        until = deadline if kill_at is None else kill_at
        caught = signal.sigtimedwait(WATCHED, max(0.0, until - now))
        if kill_at is None and (caught is None or caught.si_signo != signal.SIGCHLD):
            ending["timed_out" if caught is None else "cancelled"] = True
            _signal_group(child, signal.SIGTERM)
            kill_at = time.monotonic() + GRACE_S
        elif kill_at is not None and time.monotonic() >= kill_at:
            _signal_group(child, signal.SIGKILL)
            kill_at = time.monotonic() + GRACE_S


def _reap(child: int) -> int | None:
    """Collect every ended process; the wait status of `child` once it is among them."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return status
            if pid == 0:
                return None
    return None


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _end_all() -> int:
    """End what the trial left running: SIGTERM, then SIGKILL until nothing is left. Returns how many there were."""
    strays: set[int] = set()
    started = time.monotonic()
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        alive = _descendants(os.getpid())
        if not alive:
            return len(strays)
        hard = time.monotonic() - started > GRACE_S
        for pid in alive:
            if hard or pid not in strays:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if hard else signal.SIGTERM)
        strays |= alive
        time.sleep(0.02)


def _descendants(root: int) -> set[int]:
    """Living processes below `root`, read from /proc; a zombie counts while it has threads."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = entry.joinpath("stat").read_text().rpartition(")")[2].split()
            if (
                fields[0] not in "ZX" or int(fields[17]) > 1
            ):  # its threads may outlive its first one, and hold its files
                parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    level = {root}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level} - found
        found |= level
    return found


if __name__ == "__main__":
    sys.exit(main())
