"""What lies where in an evidence folder, and what does not belong there.

A run that was moved, renamed or put at the wrong depth would otherwise just not be seen.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ledger import manifest, status
from ledger.durable import INCOMING
from ledger.errors import InputError
from ledger.finding import Finding
from ledger.run_folder import BESIDE, DATE, FOLDER, RunFolder
from ledger.workloads.fields import NAME

NOT_EVIDENCE = frozenset({".gitkeep", "README.md"})
"""Files at the top that may be there and may change."""
LOCAL = frozenset({INCOMING, ".claims", ".lock"})
"""What collectors keep at the top while they work; git ignores it."""

KINDS = {
    "link": "is a symbolic link",
    "folder": "is an extra folder, which was not sealed",
    "special": "is neither file nor folder",
    "unreadable": "cannot be read",
}
"""What is wrong with each kind of entry that is not a plain file."""

REPLACED = {
    "link": "was replaced by a symbolic link",
    "folder": "was replaced by a folder: the sealed file is missing",
    "special": "was replaced by something that is neither file nor folder",
    "unreadable": "cannot be read",
}
"""What is wrong where an entry of each kind stands in the place of something that was sealed."""
TODO = {
    "link": "restore what was sealed from git",
    "folder": "restore the file from git",
    "special": "restore what was sealed from git",
    "unreadable": "check its permissions",
}

_PLAN = re.compile(r"plan-[0-9a-f]{16}\.json")
_RUN_ID = re.compile(r"[0-9a-f]{16}")


@dataclass
class Survey:
    """Everything below an evidence folder, by what it is."""

    evidence: Path
    runs: list[RunFolder] = field(default_factory=list)
    plans: list[Path] = field(default_factory=list)
    records: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def report(self, path: Path, what: str, todo: str = "take it out", code: str = "stray") -> None:
        """Note that something at `path` does not belong there."""
        self.findings.append(Finding(code, path.relative_to(self.evidence).as_posix(), None, what, todo))


def survey(evidence: Path) -> Survey:
    """Look through an evidence folder. Raises InputError when it is missing, a file or unreadable."""
    found = Survey(evidence)
    if evidence.is_symlink():
        what = "is a symbolic link, of which git keeps only the name"
        found.findings.append(Finding("link", evidence.name, None, what, "put the real folder in its place"))
    for path, kind in _top(evidence):
        if path.name in LOCAL or (path.name in NOT_EVIDENCE and kind == "file"):
            continue
        if kind != "folder":
            found.report(path, _stray(kind), _todo(kind), "link" if kind == "link" else "stray")
        elif path.name == status.FOLDER:
            _status(found, path)
        elif path.name in BESIDE:
            continue
        elif re.fullmatch(NAME, path.name):
            _benchmark(found, path)
        else:
            found.report(path, "is not a benchmark's folder" + _moved_run(path))
    _clashes(found)
    return found


def walk(folder: Path) -> Iterator[tuple[str, str]]:
    """(path, kind) of everything below a run folder: files, links, special files, unreadable and empty folders.

    Paths are POSIX and relative; links are not followed.
    """
    pending = [(folder, "")]
    while pending:
        here, prefix = pending.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError:
            yield prefix.rstrip("/") or ".", "unreadable"
            continue
        if not entries and prefix:
            yield prefix.rstrip("/"), "folder"
        for entry in entries:
            kind = _kind(Path(entry.path))
            if kind == "folder":
                pending.append((Path(entry.path), f"{prefix}{entry.name}/"))
            else:
                yield f"{prefix}{entry.name}", kind


def clashes(paths: list[str]) -> list[str]:
    """Files and folders among `paths` whose names differ from another's only by case or Unicode form."""
    every = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 2)}
    return manifest.clashing_names(sorted(every))


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "unreadable"
    if stat.S_ISLNK(mode):
        return "link"
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "special"


def _top(evidence: Path) -> list[tuple[Path, str]]:
    try:
        return _entries(evidence)
    except FileNotFoundError:
        what, todo = "no such evidence folder", "run `stackproof collect BENCHMARK` first"
    except NotADirectoryError:
        what, todo = "is a file, not an evidence folder", "name the folder that holds the runs"
    except OSError as error:
        what, todo = f"cannot be read ({error.strerror})", "check its permissions"
    raise InputError(what, where=str(evidence), todo=todo)


def _entries(folder: Path) -> list[tuple[Path, str]]:
    return [(path, _kind(path)) for path in sorted(folder.iterdir())]


def _below(found: Survey, folder: Path) -> list[tuple[Path, str]]:
    try:
        return _entries(folder)
    except OSError as error:
        found.report(folder, f"cannot be read ({error.strerror})", "check its permissions", "unreadable")
        return []


def _benchmark(found: Survey, folder: Path) -> None:
    for path, kind in _below(found, folder):
        if kind == "folder" and DATE.fullmatch(path.name) and _is_date(path.name):
            _date(found, path)
        elif kind == "folder":
            found.report(path, "is not a day's folder (YYYY-MM-DD)" + _moved_run(path))
        else:
            found.report(path, _stray(kind), _todo(kind), "link" if kind == "link" else "stray")


def _date(found: Survey, folder: Path) -> None:
    for path, kind in _below(found, folder):
        if kind == "folder" and FOLDER.fullmatch(path.name):
            found.runs.append(RunFolder(path))
        elif kind == "folder" and _PLAN.fullmatch(path.name):
            found.report(path, REPLACED["folder"].replace("sealed file", "plan"), TODO["folder"])
        elif kind == "folder":
            found.report(path, "is not named <stack>-<id>" + _moved_run(path), "give it back its name, or take it out")
        elif kind == "file" and _PLAN.fullmatch(path.name):
            found.plans.append(path)
        else:
            found.report(path, _stray(kind), _todo(kind), "link" if kind == "link" else "stray")


def _status(found: Survey, folder: Path) -> None:
    for run, kind in _below(found, folder):
        if kind != "folder" or not _RUN_ID.fullmatch(run.name):
            found.report(run, "is not the folder of a run's status records", _todo(kind))
            continue
        for path, each in _below(found, run):
            if each == "file" and path.suffix == ".json" and not path.name.startswith("."):
                found.records.append(path)
            else:
                found.report(path, "is not a status record", _todo(each))


def _is_date(name: str) -> bool:
    try:
        date.fromisoformat(name)
    except ValueError:
        return False
    return True


def _stray(kind: str) -> str:
    return KINDS["link"] if kind == "link" else f"is a stray {'file' if kind == 'file' else kind}"


def _todo(kind: str) -> str:
    """What to do about an entry; a link may stand where evidence stood, and taking it out alone would lose that."""
    return (
        "restore from git what stood there, if anything did, and take the link out" if kind == "link" else "take it out"
    )


def _moved_run(folder: Path) -> str:
    """Words for a folder that holds a run which was sealed under another name, or in another place."""
    try:
        data = (folder / manifest.NAME).read_bytes()
    except OSError:
        return ""
    return f": it holds the run {manifest.run_id(data)}, renamed or moved"


def _clashes(found: Survey) -> None:
    names = [run.path.relative_to(found.evidence).as_posix() for run in found.runs]
    for name in clashes(names):
        found.report(found.evidence / name, "differs from another name only by case or Unicode form", code="clash")
