"""MANIFEST.sha256: every file of a run folder but itself, in the format of `sha256sum -c`.

Lines are sorted by path; paths are POSIX, relative, NFC and printable. The run's id is made from the manifest's bytes.
"""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path, PurePosixPath

from ledger.canonical import SHORT, bytes_digest, file_digest
from ledger.errors import EvidenceError

NAME = "MANIFEST.sha256"

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def path_problem(path: str) -> str | None:
    """Why `path` may not stand in a manifest, or None."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "." in path.split("/") or "" in path.split("/"):
        return "leaves the folder or is not a plain relative path"
    if "\\" in path or not path.isprintable():
        return "has a backslash or a character that cannot be printed"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode form NFC"
    return None


def clashing_names(paths: list[str]) -> list[str]:
    """Paths that differ from another one only by case or Unicode form."""
    seen: dict[str, str] = {}
    clashes = []
    for path in paths:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        if seen.setdefault(folded, path) != path:
            clashes.append(path)
    return clashes


def render(digests: dict[str, str]) -> bytes:
    """The manifest's bytes for {path: sha256}."""
    return "".join(f"{digests[path]}  {path}\n" for path in sorted(digests)).encode()


def parse(data: bytes, where: str) -> dict[str, str]:
    """{path: sha256} of a manifest. Raises EvidenceError unless its bytes are exactly what `render` would write."""
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError:
        raise EvidenceError(f"{NAME} is not UTF-8 text", where=where, todo="restore it from git") from None
    digests: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        problem = path_problem(match[2]) if match else "is not 'sha256, two spaces, path'"
        if match is None or problem:
            raise EvidenceError(f"{NAME} line {number} {problem}", where=where, todo="restore it from git")
        digests[match[2]] = match[1]
    if render(digests) != data:
        raise EvidenceError(
            f"{NAME} is not sorted, repeats a path, or has stray bytes", where=where, todo="restore it from git"
        )
    return digests


def run_id(data: bytes) -> str:
    """The run's id: the first 16 hex digits of sha256 over the manifest's bytes."""
    return bytes_digest(data)[:SHORT]


def list_files(folder: Path) -> list[Path]:
    """Every file, link and other non-folder below `folder`, sorted by POSIX path. Links are not followed.

    Raises OSError for a folder that cannot be read: one that was passed over would be sealed without its files.
    """
    found: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=_refuse):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        found.extend(Path(parent, name) for name in (*links, *files))
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def list_folders(folder: Path) -> list[Path]:
    """`folder` and every folder below it. Links are not followed. Raises OSError for one that cannot be read."""
    return [Path(parent) for parent, _, _ in os.walk(folder, onerror=_refuse)]


def _refuse(error: OSError) -> None:
    raise error


def digest_folder(folder: Path) -> dict[str, str]:
    """{path: sha256} of all files below `folder` but the manifest. Raises EvidenceError on what cannot be sealed."""
    digests: dict[str, str] = {}
    for path in list_files(folder):
        name = path.relative_to(folder).as_posix()
        problem = "is a link" if path.is_symlink() else None if path.is_file() else "is not a plain file"
        problem = problem or path_problem(name)
        if problem:
            raise EvidenceError(f"{name!r} {problem}", where=str(folder), todo="take it out before sealing")
        if name != NAME:
            digests[name] = file_digest(path)
    clashes = clashing_names(list(digests))
    if clashes:
        raise EvidenceError(
            f"{clashes[0]!r} differs from another name only by case", where=str(folder), todo="rename one"
        )
    return digests
