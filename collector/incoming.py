"""`evidence/.incoming`: where a trial runs and its folder is prepared, out of sight until it is sealed (rule 2).

Each workbench is held by a file lock for as long as its collector lives. One whose lock is free, or that comes from
another boot of this host, was left by a collector that died; `leftovers` finds those.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from collector.environment import boot_id, host_name
from ledger.durable import INCOMING, storage_errors

OWNER = "owner.json"
DRAFT = "draft.json"


@dataclass(frozen=True)
class Workbench:
    """One folder in `.incoming`."""

    path: Path
    lock: FileLock

    @property
    def run(self) -> Path:
        """The run folder under construction."""
        return self.path / "run"

    @property
    def out(self) -> Path:
        """STACKPROOF_OUT of the trial."""
        return self.path / "out"

    @property
    def result(self) -> Path:
        """Where the supervisor writes how the trial ended."""
        return self.path / "exit.json"

    @property
    def beside(self) -> Path:
        """The file that names the benchmark file's folder."""
        return self.path / "beside"

    @property
    def draft(self) -> Path:
        """What the trial is, written at its launch, so that it can be sealed by somebody else."""
        return self.path / DRAFT

    @property
    def cancelled(self) -> Path:
        """A file that says: its user broke the trial off, and did not wait for the end."""
        return self.path / "cancelled"

    @property
    def token(self) -> str:
        """What claims know this workbench's owner by."""
        return self.path.name

    def discard(self) -> None:
        """Remove what is left of it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.lock.release()
        Path(self.lock.lock_file).unlink(missing_ok=True)


def open_workbench(evidence: Path, name: str) -> Workbench:
    """Make a workbench that this process owns."""
    folder = evidence / INCOMING
    path = folder / f"{name}-{os.getpid()}"
    with storage_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{path.name}.lock")
        lock.acquire(timeout=0)
        for each in (path, path / "run", path / "out"):
            each.mkdir()
        (path / OWNER).write_text(json.dumps(_owner()))
    return Workbench(path, lock)


def is_alive(evidence: Path, token: str) -> bool:
    """Whether the workbench of `token` is still held by a living process."""
    path = evidence / INCOMING / token
    if not path.is_dir():
        return False
    workbench = _take_over(path)
    if workbench is None:
        return True
    workbench.lock.release()
    return False


def leftovers(evidence: Path) -> Iterator[Workbench]:
    """Workbenches that dead collectors of this host left, each now locked by this process."""
    folder = evidence / INCOMING
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        workbench = _take_over(path) if path.is_dir() else None
        if workbench is not None:
            yield workbench


def _take_over(path: Path) -> Workbench | None:
    """Lock a workbench whose owner is gone; None while it lives, or when it lives on another host."""
    if _owner_of(path).get("host", host_name()) != host_name():
        return None
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    if not path.is_dir():
        lock.release()
        return None
    return Workbench(path, lock)


def _owner() -> dict[str, object]:
    pid = os.getpid()
    return {"host": host_name(), "boot_id": boot_id(), "pid": pid, "started": psutil.Process(pid).create_time()}


def _owner_of(path: Path) -> dict[str, str]:
    try:
        owner = json.loads((path / OWNER).read_bytes())
        return owner if isinstance(owner, dict) else {}
    except (OSError, ValueError):
        return {}
