"""Results that others have published: one immutable file for each imported collection, apart from own evidence.

`public/<source>/<digest16>.json` in a workspace, canonical JSON; the digest is that of the content, which holds no
time, so that importing the same files twice changes nothing. Nothing in it was measured or checked here: it says what a
source says, under the source's own definitions, and what of that cannot be true.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ledger import workspace
from ledger.canonical import SHORT, bytes_digest, canonical_json
from ledger.durable import storage_errors, write_new
from ledger.errors import EvidenceError, InputError

FORMAT = 1
FOLDER = "public"
"""Folder of a workspace that holds the imported collections."""
LABEL = "public, not verified here"
"""Stands wherever such a result is shown."""

STATES = ("completed", "failed", "described")
"""`described`: the source tells the configuration and holds no result of it."""
TOPICS = ("quality", "cost", "repeats", "work_per_step", "trace", "requests")
"""What a decision needs beside a speed; each row says for each of them what it can show, or why it cannot."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FILE = re.compile(r"(?P<digest>[0-9a-f]{16})\.json")


@dataclass(frozen=True)
class SourceFile:
    """One file that a collection was read from; `name` is its path below what was imported."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Origin:
    """Where a collection comes from, as far as it is known."""

    files: tuple[SourceFile, ...]
    version: str | None = None
    commit: str | None = None
    licence: str | None = None


@dataclass(frozen=True)
class Quantity:
    """One metric of a collection: what its values are, there and beside ours."""

    metric: str
    """The id of stackproof's metric where the definition is the same; else `NAME@SOURCE`."""
    unit: str
    """Base unit of the values: `s`, `B`, `share`, `1/s`, `tokens/s`, …"""
    name: str
    """What the source calls it."""
    definition: str
    """What the source says it is."""
    note: str | None = None
    """Where stackproof's definition differs, or what is known to be wrong with theirs."""


@dataclass(frozen=True)
class Problem:
    """Something that a reader of a row or a collection must know."""

    code: str
    what: str


@dataclass(frozen=True)
class Row:
    """One published configuration with what its source says of it."""

    id: str
    """Unique within the collection."""
    title: str
    state: str
    """One of STATES."""
    failure: str | None = None
    workload: dict[str, Any] = field(default_factory=dict)
    """`kind`, `model`, `precision`, `dataset`, `batch_size`, `sequence_length`, `parallelism`, …: what is known."""
    hardware: dict[str, Any] = field(default_factory=dict)
    """`vendor`, `device`, `count`, `devices_per_node`, `class`, …: what is known."""
    framework: str | None = None
    framework_version: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    """{metric: value in its base unit}; each metric is one of the collection's quantities."""
    missing: dict[str, str] = field(default_factory=dict)
    """{metric: why there is no value}."""
    shows: dict[str, str] = field(default_factory=dict)
    """{topic: what the row can show of it}."""
    cannot_show: dict[str, str] = field(default_factory=dict)
    """{topic: why it cannot}; every topic is in one of the two."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Collection:
    """What one import took from one place."""

    source: str
    """Short name of what published it, such as `ccl-bench`."""
    title: str
    origin: Origin
    quantities: tuple[Quantity, ...]
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no reader could tell apart. Raises ValueError."""
        known = {each.metric for each in self.quantities}
        if len(known) != len(self.quantities):
            raise ValueError("a metric is described twice")
        if len({row.id for row in self.rows}) != len(self.rows):
            raise ValueError("two rows have one id")
        for row in self.rows:
            if row.state not in STATES:
                raise ValueError(f"{row.id}: unknown state {row.state!r}")
            if not {*row.values, *row.missing} <= known:
                raise ValueError(f"{row.id}: a value of an unknown metric")
            if not all(math.isfinite(each) for each in row.values.values()):
                raise ValueError(f"{row.id}: a value that is no number")
            if {*row.shows, *row.cannot_show} != set(TOPICS) or row.shows.keys() & row.cannot_show.keys():
                raise ValueError(f"{row.id}: must say of each of {', '.join(TOPICS)} whether it shows it")

    def to_json(self) -> dict[str, Any]:
        """The content of the collection's file."""
        rows = [{**vars(row), "problems": [vars(each) for each in row.problems]} for row in self.rows]
        return {
            "format": FORMAT,
            "label": LABEL,
            "source": self.source,
            "title": self.title,
            "origin": asdict(self.origin),
            "quantities": [vars(each) for each in self.quantities],
            "rows": rows,
            "problems": [vars(each) for each in self.problems],
        }

    @cached_property
    def canonical(self) -> bytes:
        """The canonical JSON of the content."""
        return canonical_json(self.to_json())

    @cached_property
    def digest(self) -> str:
        """The 16 hex digits in the file's name: those of `canonical`'s sha256."""
        return bytes_digest(self.canonical)[:SHORT]


def from_json(content: Any) -> Collection:
    """A collection from its file's content. Raises ValueError, KeyError or TypeError when it is none."""
    if content["format"] != FORMAT:
        raise ValueError(f"has format {content['format']!r}, this version reads {FORMAT}")
    rows = [Row(**{**row, "problems": tuple(Problem(**each) for each in row["problems"])}) for row in content["rows"]]
    origin = content["origin"]
    return Collection(
        source=content["source"],
        title=content["title"],
        origin=Origin(**{**origin, "files": tuple(SourceFile(**each) for each in origin["files"])}),
        quantities=tuple(Quantity(**each) for each in content["quantities"]),
        rows=tuple(rows),
        problems=tuple(Problem(**each) for each in content["problems"]),
    )


def folder(evidence: Path) -> Path:
    """The folder of imported collections of the workspace that holds `evidence`; else beside it."""
    try:
        return workspace.find(evidence.parent).root / FOLDER
    except InputError:
        return evidence.parent / FOLDER


def write(collection: Collection, public: Path) -> tuple[Path, bool]:
    """Store a collection: (its file, whether it is new). Raises StorageError, InputError."""
    if not _NAME.fullmatch(collection.source):
        raise ValueError(f"{collection.source!r} is no name for a folder")
    path = public / collection.source / f"{collection.digest}.json"
    data = collection.canonical + b"\n"
    if path.is_file() and path.read_bytes() == data:
        return path, False
    with storage_errors(path):
        try:
            write_new(path, data)
        except FileExistsError:
            what = "is there already, with another content than its name says"
            raise InputError(what, where=str(path), todo="restore it from git, or remove it") from None
    return path, True


def paths(public: Path) -> Iterator[Path]:
    """Every file that should be a collection, sorted; what is being written is left out."""
    return (path for path in sorted(public.glob("*/*.json")) if not path.name.startswith("."))


def read(path: Path) -> Collection:
    """The collection in a file, checked against its name and its place. Raises EvidenceError."""
    match = _FILE.fullmatch(path.name)
    try:
        if match is None:
            raise ValueError("is not named by a digest")
        if path.is_symlink() or not path.is_file():
            raise ValueError("is not a plain file")
        data = path.read_bytes()
        content = json.loads(data)
        canonical = canonical_json(content)
        if bytes_digest(canonical)[:SHORT] != match["digest"] or data != canonical + b"\n":
            raise ValueError("is not what its name says: it was changed or renamed")
        found = from_json(content)
        if found.source != path.parent.name:
            raise ValueError(f"belongs to {found.source!r}")
    except OSError as error:
        raise EvidenceError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = str(error) if type(error) is ValueError else f"does not hold a collection ({type(error).__name__})"
        raise EvidenceError(said, where=str(path), todo="restore it from git, or import its source again") from None
    return found
