"""Kineto's events as rows of the trace tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ledger.traces import flops
from ledger.traces.classes import Role, table
from ledger.traces.interface import ABSENT, CALLS, EVENTS, MEMORY, Batch, Facts, Int64, Kind

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

_UNTIMED = -1
_HALF = -2
_MEMORY = -3
_DEVICES = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 13: "mps", 20: "privateuse1"}
"""c10::DeviceType."""


_NOTHING = msgspec.Raw()


class Args(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={
        "external": "External id",
        "external_old": "external id",
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
    external_old: int = ABSENT
    bytes: int = ABSENT
    blocks: float = float("nan")
    shapes: msgspec.Raw = _NOTHING
    types: msgspec.Raw = _NOTHING
    operation: Any = None
    elements_in: Any = None
    elements_out: Any = None
    dtype: Any = None
    group: Any = None
    group_size: Any = None
    ranks: Any = None
    sequence: Any = None
    moved: Any = None
    device_type: Any = None
    device_id: Any = None
    allocated: Any = None
    reserved: Any = None


_numbers = attrgetter("correlation", "external", "external_old", "bytes", "blocks")


@dataclass(frozen=True)
class Rows:
    """Events as columns of equal length."""

    ph: Sequence[str]
    cat: Sequence[str]
    name: Sequence[str]
    pid: Sequence[Any]
    tid: Sequence[Any]
    start: Int64
    """Nanoseconds, or MISSING."""
    duration: Int64
    args: Sequence[Args]

    @classmethod
    def none(cls) -> Self:
        """No rows."""
        empty = np.empty(0, dtype=np.int64)
        return cls((), (), (), (), (), empty, empty, ())


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


class _Kinds(dict[tuple[str, str], int]):
    """What an event is by its phase and category."""

    def __missing__(self, key: tuple[str, str]) -> int:
        phase, category = key
        if phase == "X":
            kind = int(CATEGORIES.get(category, Kind.OTHER))
        elif phase in ("B", "E"):
            kind = _HALF
        elif category == "cpu_instant_event" or (phase == "i" and not category):
            kind = _MEMORY
        else:
            kind = _UNTIMED
        self[key] = kind
        return kind


class Columns:
    """Turns rows into batches of the tables, and counts in `facts` what is left out."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._kinds = _Kinds()
        self._categories, self._names, self._processes, self._threads = _Codes(), _Codes(), _Codes(), _Codes()
        self._known = 0
        self._flags = np.empty((0, 3), dtype=np.bool_)

    def batches(self, rows: Rows, place: int) -> Iterator[Batch]:
        """At most one batch."""
        if not rows.ph:
            return
        kinds = np.fromiter(map(self._kinds.__getitem__, zip(rows.ph, rows.cat, strict=True)), np.int8, len(rows.ph))
        timed = self._readable(kinds, rows)
        memory = self._memory(np.flatnonzero(kinds == _MEMORY), rows)
        self.facts.untimed += int((kinds == _UNTIMED).sum() + (kinds == _MEMORY).sum())
        events, calls = self._timed(kinds, timed, rows)
        yield Batch(events, calls, memory, place)

    def _readable(self, kinds: npt.NDArray[np.int8], rows: Rows) -> npt.NDArray[np.bool_]:
        lost = self.facts.lost
        timed = kinds >= 0
        for reason, bad in (
            ("begins or ends a range of which the other end is elsewhere (ph B, E)", kinds == _HALF),
            ("has no start that can be read", timed & (rows.start == MISSING)),
            ("has no duration that can be read", timed & (rows.start != MISSING) & (rows.duration == MISSING)),
            ("has a negative duration", timed & (rows.duration < 0) & (rows.duration != MISSING)),
        ):
            count = int(bad.sum())
            if count:
                lost[reason] += count
                timed &= ~bad
        return timed

    def _timed(
        self, kinds: npt.NDArray[np.int8], timed: npt.NDArray[np.bool_], rows: Rows
    ) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        keep = timed.tolist()
        args = list(compress(rows.args, keep))
        names = self._names.of(list(compress(rows.name, keep)))
        counted, annotating, communicating = self._name_flags(names)
        kind = kinds[timed]
        kind = np.where((kind == Kind.OP) & annotating, np.int8(Kind.ANNOTATION), kind)
        columns = {
            "kind": pa.array(kind),
            "category": self._categories.column(self._categories.of(list(compress(rows.cat, keep)))),
            "name": self._names.column(names),
            "process": self._processes.column(self._processes.of(list(compress(rows.pid, keep)))),
            "thread": self._threads.column(self._threads.of(list(compress(rows.tid, keep)))),
            "start_ns": pa.array(rows.start[timed]),
            "duration_ns": pa.array(rows.duration[timed]),
            **_links(args),
            "flops": _flops((kind == Kind.OP) & counted, names, self._names.words, args),
        }
        events = pa.RecordBatch.from_arrays([columns[name] for name in EVENTS.names], schema=EVENTS)
        chosen = np.flatnonzero(communicating & (kind <= Kind.KERNEL))
        return events, _calls(events, chosen, args) if chosen.size else None

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

    def _memory(self, chosen: Int64, rows: Rows) -> pa.RecordBatch | None:
        found = []
        for place in chosen.tolist():
            args = rows.args[place]
            if rows.name[place] == "[memory]" and isinstance(args.moved, int) and rows.start[place] != MISSING:
                device = _DEVICES.get(args.device_type, f"device type {args.device_type}")
                index = args.device_id if isinstance(args.device_id, int) and args.device_id >= 0 else None
                found.append(
                    (
                        int(rows.start[place]),
                        device if index is None or device == "cpu" else f"{device}:{index}",
                        args.moved,
                        _whole(args.allocated),
                        _whole(args.reserved),
                    )
                )
        if not found:
            return None
        return pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(zip(*found, strict=True), MEMORY, strict=True)],
            schema=MEMORY,
        )


