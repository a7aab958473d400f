"""What a trace is to the rest of the house, and what reads one.

A format turns a file into rows of the tables below, a batch at a time, so that a file's size never decides how much
memory reading it takes. Everything that is known about a profiler's file layout stays in its format's module.
"""

from __future__ import annotations

import enum
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ledger.errors import InputError

Int64 = npt.NDArray[np.int64]

ABSENT = -1
"""In a column of numbers: what the event does not carry."""


class Kind(enum.IntEnum):
    """What an event is, whatever its profiler calls it."""

    OP = 0
    """An operator on the host."""
    ANNOTATION = 1
    """A range that the program or its framework named."""
    RUNTIME = 2
    """A call into the device's runtime or driver."""
    KERNEL = 3
    MEMCPY = 4
    MEMSET = 5
    PYTHON = 6
    """A Python frame: where the host is, no work of its own."""
    DEVICE_RANGE = 7
    """An annotation drawn over the device work that it launched."""
    OTHER = 8
    """A timed event of the profiler itself, or of a category that no rule knows."""


DEVICE_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
HOST_KINDS = (Kind.OP, Kind.ANNOTATION, Kind.RUNTIME)

_RANK = re.compile(r"rank[-_.]?(\d+)", re.IGNORECASE)
_WORD = pa.dictionary(pa.int32(), pa.string())

EVENTS = pa.schema(
    [
        ("kind", pa.int8()),  # Kind
        ("category", _WORD),  # the profiler's own word for it
        ("name", _WORD),
        ("process", _WORD),  # of device work: the device
        ("thread", _WORD),  # of device work: the stream
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("correlation", pa.int64()),  # links a launch with its device work
        ("external_id", pa.int64()),  # links device work with the operator that launched it
        ("flops", pa.int64()),  # operations by the shapes recorded; null without a rule or shapes
        ("bytes", pa.int64()),  # moved by a copy or fill
        ("blocks_per_sm", pa.float32()),  # thread blocks of a kernel over the device's multiprocessors
    ]
)
"""Every timed event, in the file's order. Times are integer nanoseconds of the trace's clock. Null: not recorded."""

CALLS = pa.schema(
    [
        ("kind", pa.int8()),
        ("name", _WORD),
        ("process", _WORD),
        ("thread", _WORD),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("correlation", pa.int64()),
        ("external_id", pa.int64()),
        ("operation", pa.string()),  # as the profiler spells it
        ("elements_in", pa.int64()),
        ("elements_out", pa.int64()),
        ("dtype", pa.string()),
        ("group", pa.string()),
        ("group_size", pa.int64()),
        ("ranks", pa.string()),
        ("sequence", pa.int64()),
        ("shapes", pa.string()),  # JSON: shapes of the inputs
        ("types", pa.string()),  # JSON: data types of the inputs
    ]
)
"""Events that may belong to a collective: those that carry its arguments, and those of communication by name."""

MEMORY = pa.schema(
    [
        ("at_ns", pa.int64()),
        ("device", pa.string()),  # cpu, or the profiler's device type and index, such as cuda:0
        ("bytes", pa.int64()),  # allocated; negative: freed
        ("allocated_bytes", pa.int64()),  # in use after it, counted since profiling began
        ("reserved_bytes", pa.int64()),  # held by the allocator after it
    ]
)
"""Allocations and frees, in the file's order."""


@dataclass
class Batch:
    """Some rows of each table, in the file's order."""

    events: pa.RecordBatch | None = None
    calls: pa.RecordBatch | None = None
    memory: pa.RecordBatch | None = None
    place: int = 0
    """Orders the batches of all parts of a file."""


