"""One agent a host, and one a state folder: file locks that a killed process gives back by itself."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from collector.environment import host_name
from ledger.durable import storage_errors
from ledger.errors import InputError

VARIABLE = "STACKPROOF_AGENT_LOCK"
NAME = "agent.lock"


def host_lock() -> Path:
    """The lock of this host's agent, whatever its state folder: STACKPROOF_AGENT_LOCK, or a temporary file."""
    name = "".join(each if each.isalnum() or each in "-_." else "-" for each in host_name())
    return Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir()) / f"stackproof-agent-{name}.lock")


@contextmanager
def only_agent(state: Path) -> Iterator[None]:
    """Hold both locks. Raises InputError when another agent has one."""
    with storage_errors(state):
        state.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for path in (state / NAME, host_lock()):
            stack.enter_context(_held(path))
        yield


def is_held(state: Path) -> bool:
    """Whether an agent runs on a state folder now."""
    if not (state / NAME).exists():
        return False
    lock = FileLock(state / NAME)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    lock.release()
    return False


@contextmanager
def _held(path: Path) -> Iterator[None]:
    lock = FileLock(path, mode=0o666)
    owner = path.with_name(f"{path.name}.owner")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        who = _owner(owner)
        raise InputError(
            f"another agent runs on this host{who}",
            where=str(path),
            todo="stop it first, or look at it with `stackproof agent status`",
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot be locked ({error.strerror})",
            where=str(path),
            todo=f"correct its permissions, or name another file in {VARIABLE}",
        ) from None
    try:
        with contextlib.suppress(OSError):
            owner.write_text(json.dumps({"pid": os.getpid()}))
        yield
    finally:
        with contextlib.suppress(OSError):
            owner.unlink()
        lock.release()


def _owner(path: Path) -> str:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return f" (process {int(json.loads(path.read_bytes())['pid'])})"
    return ""
