"""The tables of traces that were read before, kept by the digest of their file. Made again at will, never evidence."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ledger.canonical import bytes_digest, file_digest
from ledger.traces import reading
from ledger.traces.interface import Facts
from ledger.traces.storage import batches
from ledger.traces.trace import Trace, collect

VERSION = 3
"""Grows with every change of what the tables hold, so that older ones are not taken for new."""

_FACTS = "facts.json"


@dataclass(frozen=True)
class Cached:
    """One trace's tables, whole and read-only."""

    path: Path
    """The trace file."""
    folder: Path
    """Holds events-N.parquet, calls-N.parquet and memory-N.parquet, with the schemas of `ledger.traces.interface`."""
    facts: Facts
    digest: str
    """sha256 of the file that was read; of several files, of their digests and names."""

    def files(self, table: str) -> list[Path]:
        """The Parquet files of a table, which may be none."""
        return sorted(self.folder.glob(f"{table}-*.parquet"))

    def trace(self) -> Trace:
        """The columns in memory, without parsing the file again."""
        return collect(batches(self.folder), self.path, self.facts)


def cached(path: Path, root: Path) -> Cached:
    """The tables of a trace file below `root`, made now where they are not there. Raises InputError."""
    digest = _digest(path)
    folder = root / f"{digest[:32]}-{VERSION}"
    if not (folder / _FACTS).is_file():
        _make(path, folder)
    return Cached(path, folder, Facts.of(json.loads((folder / _FACTS).read_bytes())), digest)


def _digest(path: Path) -> str:
    """Of the file; of several that are one trace, of their names and digests."""
    files = reading.format_of(path).files(path) if path.is_dir() else (path,)
    if files == (path,):
        return file_digest(path)
    return bytes_digest("".join(f"{file_digest(each)}  {each.name}\n" for each in files).encode())


def _make(path: Path, folder: Path) -> None:
    """Read the file into a folder aside and move it into place whole; another process may do so first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        facts = reading.read(path, aside).facts
        (aside / _FACTS).write_text(json.dumps(facts.data()))
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
    except OSError:
        if not (folder / _FACTS).is_file():
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
