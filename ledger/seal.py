"""Sealing: turn a prepared folder into an immutable run folder, or leave nothing (rule 2).

The order is what makes it safe: digests, manifest, fsync of every file and folder, one rename, fsync of the parent.
A crash before the rename leaves the prepared folder in `.incoming`, where nobody looks for runs.
"""

from __future__ import annotations

import os
from pathlib import Path

from ledger import manifest
from ledger.durable import fsync_path, storage_errors
from ledger.errors import EvidenceError
from ledger.run import Run


def seal(prepared: Path, evidence: Path, run: Run) -> Path:
    """Seal `prepared` (which holds run.json and all the rest) into `evidence`; returns the run folder.

    `prepared` must be on the same file system as `evidence`. Raises StorageError when the disk refuses.
    """
    with storage_errors(prepared):
        _prune(prepared)
        data = manifest.render(manifest.digest_folder(prepared))
        for path in manifest.list_files(prepared):
            if path.name != manifest.NAME:
                fsync_path(path)
        _write_manifest(prepared / manifest.NAME, data)
        for folder in manifest.list_folders(prepared):
            fsync_path(folder)
        target = evidence / run.benchmark.name / run.date / f"{run.stack}-{manifest.run_id(data)}"
        _make_parents(target.parent, evidence)
        if target.exists():
            raise EvidenceError(
                "this run is sealed already", where=str(target), todo="nothing: the evidence is in place"
            )
        prepared.rename(target)
        fsync_path(target.parent)
    return target


def _prune(folder: Path) -> None:
    """Remove empty folders: no manifest can name them and git does not keep them."""
    for path in sorted((path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def _write_manifest(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _make_parents(folder: Path, evidence: Path) -> None:
    """Make the folders down from `evidence`, each fsynced into its parent."""
    missing = []
    while not folder.exists() and folder != evidence:
        missing.append(folder)
        folder = folder.parent
    evidence.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        fsync_path(path.parent)
