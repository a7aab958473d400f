"""The local engine: a supervised process group on this host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from collector import supervisor
from collector.engines.interface import Engine, Exit, LaunchRequest

PASSED_ON = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CXX", "CC", "CUDA_VISIBLE_DEVICES")
"""Variables of the collector's environment that a trial sees; all others stay out, secrets among them."""


class LocalEngine(Engine):
    """Runs each launch as a child of this process, through `collector.supervisor`."""

    name = "local"

    def launch(self, request: LaunchRequest, started: Callable[[int], None]) -> Exit:
        """Run to the end under the supervisor."""
        script = Path(supervisor.__file__)
        command = [sys.executable, "-I", str(script), str(request.result), str(request.timeout_s)]
        command += ["sh", str(request.launch / "run.sh")]
        with request.stdout.open("wb") as stdout, request.stderr.open("wb") as stderr:
            process = subprocess.Popen(
                command,
                cwd=request.out,
                env=_environment(request),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            # A second interrupt breaks the wait off: this process ends, the supervisor sees that and ends the trial.
            with request.interrupts.acting(lambda: process.send_signal(signal.SIGTERM)):
                started(process.pid)
                process.wait()
        return _read(request.result, process.returncode, bool(request.interrupts.asked))


def _environment(request: LaunchRequest) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    own = {
        "STACKPROOF_OUT": str(request.out),
        "STACKPROOF_WORKSPACE": str(request.workspace),
        "STACKPROOF_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**passed, **own, **request.variables}


def _read(result: Path, returncode: int, asked: bool) -> Exit:
    """How the trial ended, as the supervisor wrote it; one that died before it could launch anything wrote nothing."""
    if not result.is_file():
        name = signal.Signals(-returncode).name if returncode < 0 else None
        return Exit(None, name, timed_out=False, cancelled=asked, strays=0)
    return Exit(**json.loads(result.read_text()))
