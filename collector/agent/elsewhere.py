"""Evidence on branches that are not merged yet: enough of it on disk that its trials are not launched once more.

Copied are manifests, run.json, plan files and status records, not samples or traces: what planning reads.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from collector.agent.repository import Clone
from ledger import manifest, status
from ledger.append_only import Tree
from ledger.canonical import digest
from ledger.checkout import write_tree
from ledger.durable import storage_errors

_DONE = "copied.json"


def copy(clone: Clone, evidence: str, branches: dict[str, str], folder: Path) -> Path:
    """Bring `folder` to what `branches` ({name: commit}) hold and HEAD does not; returns it. Raises StackproofError."""
    mark = digest({"head": clone.repository.head(), "branches": branches})
    if _mark(folder) == mark:
        return folder
    with storage_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    here = clone.blobs("HEAD", evidence)
    wanted: dict[str, str] = {}
    for commit in branches.values():
        found = clone.blobs(commit, evidence)
        wanted |= {path: blob for path, blob in found.items() if path not in here and _is_read(path)}
    write_tree(Tree(clone.repository, dict.fromkeys(wanted, "file"), wanted), folder)
    (folder / f".{_DONE}").write_text(json.dumps(mark))
    return folder


def _is_read(path: str) -> bool:
    parts = path.split("/")
    if parts[0].startswith("."):
        return False
    if parts[0] == status.FOLDER:
        return len(parts) == 3
    if len(parts) == 3:
        return parts[2].startswith("plan-")
    return len(parts) == 4 and parts[3] in {"run.json", manifest.NAME}


def _mark(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / f".{_DONE}").read_bytes()))
    except (OSError, ValueError):
        return None
