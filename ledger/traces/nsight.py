"""Nsight Systems' SQLite export (`nsys export --type sqlite`), of any version that has a table for each kind of event.

Schema: https://docs.nvidia.com/nsight-systems/2021.5/nsys-exporter/exported_data.html; newer versions comment it in the
export itself (`sqlite3 FILE .schema`). Times are nanoseconds already. An export may hold many processes and devices, a
trace is one rank: one process on one device, with all processes that launched no device work. Unless one is asked for
it is the rank with the most device time; what that leaves out is said in `Facts.notes` and in no count.

Read are kernels, copies, fills, whole CUDA graphs, runtime and driver calls, and NVTX ranges. The rest is not work:
synchronization records repeat the calls that waited; sampling, scheduling and metrics have no duration.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ledger.errors import InputError
from ledger.traces.classes import Role, table
from ledger.traces.interface import CALLS, EVENTS, Batch, Facts, Format, Int64, Kind, Part, rank_in_name
from ledger.traces.nsight_database import EXPORT, MAGIC, opened, other_than_export, query

REPORTS = (".nsys-rep", ".qdrep", ".qdstrm")
"""What Nsight Systems itself writes: only its own tools can read it."""
UNNAMED = "(no name)"
"""What an event is called whose name is not in the file."""

_ROWS = 65_536
_MISSING = np.iinfo(np.int64).min
_VERSION = re.compile(r"_v\d{4,}$")
"""Runtime calls carry the version of CUDA that brought them: cudaLaunchKernel_v7000."""
_MOST_NAMED = 4

_QUERIES = (
    ("CUPTI_ACTIVITY_KIND_RUNTIME", Kind.RUNTIME, "runtime"),
    ("NVTX_EVENTS", Kind.ANNOTATION, "nvtx"),
    ("CUPTI_ACTIVITY_KIND_KERNEL", Kind.KERNEL, "kernel"),
    ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", Kind.KERNEL, "graph"),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", Kind.MEMCPY, "memcpy"),
    ("CUPTI_ACTIVITY_KIND_MEMSET", Kind.MEMSET, "memset"),
)
"""The tables in the order of reading. All queries have the columns of `_Row`."""


class Nsight(Format):
    """An Nsight Systems export."""

    name: ClassVar[str] = "Nsight Systems SQLite export (.sqlite)"

    def recognises(self, path: Path, head: bytes) -> bool:
        """An export, damaged ones too, and the profiler's own reports, so that these get an error that helps."""
        if head.startswith(MAGIC):
            return other_than_export(path) is None
        return path.suffix in REPORTS and head[:1] not in (b"{", b"[")

    def refused(self, path: Path, head: bytes) -> InputError | None:
        """Of another SQLite file, what it is."""
        found = other_than_export(path) if head.startswith(MAGIC) else None
        return None if found is None else InputError(found, where=str(path), todo=f"make one: {EXPORT}")

    def ranks(self, path: Path) -> tuple[str, ...]:
        """Each process with each device that it launched work on, by device."""
        if path.suffix in REPORTS:
            return ()
        with opened(path) as connection:
            return tuple(map(str, _Reader(connection, Facts()).ranks))

    def read(self, path: Path, facts: Facts, part: Part, rank: str | None = None) -> Iterator[Batch]:  # noqa: ARG002
        """The events of one rank, the busiest unless one is named. Raises InputError on another SQLite file, a report,
        or a file that is all damaged."""
        if path.suffix in REPORTS:
            raise InputError(
                "is an Nsight Systems report, which only nsys can read", where=str(path), todo=f"run {EXPORT} first"
            )
        with opened(path) as connection:
            reader = _Reader(connection, facts, rank)
            reader.note_devices()
            yield from reader.batches()
            if facts.cut and not facts.total:
                raise InputError(facts.cut, where=str(path), todo=f"export it again: {EXPORT}")
            named = rank_in_name(path)
            facts.rank = reader.mpi_rank() if named is None else named


class _Row(NamedTuple):
    """One event, or a column of them."""

    start: Any
    end: Any
    process: Any
    thread: Any
    correlation: Any
    name: Any
    """A string, or the id of one."""
    bytes: Any
    blocks: Any
    """Thread blocks over multiprocessors."""


class _Rank(NamedTuple):
    """One process's work on one device. None: not recorded."""

    process: int | None
    device: int | None
    rows: int = 0
    time: float = 0.0

    def __str__(self) -> str:
        return f"device {self.device}" + ("" if self.process is None else f" of process {self.process}")


