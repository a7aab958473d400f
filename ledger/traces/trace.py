"""One rank's trace in memory: the columns that its explanation needs, as small as they can be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ledger.traces.interface import ABSENT, CALLS, DEVICE_KINDS, HOST_KINDS, MEMORY, Batch, Facts, Int64, Kind
from ledger.traces.room import Room, forget_pages, trim
from ledger.traces.rows import Rows

Int32 = npt.NDArray[np.int32]

_SPARSE = {"flops": np.int64, "bytes": np.int64, "blocks_per_sm": np.float32}
_BLOCK = 2**19
_KEPT = (*HOST_KINDS, *DEVICE_KINDS)


@dataclass(frozen=True)
class Events:
    """Operators, annotations, runtime calls and device work as columns of equal length, in the file's order.

    Times are integer nanoseconds of the trace's clock.
    """

    kind: npt.NDArray[np.int8]
    name: Int32
    """Index into `Trace.names`."""
    track: Int32
    """One number a (process, thread) or (device, stream): index into `Trace.tracks`."""
    start: Int64
    end: Int64
    correlation: Int64
    """Links a launch with its device work; ABSENT where there is none."""
    external: Int64
    """Links device work with the operator that launched it; ABSENT where there is none."""

    def __len__(self) -> int:
        return len(self.start)

    def where(self, *kinds: Kind) -> Int64:
        """Indices of the events of these kinds."""
        return np.flatnonzero(np.isin(self.kind, kinds)).astype(np.int64, copy=False)


@dataclass(frozen=True)
class Sparse:
    """A number that few events carry."""

    event: Int64
    """Indices into the events, ascending."""
    value: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.event)


@dataclass(frozen=True)
class Track:
    """Where events happen one after another."""

    process: str
    """Of device work: the device."""
    thread: str
    """Of device work: the stream."""
    is_device: bool


@dataclass(frozen=True)
class Trace:
    """One rank's trace."""

    path: Path
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    events: Events
    flops: Sparse
    """Operations of operators, by the shapes recorded."""
    bytes: Sparse
    """What copies and fills moved."""
    blocks: Sparse
    """Thread blocks of kernels over the device's multiprocessors."""
    calls: pa.Table
    """Schema CALLS: events that may belong to a collective."""
    memory: pa.Table
    """Schema MEMORY."""
    facts: Facts
    room: Room
    """Where its columns are, and further ones of that size can be."""

    @property
    def rank(self) -> int | None:
        """None where neither the file nor its name tells."""
        return self.facts.rank

    @cached_property
    def device(self) -> Int64:
        """Indices of the events of the device."""
        found = np.flatnonzero(np.isin(self.events.kind, DEVICE_KINDS))
        kept: Int64 = self.room.empty(found.size, np.int64)
        kept[:] = found
        return kept

    @property
    def has_device(self) -> bool:
        """Whether any work of a device is recorded; without it the host is the device."""
        return self.device.size > 0


