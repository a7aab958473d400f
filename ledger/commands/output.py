"""Where `--output` may write: a new file, or a plain one in place of the old."""

from __future__ import annotations

from pathlib import Path

from ledger.errors import InputError


def check_output(path: Path) -> None:
    """Raise InputError when `path` cannot become a file; asked before the work, so that none is done in vain."""
    if path.is_dir():
        raise InputError("is a folder, not a file", where=str(path), todo="name a file in it")
    if not path.parent.is_dir():
        raise InputError("no such folder", where=str(path.parent), todo="make it first, or write elsewhere")
    if path.exists() and not path.is_file():
        raise InputError("is a device or pipe, not a file", where=str(path), todo="leave --output out to print")
