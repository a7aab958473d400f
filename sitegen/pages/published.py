"""Raw evidence on the site: which files of a run folder are copied, and under which name.

A file keeps its name when a browser shows it as plain data or saves it. Anything that a browser would run or render
(HTML, SVG, scripts), or that the site builder would take for a page, gets `.txt` behind its name: evidence is hostile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from ledger.errors import EvidenceError
from ledger.manifest import NAME
from ledger.plain_text import neutral
from ledger.run_folder import RunFolder

INERT = frozenset(
    [
        ".json",
        ".yaml",
        ".yml",
        ".log",
        ".txt",
        ".sh",
        ".py",
        ".toml",
        ".cfg",
        ".ini",
        ".csv",
        ".jsonl",
        ".parquet",
        ".gz",
        ".zst",
        ".sha256",
    ]
)


@dataclass(frozen=True)
class Published:
    """One file of the manifest."""

    path: str
    sha256: str | None
    """None for the manifest itself: its digest is the run's id."""
    source: Path
    bytes: int | None
    """None when the file is not there (redacted, or lost)."""
    name: str
    """Its path on the site, below the run's page."""

    @property
    def href(self) -> str:
        """`name` as an address."""
        return quote(self.name)


def files(folder: RunFolder) -> list[Published]:
    """Every file of the manifest and the manifest itself, in its order. Raises EvidenceError when it cannot be read."""
    listed: dict[str, str | None] = {**folder.digests, NAME: None}
    return [_published(folder, path, digest) for path, digest in listed.items()]


def published_name(path: str) -> str:
    """The name under which a file of a run folder stands on the site."""
    pure = PurePosixPath(path)
    parts = [f"dot-{part[1:]}" if part.startswith(".") else part for part in pure.parts]
    inert = pure.suffix.lower() in INERT and not pure.name.startswith(".")
    return "/".join(parts) if inert else f"{'/'.join(parts)}.txt"


def _published(folder: RunFolder, path: str, digest: str | None) -> Published:
    source = folder.path / path
    inside = source.resolve().is_relative_to(folder.path.resolve())
    present = inside and source.is_file() and not source.is_symlink()
    size = source.stat().st_size if present else None
    return Published(path, digest, source, size, f"files/{published_name(path)}")


def tail(folder: RunFolder, path: str, lines: int = 60, most_bytes: int = 65_536) -> tuple[str, bool]:
    """The end of a text file and whether something before it was left out; empty when there is no such file."""
    try:
        data = folder.bytes(path)
    except EvidenceError:
        return "", False
    text = data[-most_bytes:].decode(errors="replace")
    kept = text.splitlines()[-lines:]
    return "\n".join(_printable(line) for line in kept), len(data) > most_bytes or len(text.splitlines()) > lines


def whole(folder: RunFolder, path: str) -> str:
    """A text file from its start, at most 400 lines of it."""
    try:
        data = folder.bytes(path)
    except EvidenceError:
        return ""
    return "\n".join(_printable(line) for line in data[:131_072].decode(errors="replace").splitlines()[:400])


def _printable(line: str) -> str:
    return neutral(line.expandtabs())
