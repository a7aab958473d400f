"""The local engine: a supervised process group on this host."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from collector import supervised
from collector.engines.interface import Engine, Exit, LaunchRequest

PASSED_ON = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CXX", "CC", "CUDA_VISIBLE_DEVICES")
"""Variables of the collector's environment that a trial sees; all others stay out, secrets among them."""


class LocalEngine(Engine):
    """Runs each launch as a child of this process, through `collector.supervisor`."""

    name = "local"

    def launch(self, request: LaunchRequest, started: Callable[[int], None]) -> Exit:
        """Run to the end under the supervisor."""
        return supervised.run(
            ["sh", str(request.launch / "run.sh")],
            folder=request.out,
            variables=_variables(request),
            stdout=request.stdout,
            stderr=request.stderr,
            result=request.result,
            timeout_s=request.timeout_s,
            interrupts=request.interrupts,
            started=started,
        )


def _variables(request: LaunchRequest) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    own = {
        "STACKPROOF_OUT": str(request.out),
        "STACKPROOF_WORKSPACE": str(request.workspace),
        "STACKPROOF_PYTHON": str(request.python or sys.executable),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    client = {"STACKPROOF_CLIENT_PYTHON": str(request.client_python)} if request.client_python else {}
    return {**passed, **own, **client, **request.variables}
