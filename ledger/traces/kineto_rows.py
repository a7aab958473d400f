"""Kineto's events as rows of the trace tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress
from operator import attrgetter
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ledger.traces import flops
from ledger.traces.classes import Role, table
from ledger.traces.interface import ABSENT, CALLS, DEVICE_KINDS, EVENTS, MEMORY, Batch, Facts, Int64, Kind
from ledger.traces.kineto_values import NOTHING, decoded, shape, text, whole

MISSING = np.iinfo(np.int64).min
"""A time that is not there or no number."""

CATEGORIES = {
    "cpu_op": Kind.OP, "Operator": Kind.OP,
    "user_annotation": Kind.ANNOTATION,
    "cuda_runtime": Kind.RUNTIME, "cuda_driver": Kind.RUNTIME, "Runtime": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME, "xpu_runtime": Kind.RUNTIME, "mtia_runtime": Kind.RUNTIME,
    "privateuse1_runtime": Kind.RUNTIME, "privateuse1_driver": Kind.RUNTIME,
    "kernel": Kind.KERNEL, "Kernel": Kind.KERNEL, "hpu_op": Kind.KERNEL, "mtia_ccp_events": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY, "Memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET, "Memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.DEVICE_RANGE,
    "python_function": Kind.PYTHON,
}  # fmt: skip
"""Event categories of all layouts: https://github.com/pytorch/kineto/blob/main/libkineto/src/ActivityType.cpp."""

_ANNOTATIONS = re.compile(r"ProfilerStep#\d+$|Optimizer\.(step|zero_grad)#")
"""In the old layout annotations are operators; these would otherwise pass for work."""

_MOST_COUNTS = 100_000
_LONGEST = 100_000_000_000_000_000
"""Nanoseconds of the longest duration, three years, so that every end is a 64-bit number."""
_DEVICES = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 13: "mps", 20: "privateuse1"}
"""c10::DeviceType."""


_UNKNOWN = -(2**63)


class Args(
    msgspec.Struct,
    frozen=True,
    gc=False,
    omit_defaults=True,
    rename={
        "external": "External id",
        "blocks": "blocks per SM",
        "shapes": "Input Dims",
        "types": "Input type",
        "operation": "Collective name",
        "elements_in": "In msg nelems",
        "elements_out": "Out msg nelems",
        "group": "Process Group Name",
        "group_size": "Group size",
        "ranks": "Process Group Ranks",
        "sequence": "Seq",
        "moved": "Bytes",
        "device_type": "Device Type",
        "device_id": "Device Id",
        "allocated": "Total Allocated",
        "reserved": "Total Reserved",
    },
):
    """What is read of an event's arguments."""

    correlation: int = ABSENT
    external: int = ABSENT
    bytes: int = ABSENT
    blocks: float = float("nan")
    shapes: msgspec.Raw = NOTHING
    types: msgspec.Raw = NOTHING
    operation: Any = None
    elements_in: Any = None
    elements_out: Any = None
    dtype: Any = None
    group: Any = None
    group_size: Any = None
    ranks: Any = None
    sequence: Any = None
    moved: int = _UNKNOWN
    device_type: int = ABSENT
    device_id: int = ABSENT
    allocated: int = ABSENT
    reserved: int = ABSENT


_correlation, _external = attrgetter("correlation"), attrgetter("external")
_moved, _blocks = attrgetter("bytes"), attrgetter("blocks")
_size, _allocated, _reserved = attrgetter("moved"), attrgetter("allocated"), attrgetter("reserved")


@dataclass(frozen=True)
class Rows:
    """Timed events as columns of equal length, and what else stands between them."""

    cat: Sequence[str]
    name: Sequence[str]
    pid: Sequence[Any]
    tid: Sequence[Any]
    start: Int64
    """Nanoseconds, or MISSING."""
    duration: Int64
    args: Sequence[Args]
    allocated_at: Int64
    """Nanoseconds of allocations and frees, or MISSING."""
    allocations: Sequence[Args]
    untimed: int
    """Events that carry no duration by nature, instants too."""
    halves: Sequence[Any]
    """Events that tell one end of a range: `ledger.traces.kineto_ranges.Half`."""

    @classmethod
    def none(cls) -> Self:
        """No rows."""
        empty = np.empty(0, dtype=np.int64)
        return cls((), (), (), (), empty, empty, (), empty, (), 0, ())

    def only(self, kept: npt.NDArray[np.bool_]) -> Self:
        """Some of the timed events."""
        keep = kept.tolist()
        return replace(
            self,
            cat=list(compress(self.cat, keep)),
            name=list(compress(self.name, keep)),
            pid=list(compress(self.pid, keep)),
            tid=list(compress(self.tid, keep)),
            start=self.start[kept],
            duration=self.duration[kept],
            args=list(compress(self.args, keep)),
        )


