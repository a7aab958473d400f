"""Which folder a site may be built into. MkDocs empties that folder first, so it must hold nothing but an earlier site.

A folder that a build filled is known by a small marker file; one that an earlier version filled, by what MkDocs writes
into every site. Whatever else holds files is refused, and so is any folder that the workspace lives in or works with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ledger.errors import InputError, StorageError
from ledger.workspace import LOCAL, Workspace

MARKER = ".stackproof-site"
"""MkDocs leaves hidden files where they are, so it outlives each build."""

_EARLIER_SITE = ("index.html", "404.html", "sitemap.xml", "search/search_index.json")
"""What MkDocs and its search write into every site."""
_GIT = ".git"
_TODO = "name a new or empty folder, such as `site`"


def check(workspace: Workspace, docs: Path, target: Path) -> None:
    """Whether `target` may be emptied and built into. Raises InputError where something would be lost."""
    place = Path(os.path.realpath(target))
    problem = _misplaced(workspace, docs, place) or _occupied(place)
    if problem:
        raise InputError(f"cannot be the site's folder: {problem}", where=str(target), todo=_TODO)


def check_own(folder: Path) -> None:
    """Whether a folder below the workspace's local one is really there, and no link to another. Raises InputError."""
    for each in (folder, *folder.parents):
        if each.is_symlink():
            what = "is a symbolic link, and what it leads to would be emptied"
            raise InputError(what, where=str(each), todo="remove the link")
        if each.name == LOCAL:
            return


def mark(target: Path) -> None:
    """Note, before the folder is filled, that a site is built into it. Raises StorageError."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        (target / MARKER).write_text("stackproof builds its site here; a build empties this folder first.\n")
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        raise StorageError(what, where=str(target), todo="free some space, or check its permissions") from None


def _misplaced(workspace: Workspace, docs: Path, place: Path) -> str | None:
    """Words for a place that is, holds or lies in what a build must never touch; None for any other."""
    root = Path(os.path.realpath(workspace.root))
    if _holds(place, root):
        return "the workspace lies in it"
    named = [("evidence", workspace.evidence), ("benchmarks", workspace.benchmarks), ("hand-written pages", docs)]
    for name, folder in named:
        kept = Path(os.path.realpath(folder))
        if _holds(place, kept) or _holds(kept, place):
            return f"it holds the workspace's {name}, or lies in them"
    if _GIT in place.parts:
        return "it lies in a git repository's own folder"
    top = next((folder for folder in (root, *root.parents) if (folder / _GIT).exists()), root)
    hidden = [part for part in _below(place, top) if part.startswith(".")]
    return f"it lies in the hidden folder {hidden[0]}" if hidden else None


def _occupied(place: Path) -> str | None:
    """Words for a folder that holds something else than an earlier site; None for one that may be emptied."""
    try:
        found = [entry.name for entry in os.scandir(place)]
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return "it is a file, or lies in one"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    shown = sorted(name for name in found if not name.startswith("."))
    if not shown or MARKER in found or _all_files(place, _EARLIER_SITE):
        return None
    return f"it holds {shown[0]!r}{' and more' if len(shown) > 1 else ''}, which a build would delete, and is no site"


def _all_files(folder: Path, names: Iterable[str]) -> bool:
    return all((folder / name).is_file() for name in names)


def _holds(folder: Path, path: Path) -> bool:
    """Whether `path` is `folder` or lies below it; names that the disk takes for one folder count as one."""
    return any(each == folder or _same(each, folder) for each in (path, *path.parents))


def _same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except OSError:
        return False


def _below(path: Path, top: Path) -> tuple[str, ...]:
    return path.relative_to(top).parts if path.is_relative_to(top) else ()
