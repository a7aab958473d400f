"""The hand-written pages of a workspace: copied beside the generated ones, so that both are one site."""

from __future__ import annotations

from pathlib import Path

from ledger.errors import InputError
from sitegen.pages.tree import Tree

PAGE = ".md"


def copy(tree: Tree, docs: Path, skip: str) -> None:
    """Copy every visible file of `docs` but `skip`, which another page takes in."""
    for name in _names(docs):
        if name != skip:
            tree.copy(name, docs / name)


def pages(docs: Path) -> list[str]:
    """The Markdown pages, sorted by path."""
    return [name for name in _names(docs) if name.endswith(PAGE)]


def text(path: Path) -> str | None:
    """A page's text, or None where there is no such page. Raises InputError when it is not text."""
    if not path.is_file():
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", where=str(path), todo="save it as UTF-8 text") from None


def _names(docs: Path) -> list[str]:
    if not docs.is_dir():
        return []
    found = (path.relative_to(docs) for path in docs.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))