class _Codes(dict[Any, int]):
    """A number for each new key, and the words behind the numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def __missing__(self, key: Any) -> int:
        self[key] = code = len(self.words)
        self.words.append(key if isinstance(key, str) else "" if key is None else str(key))
        return code

    def of(self, keys: Sequence[Any]) -> npt.NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, keys), np.int32, len(keys))

    def column(self, codes: npt.NDArray[np.int32]) -> pa.DictionaryArray:
        """A dictionary column that holds just the words it uses."""
        used = np.zeros(len(self.words), dtype=np.bool_)
        used[codes] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        words = [self.words[code] for code in np.flatnonzero(used).tolist()]
        return pa.DictionaryArray.from_arrays(pa.array(place[codes], pa.int32()), pa.array(words, pa.string()))


class _Sites(dict[tuple[str, Any, Any], int]):
    """A number for each category, process and thread that go together: a trace has many events and few of these."""

    def __init__(self) -> None:
        super().__init__()
        self.categories, self.processes, self.threads = _Codes(), _Codes(), _Codes()
        self._rows: list[tuple[int, int, int, int]] = []
        self._table = np.empty((0, 4), dtype=np.int32)

    def __missing__(self, key: tuple[str, Any, Any]) -> int:
        category, process, thread = key
        self[key] = code = len(self._rows)
        kind = int(CATEGORIES.get(category, Kind.OTHER))
        self._rows.append((kind, self.categories[category], self.processes[process], self.threads[thread]))
        return code

    def of(self, rows: Rows) -> list[npt.NDArray[np.int32]]:
        """Kind and codes of category, process and thread of every row."""
        keys = zip(rows.cat, rows.pid, rows.tid, strict=True)
        try:
            codes = np.fromiter(map(self.__getitem__, keys), np.int32, len(rows.cat))
        except TypeError:  # a list or an object for a process or a thread
            plain = ((cat, str(pid), str(tid)) for cat, pid, tid in zip(rows.cat, rows.pid, rows.tid, strict=True))
            codes = np.fromiter(map(self.__getitem__, plain), np.int32, len(rows.cat))
        if len(self._table) < len(self._rows):
            self._table = np.array(self._rows, dtype=np.int32)
        return [column[codes] for column in self._table.T]


class Columns:
    """Turns rows into batches of the tables, and counts in `facts` what is left out."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._sites, self._names = _Sites(), _Codes()
        self._counts: dict[tuple[int, bytes], int | None] = {}
        self._known = 0
        self._flags = np.empty((0, 3), dtype=np.bool_)

    def batches(self, rows: Rows, place: int) -> Iterator[Batch]:
        """At most one batch."""
        self.facts.untimed += rows.untimed
        rows = self._readable(rows)
        memory = _memory(rows.allocated_at, rows.allocations, self.facts)
        if not rows.cat:
            if memory is not None:
                yield Batch(memory=memory, place=place)
            return
        events, calls = self._timed(rows)
        yield Batch(events, calls, memory, place)

    def _readable(self, rows: Rows) -> Rows:
        """The rows whose times make sense."""
        if not len(rows.start):
            return rows
        if min(rows.start.min(), rows.duration.min()) >= 0 and rows.duration.max() <= _LONGEST:
            return rows
        good = np.ones(len(rows.start), dtype=np.bool_)
        for reason, bad in (
            ("has no start that can be read", rows.start == MISSING),
            ("has no duration that can be read", (rows.start != MISSING) & (rows.duration == MISSING)),
            ("has a negative duration", (rows.start != MISSING) & (rows.duration < 0) & (rows.duration != MISSING)),
            ("lasts for years", rows.duration > _LONGEST),
        ):
            count = int(bad.sum())
            if count:
                self.facts.lost[reason] += count
                good &= ~bad
        return rows if good.all() else rows.only(good)

    def _timed(self, rows: Rows) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        sites = self._sites
        kind, categories, processes, threads = sites.of(rows)
        names = self._names.of(rows.name)
        counted, annotating, communicating = self._name_flags(names)
        kind = np.where((kind == Kind.OP) & annotating, Kind.ANNOTATION, kind).astype(np.int8)
        columns = {
            "kind": pa.array(kind),
            "category": sites.categories.column(categories),
            "name": self._names.column(names),
            "process": sites.processes.column(processes),
            "thread": sites.threads.column(threads),
            "start_ns": pa.array(rows.start),
            "duration_ns": pa.array(rows.duration),
            **_links(rows.args),
            **_amounts_of(np.flatnonzero(np.isin(kind, DEVICE_KINDS)), rows.args),
            "flops": self._flops((kind == Kind.OP) & counted, names, rows.args),
        }
        events = pa.RecordBatch.from_arrays([columns[name] for name in EVENTS.names], schema=EVENTS)
        chosen = np.flatnonzero(communicating & (kind <= Kind.KERNEL))
        return events, _calls(events, chosen, rows.args) if chosen.size else None

    def _flops(self, counted: npt.NDArray[np.bool_], names: npt.NDArray[np.int32], args: Sequence[Args]) -> pa.Array:
        """Operations by shapes, which few different ones of repeat all through a trace."""
        values = np.full(len(names), ABSENT, dtype=np.int64)
        known = self._counts
        for place in np.flatnonzero(counted).tolist():
            key = (int(names[place]), bytes(args[place].shapes))
            if key not in known:
                known[key] = flops.count(self._names.words[key[0]], decoded(key[1])) if key[1] else None
            found = known[key]
            if found is not None:
                values[place] = found
        if len(known) > _MOST_COUNTS:
            known.clear()
        return pa.array(values, mask=values == ABSENT)

    def _name_flags(self, codes: npt.NDArray[np.int32]) -> Iterator[npt.NDArray[np.bool_]]:
        """Of each event: whether its operations are counted, it is an annotation in disguise, it communicates."""
        new = self._names.words[self._known :]
        if new:
            flags = [
                (flops.has_rule(name), bool(_ANNOTATIONS.match(name)), table().role(name) is Role.COMMUNICATION)
                for name in new
            ]
            self._flags = np.concatenate([self._flags, np.array(flags, dtype=np.bool_)])
            self._known += len(new)
        return iter(self._flags[codes].T if len(codes) else np.empty((3, 0), dtype=np.bool_))


