"""The files of an import: read once, sized, digested, and named by their path below what was imported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ledger.canonical import bytes_digest
from ledger.errors import InputError
from ledger.public import SourceFile

LARGEST = 512 * 2**20
"""Bytes of one file: results are small, so that what is larger is a trace or something else."""
_SKIPPED = frozenset({".git", ".venv", "node_modules", "__pycache__"})
_LARGEST_FIELD = 16 * 2**20


class Files:
    """Files below a path (or that one file). What was read is in `taken`, for the collection's origin."""

    def __init__(self, path: Path) -> None:
        """`path` is a file or a folder. Raises InputError when there is neither."""
        if not path.exists():
            raise InputError("no such file or folder", where=str(path), todo="check the path")
        self.path = path
        self.root = path if path.is_dir() else path.parent
        self._taken: dict[str, SourceFile] = {}

    @property
    def taken(self) -> tuple[SourceFile, ...]:
        """What was read, in the order of names."""
        return tuple(self._taken[name] for name in sorted(self._taken))

    def names(self, *endings: str) -> list[str]:
        """Paths below the root of the plain files that end so (`.json`), sorted; links are not followed."""
        if not self.path.is_dir():
            return [self.path.name] if self.path.name.endswith(endings) else []
        return sorted(self._walk(self.path, endings))

    def _walk(self, folder: Path, endings: tuple[str, ...]) -> Iterator[str]:
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror})", where=str(folder), todo="check its permissions"
            ) from None
        for entry in entries:
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if entry.name not in _SKIPPED:
                    yield from self._walk(entry, endings)
            elif entry.name.endswith(endings) and entry.is_file():
                yield entry.relative_to(self.root).as_posix()

    def where(self, name: str) -> str:
        """A file's path as the user would write it."""
        return str(self.root / name)

    def bytes(self, name: str) -> bytes:
        """The bytes of a file. Raises InputError."""
        path = self.root / name
        try:
            if path.stat().st_size > LARGEST:
                what = f"has more than {LARGEST // 2**20} MiB, which no results file has"
                raise InputError(what, where=str(path), todo="name the results file itself")
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=str(path), todo="check the path") from None
        self._taken[name] = SourceFile(name, bytes_digest(data), len(data))
        return data

    def text(self, name: str) -> str:
        """The text of a file. Raises InputError."""
        try:
            return self.bytes(name).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", where=self.where(name), todo="save it as UTF-8") from None

    def json(self, name: str) -> Any:
        """The value in a JSON file; NaN and infinities are read as such. Raises InputError."""
        return parse_json(self.text(name), self.where(name))

    def json_values(self, name: str) -> list[Any]:
        """The values in a file of one or more JSON values one after another, such as JSON lines. Raises InputError."""
        text = self.text(name)
        try:
            return [json.loads(text)]
        except (ValueError, RecursionError):
            lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) > 1 and _is_json(lines[0]):
            return [parse_json(line, f"{self.where(name)}: value {number}") for number, line in enumerate(lines, 1)]
        return [parse_json(text, self.where(name))]

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of a CSV file with a header. Raises InputError when a row has another length, or a quote is open."""
        text = self.text(name)
        before = csv.field_size_limit(_LARGEST_FIELD)
        try:
            reader = csv.reader(io.StringIO(text, newline=""), strict=True)
            return list(_records(reader, self.where(name)))
        except csv.Error as error:
            todo = "get the whole file"
            raise InputError(f"is no whole CSV file ({error})", where=self.where(name), todo=todo) from None
        finally:
            csv.field_size_limit(before)


def _records(reader: Any, where: str) -> Iterator[dict[str, str]]:
    header = next(reader, None)
    if not header:
        raise InputError("is empty", where=where, todo="get the whole file")
    if len(set(header)) != len(header):
        raise InputError("has two columns of one name", where=where, todo="get the original file")
    for cells in reader:
        if cells and len(cells) != len(header):
            what = f"has {len(cells)} columns where the header has {len(header)}"
            raise InputError(what, where=f"{where}:{reader.line_num}", todo="get the whole file")
        if cells:
            yield dict(zip(header, cells, strict=True))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text. Raises InputError: half a file, no JSON, nested without an end."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        half = at_end and text.strip()
        what = "ends in the middle" if half else f"is not JSON (line {error.lineno}: {error.msg})"
        raise InputError(what, where=where, todo="get the whole file") from None
    except (RecursionError, ValueError):
        raise InputError("is not JSON that can be read (too deep, or a number too long)", where=where) from None


def mapping(value: Any) -> dict[str, Any]:
    """`value` when it is a JSON object, else an empty one: what a file may leave out."""
    return value if isinstance(value, dict) else {}


def first_lines(path: Path, characters: int = 65_536) -> str:
    """The start of a file as text, for detection; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(characters).decode(errors="replace")
    except OSError:
        return ""


def unique(ids: Iterable[str]) -> list[str]:
    """The ids, those that come again with `#2`, `#3` behind them."""
    seen: dict[str, int] = {}
    found = []
    for each in ids:
        seen[each] = seen.get(each, 0) + 1
        found.append(each if seen[each] == 1 else f"{each}#{seen[each]}")
    return found