class _Growing:
    """A column that grows block by block, so that growing neither copies it nor leaves holes in memory."""

    def __init__(self, room: Room, dtype: type, absent: int | None = None) -> None:
        self._room, self._dtype, self._absent = room, dtype, absent
        self._blocks: list[npt.NDArray[Any]] = []
        self._free = 0
        self.size = 0

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add values at the end."""
        if self._absent is not None and not self._blocks:
            if (values == self._absent).all():
                self.size += len(values)
                return
            values = np.concatenate([np.full(self.size, self._absent, dtype=self._dtype), values])
            self.size = 0
        self.size += len(values)
        while len(values):
            if not self._free:
                self._blocks.append(self._room.empty(_BLOCK, self._dtype))
                self._free = _BLOCK
            taken = min(self._free, len(values))
            first = _BLOCK - self._free
            self._blocks[-1][first : first + taken] = values[:taken]
            self._free -= taken
            values = values[taken:]

    def ordered(self, spans: list[slice]) -> npt.NDArray[Any]:
        """The column with its spans in this order; a column without a single value takes no memory."""
        if self._absent is not None and not self._blocks:
            return np.broadcast_to(np.array(self._absent, dtype=self._dtype), self.size)
        whole = self._room.empty(self.size, self._dtype)
        for first in range(0, self.size, _BLOCK):
            part = whole[first : first + _BLOCK]
            part[:] = self._blocks.pop(0)[: len(part)]
            forget_pages()
        if all(before.stop == after.start for before, after in pairwise(spans)):
            return whole
        return np.concatenate([whole[span] for span in spans], out=self._room.empty(self.size, self._dtype))


class Collecting:
    """Batches on their way into a trace."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._tracks: dict[Track, int] = {}
        self._room = Room()
        dense = (np.int8, np.int32, np.int32, np.int64, np.int64)
        self._columns = [_Growing(self._room, dtype) for dtype in dense]
        self._columns += [_Growing(self._room, np.int64, ABSENT) for _ in ("correlation", "external")]
        self._spans: list[tuple[int, slice]] = []
        self._sparse: dict[str, list[tuple[Int64, npt.NDArray[Any]] | None]] = {name: [] for name in _SPARSE}
        self._calls, self._memory = Rows(self._room, CALLS), Rows(self._room, MEMORY)

    def add(self, batch: Batch) -> None:
        """Keep what the explanation needs of a batch."""
        if batch.calls is not None:
            self._calls.append(batch.place, batch.calls)
        if batch.memory is not None:
            self._memory.append(batch.place, batch.memory)
        if batch.events is not None:
            self._add_events(batch.events, batch.place)

    def _add_events(self, events: pa.RecordBatch, place: int) -> None:
        kind = events.column("kind").to_numpy()
        kept = np.flatnonzero(np.isin(kind, _KEPT))
        if not kept.size:
            return
        if kept.size < len(kind):
            events = events.take(pa.array(kept))
        kind = kind[kept]
        start = events.column("start_ns").to_numpy()
        values = (
            kind,
            self._name_codes(events.column("name")),
            self._track_codes(events, kind),
            start,
            start + events.column("duration_ns").to_numpy(),
            _filled(events.column("correlation")),
            _filled(events.column("external_id")),
        )
        first = self._columns[0].size
        for column, added in zip(self._columns, values, strict=True):
            column.append(added)
        for name, found in self._sparse.items():
            found.append(_given(events.column(name)))
        self._spans.append((place, slice(first, first + len(kind))))

    def trace(self, path: Path, facts: Facts) -> Trace:
        """The trace, in the file's order."""
        order = sorted(range(len(self._spans)), key=lambda index: self._spans[index][0])
        spans = [self._spans[index][1] for index in order]
        lengths = [span.stop - span.start for span in spans]
        sparse = {
            name: _sparse([found[index] for index in order], lengths, _SPARSE[name])
            for name, found in self._sparse.items()
        }
        columns = []
        while self._columns:  # one at a time, so that nothing is held twice
            columns.append(self._columns.pop(0).ordered(spans))
        trim()
        return Trace(
            path=path,
            names=tuple(self._names),
            tracks=tuple(self._tracks),
            events=Events(*columns),
            flops=sparse["flops"],
            bytes=sparse["bytes"],
            blocks=sparse["blocks_per_sm"],
            calls=self._calls.table(),
            memory=self._memory.table(),
            facts=facts,
            room=self._room,
        )

    def _name_codes(self, column: pa.DictionaryArray) -> Int32:
        known = self._names
        codes = [known.setdefault(word, len(known)) for word in column.dictionary.to_pylist()]
        indices: Int32 = column.indices.to_numpy()
        return np.array(codes, dtype=np.int32)[indices]

    def _track_codes(self, events: pa.RecordBatch, kind: npt.NDArray[np.int8]) -> Int32:
        processes, threads = events.column("process"), events.column("thread")
        wide = len(threads.dictionary) * 2
        local = processes.indices.to_numpy().astype(np.int64) * wide
        local += threads.indices.to_numpy() * 2 + np.isin(kind, DEVICE_KINDS)
        values, codes = _distinct(local, wide * max(len(processes.dictionary), 1))
        known = self._tracks
        found = []
        for value in values.tolist():
            process, rest = divmod(value, wide)
            track = Track(processes.dictionary[process].as_py(), threads.dictionary[rest // 2].as_py(), bool(rest % 2))
            found.append(known.setdefault(track, len(known)))
        return np.array(found, dtype=np.int32)[codes]


def collect(batches: Iterable[Batch], path: Path, facts: Facts) -> Trace:
    """A trace of all the batches."""
    collecting = Collecting()
    for batch in batches:
        collecting.add(batch)
    return collecting.trace(path, facts)


def _distinct(values: Int64, bound: int) -> tuple[Int64, Int64]:
    """The distinct values, ascending, and each value's place among them; without sorting where the range is small."""
    if bound > 4 * len(values) + 1024:
        found, codes = np.unique(values, return_inverse=True)
        return found, codes
    present = np.zeros(bound, dtype=np.bool_)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def _filled(column: pa.Array) -> Int64:
    if not column.null_count:
        return column.to_numpy()  # type: ignore[no-any-return]
    return column.fill_null(ABSENT).to_numpy()  # type: ignore[no-any-return]


def _given(column: pa.Array) -> tuple[Int64, npt.NDArray[Any]] | None:
    """Where a column has values, and these; None where it has none."""
    if column.null_count == len(column):
        return None
    return np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)), column.drop_null().to_numpy()


def _sparse(found: list[tuple[Int64, npt.NDArray[Any]] | None], lengths: list[int], dtype: type) -> Sparse:
    places: list[Int64] = [np.empty(0, dtype=np.int64)]
    values: list[npt.NDArray[Any]] = [np.empty(0, dtype=dtype)]
    first = 0
    for given, length in zip(found, lengths, strict=True):
        if given is not None:
            places.append(given[0] + first)
            values.append(given[1])
        first += length
    return Sparse(np.concatenate(places), np.concatenate(values))