def _memory(at: Int64, args: Sequence[Args], facts: Facts) -> pa.RecordBatch | None:
    """Allocations as rows; those without a time or a size are counted as lost."""
    known = [place for place, each in enumerate(args) if each.moved != _UNKNOWN and at[place] != MISSING]
    if len(known) < len(args):
        facts.lost["is an allocation of which time or size cannot be read"] += len(args) - len(known)
    if not known:
        return None
    mine = [args[place] for place in known]
    allocated, reserved = _integers(_allocated, mine), _integers(_reserved, mine)
    columns = {
        "at_ns": pa.array(at[known]),
        "device": pa.array([_device(each.device_type, each.device_id) for each in mine], pa.string()),
        "bytes": pa.array(_integers(_size, mine)),
        "allocated_bytes": pa.array(allocated, mask=allocated < 0),
        "reserved_bytes": pa.array(reserved, mask=reserved < 0),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in MEMORY.names], schema=MEMORY)


@cache
def _device(kind: int, index: int) -> str:
    device = _DEVICES.get(kind, f"device type {kind}")
    return device if index < 0 or device == "cpu" else f"{device}:{index}"


def _links(args: Sequence[Args]) -> dict[str, pa.Array]:
    """The ids as columns; 0 is what Kineto writes where there is none."""
    correlation, external = _integers(_correlation, args), _integers(_external, args)
    return {
        "correlation": pa.array(correlation, mask=correlation <= 0),
        "external_id": pa.array(external, mask=external <= 0),
    }


def _amounts_of(device: Int64, args: Sequence[Args]) -> dict[str, pa.Array]:
    """What device work says about itself, as columns over all events."""
    moved = np.full(len(args), ABSENT, dtype=np.int64)
    blocks = np.full(len(args), np.nan, dtype=np.float32)
    if device.size:
        mine = [args[place] for place in device.tolist()]
        moved[device] = _integers(_moved, mine)
        with np.errstate(over="ignore"):
            blocks[device] = np.fromiter(map(_blocks, mine), np.float32, len(mine))
    return {
        "bytes": pa.array(moved, mask=moved < 0),
        "blocks_per_sm": pa.array(blocks, mask=~np.isfinite(blocks)),
    }


def _integers(field: Callable[[Args], int], args: Sequence[Args]) -> Int64:
    try:
        return np.fromiter(map(field, args), np.int64, len(args))
    except OverflowError:  # some are unsigned, such as 2^64 - 1 for none
        return np.array([value if abs(value) < 2**63 else ABSENT for value in map(field, args)], dtype=np.int64)


def _calls(events: pa.RecordBatch, chosen: Int64, args: Sequence[Args]) -> pa.RecordBatch:
    shared = events.take(pa.array(chosen)).select([name for name in CALLS.names if name in EVENTS.names])
    mine = [args[place] for place in chosen.tolist()]
    given = zip(*map(_asked, mine), strict=True)
    extra = {
        name: _converted(values, CALLS.field(name).type, convert)
        for (name, convert), values in zip(_ASKED.items(), given, strict=True)
    }
    columns = [shared.column(field.name) if field.name in shared.schema.names else extra[field.name] for field in CALLS]
    return pa.RecordBatch.from_arrays(columns, schema=CALLS)


def _converted(values: tuple[Any, ...], kind: pa.DataType, convert: Callable[[Any], Any]) -> pa.Array:
    """A column of the values: as they are if they are all of its type, else converted one by one."""
    if convert is not shape:
        with suppress(pa.ArrowException, OverflowError):
            return pa.array(values, kind)
    return pa.array([convert(value) for value in values], kind)


_ASKED: dict[str, Callable[[Any], Any]] = {
    "operation": text,
    "elements_in": whole,
    "elements_out": whole,
    "dtype": text,
    "group": text,
    "group_size": whole,
    "ranks": text,
    "sequence": whole,
    "shapes": shape,
    "types": shape,
}
"""What is asked of a collective's arguments, and how it becomes a value of the table."""

_asked = attrgetter(*_ASKED)
