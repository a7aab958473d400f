"""Files that are whole after a crash: written, fsynced, then renamed into place."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.errors import StorageError

INCOMING = ".incoming"
"""Folder of an evidence folder in which everything is written first, out of sight of readers and of git."""

_TODO = {
    errno.ENOSPC: "free some space and run the same command again",
    errno.EDQUOT: "free some of the quota and run the same command again",
    errno.EROFS: "remount the file system for writing and run the same command again",
    errno.EACCES: "make the folder writable and run the same command again",
    errno.EIO: "check the disk, then run the same command again",
}


@contextmanager
def storage_errors(where: Path) -> Iterator[None]:
    """Turn what the file system refuses into one clear StorageError."""
    try:
        yield
    except OSError as error:
        place = str(error.filename or where)
        todo = _TODO.get(error.errno or 0, "run the same command again")
        raise StorageError(f"cannot be written ({error.strerror or error})", where=place, todo=todo) from error


def fsync_path(path: Path) -> None:
    """fsync one file or folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_new(path: Path, data: bytes, *, beside: Path | None = None) -> None:
    """Create `path` with `data`, whole or not at all; FileExistsError if it is there already.

    It is written in the folder `beside` first, on the same file system: where `path` lies in evidence that is a hidden
    folder, since a process that is killed leaves its half there.
    """
    folder = beside or path.parent
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{path.name}.{os.getpid()}"
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    fsync_path(path.parent)
