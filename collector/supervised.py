"""Running a command under `collector.supervisor`: it ends with this process, and leaves none of its own behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from collector import supervisor
from collector.interrupts import Interrupts


@dataclass(frozen=True)
class Exit:
    """How the launched process ended."""

    exit_code: int | None
    signal: str | None
    timed_out: bool
    cancelled: bool
    strays: int
    """Processes that it left running and that were ended."""


def run(
    command: list[str],
    *,
    folder: Path,
    variables: Mapping[str, str],
    stdout: Path,
    stderr: Path,
    result: Path,
    timeout_s: float,
    interrupts: Interrupts,
    started: Callable[[int], None] = lambda _: None,
) -> Exit:
    """Run to the end in `folder`; output is added to the files.

    `result` is where the supervisor writes how it ended; `started` is told the supervisor's process id. The first
    interrupt ends the command.
    """
    under = [sys.executable, "-I", str(supervisor.__file__), str(result), str(timeout_s)]
    with stdout.open("ab") as out, stderr.open("ab") as err:
        process = subprocess.Popen(
            [*under, *command],
            cwd=folder,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        # A second interrupt breaks the wait off: this process ends, the supervisor sees that and ends the command.
        with interrupts.acting(lambda: process.send_signal(signal.SIGTERM)):
            started(process.pid)
            process.wait()
    return _read(result, process.returncode, bool(interrupts.asked))


def _read(result: Path, returncode: int, asked: bool) -> Exit:
    """How the command ended, as the supervisor wrote it; one that died before it could launch wrote nothing."""
    if not result.is_file():
        name = signal.Signals(-returncode).name if returncode < 0 else None
        return Exit(None, name, timed_out=False, cancelled=asked, strays=0)
    return Exit(**json.loads(result.read_text()))