class _Reader:
    """Reads one rank, and counts in `facts` what cannot be read of it."""

    def __init__(self, connection: sqlite3.Connection, facts: Facts, named: str | None = None) -> None:
        self._connection, self._facts = connection, facts
        self._strings: dict[int, str] = {}
        self._unknown: set[int] = set()
        self._values: dict[str, object] = {}
        self.ranks: tuple[_Rank, ...] = ()
        """All that the file holds."""
        rank, others = self._chosen(named)
        own = {"process": rank.process, "device": rank.device}
        apart = [each.process for each in others if each.process != rank.process]
        multiprocessors = self._ask("multiprocessors", **own)
        self._values = {
            **own,
            "others": json.dumps(apart),
            "multiprocessors": multiprocessors[0][0] if multiprocessors else None,
        }

    def batches(self) -> Iterator[Batch]:
        """All rows, table by table."""
        place = 0
        for category, kind, name in _QUERIES:
            count = 0
            for rows in self._blocks(name):
                count += len(rows)
                yield self._batch(rows, category, kind, place)
                place += 1
            self._facts.total += count
            if name == "graph" and count:
                self._facts.notes.append(
                    f"CUDA graphs are recorded whole ({count}), so their kernels are not told apart: "
                    "nsys profile --cuda-graph-trace=node records each"
                )
        for (marks,) in self._ask("marks"):
            self._facts.total += marks
            self._facts.untimed += marks

    def note_devices(self) -> None:
        """What the export says about its devices."""
        names = ("id", "name", "totalMemory", "smCount", "memoryBandwidth", "computeMajor", "computeMinor")
        for row in self._ask("devices"):
            device = {name: value for name, value in zip(names, row, strict=True) if value is not None}
            self._facts.devices.append(device)

    def mpi_rank(self) -> int | None:
        """The rank of the process in MPI's world, where MPI was traced and it has just one."""
        found = [rank for (rank,) in self._ask("mpi_ranks")]
        return found[0] if len(found) == 1 and found[0] is not None and 0 <= found[0] < 2**31 else None

    def _ask(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        """The rows of a query that has few."""
        return [row for block in self._blocks(name, **values) for row in block]

    def _blocks(self, name: str, **values: object) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query, up to where the file is damaged."""
        try:
            rows = self._connection.execute(query(name), {**self._values, **values})
        except sqlite3.DatabaseError as error:
            self._damaged(error)
            return
        block: list[tuple[Any, ...]] = [()]
        while block:
            block = []
            try:
                block.extend(islice(rows, _ROWS))  # keeps what came before a fault
            except sqlite3.DatabaseError as error:
                self._damaged(error)
                rows.close()
            if block:
                yield block

    def _damaged(self, error: sqlite3.DatabaseError) -> None:
        self._facts.cut = f"the database is damaged ({error})"

    def _chosen(self, named: str | None) -> tuple[_Rank, list[_Rank]]:
        """The rank to read, and those that are left out."""
        found = []
        for process, device in self._ask("ranks"):
            busy = self._ask("busy", process=process, device=device)
            found.append(_Rank(process, device, *(busy[0] if busy else ())))
        unknown = sum(each.rows for each in found if each.device is None)
        if unknown:
            self._facts.total += unknown
            self._facts.lost["names no device that can be read"] += unknown
        found = [each for each in found if each.device is not None]
        found.sort(key=lambda each: (each.device or 0, each.process or 0))
        if not found:
            self._facts.notes.append("no work of a device is recorded: nsys profile --trace=cuda,nvtx records it")
            return _Rank(None, None), []
        # Rows of older versions name no process; they may belong to any.
        told = {each.device for each in found if each.process is not None}
        self.ranks = tuple(each for each in found if each.process is not None or each.device not in told)
        best = next(
            (each for each in self.ranks if str(each) == named),
            max(found, key=lambda each: (each.process is not None, each.time)),
        )
        others = [each for each in found if each.device != best.device or each.process not in (best.process, None)]
        if named is None:
            self._note_others(best, others)
        return best, others

    def _note_others(self, best: _Rank, others: list[_Rank]) -> None:
        if not others:
            return
        named = ", ".join(f"{each} ({each.rows} of its events)" for each in others[:_MOST_NAMED])
        more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        self._facts.notes.append(
            f"the file holds the device work of {len(others) + 1} ranks and a trace is one: {best}, the busiest, is "
            f"read; left out: {named}{more}"
        )

    def _batch(self, rows: Sequence[tuple[Any, ...]], category: str, kind: Kind, place: int) -> Batch:
        columns = _Row(*zip(*rows, strict=True))
        start, end = _whole(columns.start), _whole(columns.end)
        good = self._timed(start, end, kind)
        correlation, moved = _whole(columns.correlation), _whole(columns.bytes)
        events = {
            "kind": pa.array(np.full(len(rows), kind, dtype=np.int8)),
            "category": _words([category] * len(rows), str),
            "name": self._names(columns.name, kind),
            "process": _words(columns.process, _number),
            "thread": _words(columns.thread, _number),
            "start_ns": pa.array(start, mask=start == _MISSING),
            "duration_ns": pa.array(np.where(good, end - np.where(good, start, end), 0)),
            "correlation": pa.array(correlation, mask=correlation <= 0),  # 0: none
            "bytes": pa.array(moved, mask=moved < 0),
            "blocks_per_sm": pa.array(columns.blocks, pa.float32()),
        }
        nothing = pa.nulls(len(rows), pa.int64())
        batch = pa.RecordBatch.from_arrays([events.get(name, nothing) for name in EVENTS.names], schema=EVENTS)
        batch = batch if good.all() else batch.filter(pa.array(good))
        return Batch(batch, _calls(batch) if kind is Kind.KERNEL else None, None, place)

    def _timed(self, start: Int64, end: Int64, kind: Kind) -> npt.NDArray[np.bool_]:
        """Which rows have times that make sense; the others are counted."""
        begun, over = start != _MISSING, end != _MISSING
        endless = "has no end that can be read"
        if kind is Kind.ANNOTATION:
            endless = "is an NVTX range that was still open when recording ended"
        for reason, bad in (
            ("has no start that can be read", ~begun),
            (endless, begun & ~over),
            ("has a negative duration", begun & over & (end < start)),
        ):
            count = int(bad.sum())
            if count:
                self._facts.lost[reason] += count
        good: npt.NDArray[np.bool_] = begun & over & (end >= start)
        return good

    def _names(self, keys: Sequence[Any], kind: Kind) -> pa.DictionaryArray:
        """The names as a column; an id without a string is counted as repaired."""
        strings = self._strings
        asked = [key for key in dict.fromkeys(keys) if isinstance(key, int) and key not in strings]
        if asked:
            for number, value in self._ask("names", ids=json.dumps(asked)):
                if isinstance(number, int) and isinstance(value, str):
                    strings[number] = value
            self._unknown.update(key for key in asked if key not in strings)
            strings.update(dict.fromkeys(self._unknown, UNNAMED))
        if self._unknown:
            self._facts.salvaged += sum(key in self._unknown for key in keys)

        def word(key: Any) -> str:
            name = strings[key] if isinstance(key, int) else key if isinstance(key, str) else UNNAMED
            return _VERSION.sub("", name) if kind is Kind.RUNTIME else name

        return _words(keys, word)


def _whole(values: Sequence[Any]) -> Int64:
    found: Int64 = pa.array(values, pa.int64()).fill_null(_MISSING).to_numpy()
    return found


def _number(value: Any) -> str:
    return "" if value is None else str(value)


def _words(keys: Sequence[Any], word: Callable[[Any], str]) -> pa.DictionaryArray:
    """A column of words, each of which stands in its dictionary once; `word` makes them of the keys."""
    places: dict[str, int] = {}
    place = {key: places.setdefault(word(key), len(places)) for key in dict.fromkeys(keys)}
    codes = np.fromiter(map(place.__getitem__, keys), np.int32, len(keys))
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(places), pa.string()))


def _calls(events: pa.RecordBatch) -> pa.RecordBatch | None:
    """The kernels of collectives, which tell nothing of their arguments."""
    names = events.column("name")
    communicates = [table().role(name) is Role.COMMUNICATION for name in names.dictionary.to_pylist()]
    chosen = np.flatnonzero(np.array(communicates, dtype=np.bool_)[names.indices.to_numpy()])
    if not chosen.size:
        return None
    taken = events.take(pa.array(chosen))
    columns = [
        taken.column(field.name) if field.name in EVENTS.names else pa.nulls(len(taken), field.type) for field in CALLS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CALLS)
