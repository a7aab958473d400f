"""The pip requirements file of a stack: what it names, and the digest of all that decides what would be installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ledger.canonical import digest, file_digest
from ledger.errors import InputError

INCLUDED = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]+(?P<path>\S+)")
EDITABLE = re.compile(r"(?:-e|--editable)[\s=]")
LOCAL = re.compile(r"(?:file:)?(?P<path>\.{0,2}/[^\s;#]*)")
MOST_BYTES = 1_000_000


def requirements_digest(path: Path) -> str:
    """Digest of a requirements file, of those that it includes, and of local wheels and archives that it names.

    Names and places of the files do not enter it. Raises InputError: no such file, not text, a folder to install from.
    """
    return digest([file_digest(each) for each in _files(path, path.resolve().parent, set())])


def _files(path: Path, base: Path, seen: set[Path]) -> Iterator[Path]:
    """The file, then, in the order in which they stand there, what it includes and names.

    As for pip, includes start from the file, and local archives from where pip runs: the folder of the first file.
    """
    path = path.resolve()
    if path in seen:
        return
    seen.add(path)
    lines = _lines(path)
    yield path
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        if EDITABLE.match(line):
            todo = "build a wheel of it and name that"
            raise InputError("installs a folder that can change unseen", where=where, todo=todo)
        if found := INCLUDED.match(line):
            yield from _files(path.parent / found["path"], base, seen)
        elif found := LOCAL.match(line):
            yield _local(base / found["path"], where)


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError("is too large for a requirements file", where=str(path), todo="name another file")
        text = path.read_bytes().decode()
    except FileNotFoundError:
        raise InputError("no such requirements file", where=str(path), todo="write it, or mend its name") from None
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        todo = "name a pip requirements file"
        raise InputError(f"cannot be read ({said})", where=str(path), todo=todo) from None
    return [line.strip() for line in text.replace("\\\n", " ").splitlines()]


def _local(path: Path, where: str) -> Path:
    if path.is_dir():
        todo = "build a wheel of it and name that"
        raise InputError(f"installs the folder {path.name}, which can change unseen", where=where, todo=todo)
    if not path.is_file():
        raise InputError(f"names {path.name}, which is not there", where=where, todo="put it there, or mend its name")
    return path
