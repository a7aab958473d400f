"""Raw evidence on the site: which files of a run folder are copied, and under which name.

A file keeps its name when a browser shows it as plain data or saves it. Anything that a browser would run or render
(HTML, SVG, scripts), or that the site builder would take for a page, gets `.txt` behind its name: evidence is hostile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

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
        ".sqlite",
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


def inside(folder: RunFolder, path: str) -> Path | None:
    """A plain file of the run folder, or None: what a link leads to is not evidence, and is never published."""
    source = folder.path / path
    if source.is_symlink() or not source.is_file() or not source.resolve().is_relative_to(folder.path.resolve()):
        return None
    return source


def tail(folder: RunFolder, path: str, lines: int = 60, most_bytes: int = 65_536) -> tuple[str, bool]:
    """The end of a text file and whether something before it was left out; empty when there is no such file."""
    data = _read(folder, path)
    every = data[-most_bytes:].decode(errors="replace").splitlines()
    return "\n".join(map(_printable, every[-lines:])), len(data) > most_bytes or len(every) > lines


def whole(folder: RunFolder, path: str, lines: int = 400, most_bytes: int = 131_072) -> str:
    """A text file from its start, cut at a length that a page can hold; empty when there is no such file."""
    text = _read(folder, path)[:most_bytes].decode(errors="replace")
    return "\n".join(map(_printable, text.splitlines()[:lines]))


def _published(folder: RunFolder, path: str, digest: str | None) -> Published:
    source = inside(folder, path)
    size = source.stat().st_size if source else None
    return Published(path, digest, folder.path / path, size, f"files/{published_name(path)}")


def _read(folder: RunFolder, path: str) -> bytes:
    source = inside(folder, path)
    try:
        return source.read_bytes() if source else b""
    except OSError:
        return b""


def _printable(line: str) -> str:
    return neutral(line.expandtabs())