def _links(args: Sequence[Args]) -> dict[str, pa.Array]:
    """The numeric arguments as columns; 0 is what Kineto writes where there is no id."""
    if not args:
        return {name: pa.array([], EVENTS.field(name).type) for name in _LINKS}
    *integers, blocks = zip(*map(_numbers, args), strict=True)
    correlation, external, external_old, moved = map(_integers, integers)
    external = np.where(external == ABSENT, external_old, external)
    share = np.array(blocks, dtype=np.float32)
    return {
        "correlation": pa.array(correlation, mask=correlation <= 0),
        "external_id": pa.array(external, mask=external <= 0),
        "bytes": pa.array(moved, mask=moved < 0),
        "blocks_per_sm": pa.array(share, mask=~np.isfinite(share)),
    }


_LINKS = ("correlation", "external_id", "bytes", "blocks_per_sm")


def _integers(values: Sequence[int]) -> Int64:
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:  # some are unsigned, such as 2^64 - 1 for none
        return np.array([value if value < 2**63 else ABSENT for value in values], dtype=np.int64)


def _flops(
    counted: npt.NDArray[np.bool_], names: npt.NDArray[np.int32], words: list[str], args: Sequence[Args]
) -> pa.Array:
    values = np.full(len(names), ABSENT, dtype=np.int64)
    for place in np.flatnonzero(counted).tolist():
        shapes = args[place].shapes
        found = flops.count(words[names[place]], _decoded(shapes))
        if found is not None:
            values[place] = found
    return pa.array(values, mask=values == ABSENT)


def _calls(events: pa.RecordBatch, chosen: Int64, args: Sequence[Args]) -> pa.RecordBatch:
    shared = events.take(pa.array(chosen)).select([name for name in CALLS.names if name in EVENTS.names])
    mine = [args[place] for place in chosen.tolist()]
    extra = {
        "operation": [_text(each.operation) for each in mine],
        "elements_in": [_whole(each.elements_in) for each in mine],
        "elements_out": [_whole(each.elements_out) for each in mine],
        "dtype": [_text(each.dtype) for each in mine],
        "group": [_text(each.group) for each in mine],
        "group_size": [_whole(each.group_size) for each in mine],
        "ranks": [_text(each.ranks) for each in mine],
        "sequence": [_whole(each.sequence) for each in mine],
        "shapes": [bytes(each.shapes).decode() or None for each in mine],
        "types": [bytes(each.types).decode() or None for each in mine],
    }
    columns = [
        shared.column(field.name) if field.name in shared.schema.names else pa.array(extra[field.name], field.type)
        for field in CALLS
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CALLS)


def _decoded(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.MsgspecError:
        return None


def _text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def _whole(value: Any) -> int | None:
    value = int(value) if isinstance(value, str) and value.isdigit() else value
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62 else None
