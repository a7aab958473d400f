"""What a trace is to the rest of the house, and what reads one.

A format turns a file into `Trace`: integer columns that no later step has to parse again. Everything that is known
about a profiler's file layout stays in its format's module.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]

ABSENT = -1
"""A correlation, external id or operation count that the event does not carry."""


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


DEVICE_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)


@dataclass(frozen=True)
class Events:
    """Events as columns of equal length, in the file's order. Times are integer nanoseconds of the trace's clock."""

    kind: Int64
    name: Int64
    """Index into `Trace.names`."""
    track: Int64
    """One number a (process, thread) or (device, stream)."""
    start: Int64
    end: Int64
    correlation: Int64
    """Links a launch with its device work; ABSENT where there is none."""
    external: Int64
    """Links device work with the operator that launched it; ABSENT where there is none."""
    flops: Int64
    """Floating-point operations by the shapes recorded; ABSENT where the operator has no rule or no shapes."""

    def __len__(self) -> int:
        return len(self.start)

    def where(self, *kinds: Kind) -> Int64:
        """Indices of the events of these kinds."""
        return np.flatnonzero(np.isin(self.kind, kinds)).astype(np.int64)


@dataclass(frozen=True)
class Trace:
    """One rank's trace."""

    path: Path
    names: tuple[str, ...]
    events: Events
    total: int
    """Events in the file, of any kind."""
    rank: int | None
    """None where neither the file nor its name tells."""
    world_size: int | None
    warnings: tuple[str, ...] = ()
    """What the reader had to leave out or assume, each with a count."""

    @property
    def has_device(self) -> bool:
        """Whether any work of a device is recorded; without it the host is the device."""
        return bool(np.isin(self.events.kind, DEVICE_KINDS).any())


class Format(ABC):
    """One file layout. A new one is one module with a subclass, named in `ledger.traces.FORMATS`."""

    name: ClassVar[str]

    @abstractmethod
    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether the file looks like this format; `head` is its first bytes, decompressed where it is gzip."""

    @abstractmethod
    def read(self, path: Path) -> Trace:
        """The file as columns. Raises InputError when it is not a whole file of this format."""
