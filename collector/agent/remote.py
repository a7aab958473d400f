"""What is asked of the remote repository: bounded in time, never waiting for somebody to type."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from ledger.errors import GitError
from ledger.secrets import Redactor

TIMEOUT_S = 600.0
VARIABLE = "STACKPROOF_AGENT_GIT_TIMEOUT"
"""Seconds after which a fetch or push is given up."""
_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=30 -o ServerAliveCountMax=4"
_TELLING = ("rejected]", "remote: error", "remote: fatal", "fatal:", "error:", "remote:")
"""Where git says why, the most telling first."""
_REFUSALS = ("rejected]", "remote: ")


class RemoteError(GitError):
    """A remote that is away, or refuses (`refused`)."""

    exit_code = 1
    refused = False


def call(folder: Path, *arguments: str) -> str:
    """Run git in `folder` against its remote; its output. Raises RemoteError with what git says, secrets taken out."""
    ssh = {} if "GIT_SSH" in os.environ else {"GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", _SSH)}
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", **ssh}
    slow = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60")
    process = subprocess.Popen(
        ["git", *slow, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=_timeout())
    except subprocess.TimeoutExpired:
        _end(process)
        raise _error(folder, arguments[0], f"no end after {_timeout():g} s") from None
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        raise _error(folder, arguments[0], _reason(err.decode(errors="replace"), process.returncode))
    return out.decode(errors="replace")


@dataclass
class Backoff:
    """How long to wait before the remote is asked again: doubling up to a cap, spread so that hosts do not meet."""

    first_s: float
    most_s: float
    failures: int = 0
    chance: random.Random = field(default_factory=random.Random)

    def failed(self) -> float:
        """Note a failure; returns the seconds to wait: from half to the whole of what the doubling says."""
        longest = min(self.most_s, self.first_s * 2.0 ** min(self.failures, 30))
        self.failures += 1
        return longest * self.chance.uniform(0.5, 1.0)

    def worked(self) -> None:
        """Note that the remote answered."""
        self.failures = 0


def _timeout() -> float:
    try:
        return float(os.environ.get(VARIABLE, TIMEOUT_S))
    except ValueError:
        return TIMEOUT_S


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and the ssh that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _reason(said: str, code: int) -> str:
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    refusal = next((line for line in lines if "rejected]" in line), None)
    told = next((line for line in lines if line.startswith("remote: ") and len(line) > len("remote: ")), None)
    if refusal and told:
        return f"{refusal}; {told}"
    for word in _TELLING:
        found = next((line for line in lines if word in line), None)
        if found is not None:
            return found
    return lines[-1] if lines else f"exit code {code}"


def shown(text: str) -> str:
    """An address, or what git says of one, without its secrets."""
    return Redactor(os.environ).text(text)[0]


def _error(folder: Path, action: str, said: str) -> RemoteError:
    error = RemoteError(f"git {action} failed ({shown(said)})", where=str(folder), todo="it is tried again later")
    error.refused = action == "push" and any(word in said for word in _REFUSALS)
    return error
