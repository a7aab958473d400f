"""The folder that the pages are written to.

A file is touched only when its content changed, so that a watcher sees only changes; what no page wrote is removed.
Two builds of one workspace give the same bytes.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from ledger.errors import StorageError


class Tree:
    """Collects the files of one build below `root`; `finish` removes everything else there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._written: set[Path] = set()

    def text(self, name: str, content: str) -> None:
        """Write `content` as the file `name` (POSIX, relative)."""
        path = self._claim(name)
        data = content.encode()
        if not (path.is_file() and path.read_bytes() == data):
            self._store(path, data)

    def copy(self, name: str, source: Path) -> None:
        """Copy `source` to `name`; size and modification time decide whether it has to be done again."""
        path = self._claim(name)
        seen = source.stat()
        if path.is_file():
            old = path.stat()
            if (old.st_size, old.st_mtime_ns) == (seen.st_size, seen.st_mtime_ns):
                return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path, follow_symlinks=False)
            os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        except OSError as error:
            raise _cannot(path, error) from None

    def finish(self) -> None:
        """Remove files that this build did not write, and folders that are empty without them."""
        if not self.root.is_dir():
            return
        for path in sorted(self.root.rglob("*"), reverse=True):
            if path.is_symlink() or (path.is_file() and path not in self._written):
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()

    def _claim(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts:
            raise ValueError(f"{name!r} leaves the site")
        path = self.root.joinpath(*parts)
        self._written.add(path)
        return path

    def _store(self, path: Path, data: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise _cannot(path, error) from None


def _cannot(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"cannot be written ({error.strerror})", where=str(path), todo="free some space, or check its permissions"
    )
