"""What every importer has: a name, a way to recognise its format, and a way to read it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from collector.importers.files import Files
from ledger.public import Collection, SourceFile

SURE = 1.0
"""The format's own marks are there."""
LIKELY = 0.5
"""It looks like it; another format may look alike."""


@dataclass(frozen=True)
class Match:
    """How sure an importer is that something is of its format, and by what it tells."""

    confidence: float
    why: str


@dataclass(frozen=True)
class Work:
    """What one step does in the rows whose ids match `rows` (`*` and `?` as in file names), as the user states it."""

    rows: str
    where: str
    """File and line of the statement."""
    source: str
    """Where the user has it from."""
    samples: int | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Facts:
    """What the user knows of the files and the files do not say."""

    version: str | None = None
    commit: str | None = None
    licence: str | None = None
    work: tuple[Work, ...] = ()
    files: tuple[SourceFile, ...] = ()
    """The files in which the user states this."""


class Importer(ABC):
    """One format. Subclasses say what they make of it: a collection, or run folders."""

    name: ClassVar[str]
    """What the user calls the format."""
    title: ClassVar[str]
    """One line on what it is."""

    @abstractmethod
    def detect(self, path: Path) -> Match | None:
        """Whether `path`, a file or folder that is there, is of this format. Reads little and raises nothing."""


class CollectionImporter(Importer):
    """An importer whose result is a collection of public results."""

    @abstractmethod
    def read(self, files: Files, facts: Facts) -> Collection:
        """All that is there. Raises InputError where the format is not what it should be: nothing is half taken."""
