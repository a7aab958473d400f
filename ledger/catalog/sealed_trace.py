"""A trace file as its run's manifest states it, and its tables from the cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ledger.durable import storage_errors
from ledger.errors import EvidenceError
from ledger.traces.cache import Cached, cached


@dataclass(frozen=True)
class SealedTrace:
    """One trace file of a run."""

    run_id: str
    file: str
    """Path within the run folder."""
    sha256: str
    path: Path

    def read(self, root: Path) -> Cached:
        """Its tables, from the cache below `root`.

        Raises EvidenceError or InputError when there is nothing to read, StorageError when the cache cannot be written.
        """
        if self.path.is_symlink() or not self.path.is_file():
            raise EvidenceError("is not in the run folder", where=str(self.path))
        if self.path.name.endswith(".external.json"):
            raise EvidenceError("is kept elsewhere", where=str(self.path))
        with storage_errors(root):
            found = cached(self.path, root)
        if found.digest != self.sha256:
            raise EvidenceError("is not what was sealed", where=str(self.path))
        return found
