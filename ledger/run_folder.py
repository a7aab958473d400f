"""Reading run folders: where they are, and a view of what each holds.

Reading trusts nothing it does not need: `ledger.verify` checks the folder, this only opens it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ledger import manifest
from ledger.errors import EvidenceError, InputError
from ledger.run import Run

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FOLDER = re.compile(r"(?P<stack>[a-z0-9][a-z0-9-]*)-(?P<id>[0-9a-f]{16})")
BESIDE = frozenset({"status", "signatures"})
"""Names beside the benchmarks' folders that hold records about runs."""


@dataclass(frozen=True)
class RunFolder:
    """One run folder. `path` is `<evidence>/<benchmark>/<date>/<stack>-<id>`."""

    path: Path

    @property
    def run_id(self) -> str:
        """The id in the folder's name."""
        return self.path.name[-16:]

    @property
    def name(self) -> str:
        """`<benchmark>/<date>/<stack>-<id>`, as the evidence folder counts it."""
        return "/".join(self.path.parts[-3:])

    @cached_property
    def run(self) -> Run:
        """run.json, checked. Raises EvidenceError."""
        return Run.from_json(self.json("run.json"), str(self.path))

    @cached_property
    def digests(self) -> dict[str, str]:
        """{path: sha256} as the manifest states them. Raises EvidenceError."""
        return manifest.parse(self.bytes(manifest.NAME), str(self.path))

    def bytes(self, name: str) -> bytes:
        """A file's bytes. Raises EvidenceError when it is missing or unreadable."""
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise EvidenceError(
                f"{name} cannot be read ({error.strerror})", where=str(self.path), todo="restore it from git"
            ) from None

    def json(self, name: str) -> Any:
        """A JSON file's content. Raises EvidenceError."""
        try:
            return json.loads(self.bytes(name))
        except (ValueError, RecursionError) as error:
            raise EvidenceError(
                f"{name} is not JSON ({error})", where=str(self.path), todo="restore it from git"
            ) from None


def scan(evidence: Path) -> Iterator[RunFolder]:
    """Every run folder below `evidence`, sorted by name. Folders that start with a dot are not evidence.

    Raises InputError when `evidence` is not a readable folder; a folder without runs yields nothing.
    """
    for benchmark in _folders(evidence):
        if benchmark.name in BESIDE:
            continue
        for date in _folders(benchmark):
            if DATE.fullmatch(date.name):
                yield from (RunFolder(path) for path in _folders(date) if FOLDER.fullmatch(path.name))


def find(evidence: Path, run: str) -> RunFolder:
    """The run that `run` means: a path, an id, or the first digits of one. Raises InputError."""
    if (Path(run) / "run.json").is_file():
        return RunFolder(Path(run).resolve())
    matches = [
        folder for folder in scan(evidence) if run and (folder.run_id.startswith(run) or folder.path.name == run)
    ]
    if len(matches) == 1:
        return matches[0]
    what = f"{len(matches)} runs start with {run!r}" if matches else f"no run {run!r}"
    raise InputError(
        what, where=str(evidence), todo='list the ids with `stackproof query "SELECT run_id, stack FROM runs"`'
    )


def _folders(folder: Path) -> list[Path]:
    try:
        entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        raise InputError(
            "no such evidence folder", where=str(folder), todo="run `stackproof collect BENCHMARK` first"
        ) from None
    except NotADirectoryError:
        raise InputError(
            "is a file, not an evidence folder", where=str(folder), todo="name the folder that holds the runs"
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(folder), todo="check its permissions"
        ) from None
    return sorted(path for path in entries if path.is_dir() and not path.is_symlink())
