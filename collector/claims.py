"""Claims: which of two collectors runs a trial, and whether the one that runs it still may count its run (rule 1).

A claim is a small file made with O_EXCL that holds its owner's token. It lives only while its trial runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from ledger.durable import storage_errors, write_new

FOLDER = ".claims"


class Claims:
    """The claims of one evidence folder. `alive` tells whether a token's owner still runs."""

    def __init__(self, evidence: Path, alive: Callable[[str], bool]) -> None:
        self._folder = evidence / FOLDER
        self._alive = alive
        self._lock = FileLock(self._folder / ".lock")

    def take(self, trial_key: str, attempt: int, token: str) -> bool:
        """Claim an attempt for `token`; False when a living owner has it. A dead owner's claim is taken over."""
        path = self._path(trial_key, attempt)
        with storage_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        with self._lock, storage_errors(path):
            holder = self.holder(trial_key, attempt)
            if holder is not None and self._alive(holder):
                return False
            path.unlink(missing_ok=True)
            write_new(path, token.encode())
        return True

    def holder(self, trial_key: str, attempt: int) -> str | None:
        """The token that holds an attempt, or None."""
        with contextlib.suppress(FileNotFoundError):
            return self._path(trial_key, attempt).read_text()
        return None

    def release(self, trial_key: str, attempt: int, token: str) -> None:
        """Give an attempt back, if `token` still holds it."""
        with self._lock:
            if self.holder(trial_key, attempt) == token:
                self._path(trial_key, attempt).unlink(missing_ok=True)

    def _path(self, trial_key: str, attempt: int) -> Path:
        return self._folder / f"{trial_key}-{attempt}"