@dataclass
class Facts:
    """What a file says beside its rows. Parts of one file are added up."""

    total: int = 0
    """Entries in the file, of any kind."""
    untimed: int = 0
    """Entries that carry no duration by nature: metadata, flow arrows, instants."""
    salvaged: int = 0
    """Events that were read only after their text was repaired."""
    lost: Counter[str] = field(default_factory=Counter)
    """Events that could not be read, by reason; the reason completes `each …`."""
    cut: str | None = None
    """How the file breaks off before its end; None when it is whole."""
    rank: int | None = None
    """None where neither the file nor its name tells."""
    world_size: int | None = None
    has_distributed_info: bool = False
    devices: list[dict[str, object]] = field(default_factory=list)
    """Properties of the devices, as the profiler wrote them."""
    share: str | None = None
    """Which of the file's ranks this is, in words; None where the file holds one alone."""
    base_ns: int | None = None
    """What a time of 0 is in nanoseconds since 1970, where the format tells: ranks are then compared by that clock."""
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    """Number, start and end (ns) of each step, where the format numbers them itself: annotations are then not asked."""
    halves: list[list[Any]] = field(default_factory=list)
    """Of each range that is open where a piece of the file ends: what its format's `join` needs, as JSON values."""
    notes: list[str] = field(default_factory=list)
    """What else whoever reads the rows must know, such as what the profiler was not asked to record."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        """From what `data` made."""
        steps = [(number, start, end) for number, start, end in data["steps"]]
        return cls(**{**data, "lost": Counter(data["lost"]), "steps": steps})

    def data(self) -> dict[str, Any]:
        """As plain JSON data; `dataclasses.asdict` makes a Counter of the pairs of a Counter."""
        return {**vars(self), "lost": dict(self.lost)}

    def add(self, other: Facts) -> None:
        """Take in another part of the same file."""
        self.total += other.total
        self.untimed += other.untimed
        self.salvaged += other.salvaged
        self.lost += other.lost
        self.cut = self.cut or other.cut
        self.rank = other.rank if self.rank is None else self.rank
        self.world_size = other.world_size if self.world_size is None else self.world_size
        self.has_distributed_info |= other.has_distributed_info
        self.devices = self.devices or other.devices
        self.base_ns = other.base_ns if self.base_ns is None else self.base_ns
        self.steps += [step for step in other.steps if step not in self.steps]
        self.halves += other.halves
        self.notes += [note for note in other.notes if note not in self.notes]


@dataclass(frozen=True)
class Part:
    """The share of a file that one process reads: every `of`-th piece, from the `number`-th."""

    number: int = 0
    of: int = 1


def rank_in_name(path: Path) -> int | None:
    """The rank that a file's name tells, such as rank-3.json.gz or run.rank3.sqlite."""
    named = _RANK.search(path.name)
    return int(named[1]) if named else None


class Format(ABC):
    """One layout of a trace. A new one is one module with a subclass, named in `ledger.traces.reading.FORMATS`.

    A trace is named by one path: a file, or a folder, of which a format may read several files as one trace. A format
    whose profiler numbers steps or tells its clock's base says so in `Facts.steps` and `Facts.base_ns`; one whose file
    holds several ranks lists them in `ranks` and reads the one that it is asked for.
    """

    name: ClassVar[str]
    """What to call it in a sentence, with its file endings."""

    @abstractmethod
    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether the path looks like this format; `head` is the file's first bytes, decompressed where they are
        packed, and empty for a folder."""

    def refused(self, path: Path, head: bytes) -> InputError | None:  # noqa: ARG002 (most formats know themselves alone)
        """What to say of a file that no format reads, where this one can tell what it is instead."""
        return None

    def files(self, path: Path) -> tuple[Path, ...]:
        """All files that the trace is read from, in an order that does not depend on the machine."""
        return (path,)

    def ranks(self, path: Path) -> tuple[str, ...]:  # noqa: ARG002 (most files hold one)
        """What the file calls each of the ranks that it holds, where it tells without being read as a whole; empty
        where it holds one, or does not tell. Raises InputError as `read` does."""
        return ()

    def parts(self, path: Path) -> int:  # noqa: ARG002 (most formats are read in one piece)
        """In how many parts the file is worth reading at once."""
        return 1

    @abstractmethod
    def read(self, path: Path, facts: Facts, part: Part, rank: str | None = None) -> Iterator[Batch]:
        """The rows of a part, a batch at a time; `facts` is filled in and is whole when the iterator ends.

        `rank` is one of `ranks`, whose rows alone are read; None: whatever the format takes the file to be a trace of.

        Raises InputError when the file is not of this format or nothing in it can be read. What else is wrong with it
        is counted in `facts`.
        """

    def join(self, facts: Facts) -> Iterator[Batch]:  # noqa: ARG002 (most formats are read in one piece)
        """What only several parts together tell, asked for once `facts` holds what all of them say; a file that is read
        in one part has it among the rows of that part."""
        return iter(())
