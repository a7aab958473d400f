"""The measuring lock: on one host only one launch is timed at once, whoever collects (rule 11)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

VARIABLE = "STACKPROOF_MEASURING_LOCK"


@contextmanager
def quiet_host(say: Callable[[str], None]) -> Iterator[None]:
    """Hold the host's measuring lock; waiting for it is said once."""
    path = Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir()) / "stackproof-measuring.lock")
    lock = FileLock(path, mode=0o666)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"waiting for another launch on this host to end ({path})")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
