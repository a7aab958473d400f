"""PyTorch profiler traces (Kineto's Chrome trace JSON), plain or gzip, in the new and the 2021 layout.

Time stamps are microseconds with decimals. They are read from the text into integer nanoseconds: as float64 an
absolute stamp is only good to a tenth of a microsecond or worse.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from ledger.errors import InputError
from ledger.traces import flops
from ledger.traces.interface import ABSENT, Events, Format, Kind, Trace

MAX_BYTES = 4 * 2**30
"""The most that a file may hold once decompressed."""

KINDS = {
    "cpu_op": Kind.OP, "Operator": Kind.OP,
    "user_annotation": Kind.ANNOTATION,
    "cuda_runtime": Kind.RUNTIME, "cuda_driver": Kind.RUNTIME, "Runtime": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME, "xpu_runtime": Kind.RUNTIME, "privateuse1_runtime": Kind.RUNTIME,
    "privateuse1_driver": Kind.RUNTIME,
    "kernel": Kind.KERNEL, "Kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY, "Memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET, "Memset": Kind.MEMSET,
}  # fmt: skip
"""Event categories of both layouts; the others (Python frames, flows, memory, metadata) carry no time of their own."""

_ANNOTATIONS = re.compile(r"ProfilerStep#\d+$|Optimizer\.(step|zero_grad)#")
"""In the old layout annotations are operators; these would otherwise pass for work."""

_RANK = re.compile(r"rank[-_.]?(\d+)", re.IGNORECASE)
_LONGEST = 2**62


class _Event(msgspec.Struct, gc=False):
    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = msgspec.Raw(b"null")
    dur: msgspec.Raw = msgspec.Raw(b"null")
    args: msgspec.Raw = msgspec.Raw(b"null")


class _Document(msgspec.Struct, rename={"events": "traceEvents", "distributed": "distributedInfo"}):
    events: msgspec.Raw = msgspec.Raw(b"")
    distributed: Any = None


class _Args(
    msgspec.Struct, rename={"external": "External id", "external_old": "external id", "shapes": "Input Dims"}, gc=False
):
    correlation: Any = None
    external: Any = None
    external_old: Any = None
    shapes: Any = None


_decode_args = msgspec.json.Decoder(_Args).decode


class Kineto(Format):
    """PyTorch profiler JSON, .json or .json.gz."""

    name: ClassVar[str] = "PyTorch profiler JSON (.json, .json.gz)"

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the content decides, not the name)
        """Anything that starts as JSON: whether it holds events is only known once it is read."""
        return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")

    def read(self, path: Path) -> Trace:
        """The events of one file. Raises InputError on damaged files and on JSON without trace events."""
        document = _document(path, _bytes(path))
        events, broken = _events(path, document.events)
        columns = _Columns(broken)
        for event in events:
            columns.add(event)
        rank, world_size = _ranks(document.distributed, path)
        return Trace(
            path=path,
            names=tuple(columns.names),
            events=columns.events(),
            total=len(events) + broken,
            rank=rank,
            world_size=world_size,
            warnings=tuple(columns.warnings()),
        )


class _Columns:
    """Events on their way into columns, and a count of those left out, by reason."""

    def __init__(self, broken: int) -> None:
        self.names: dict[str, int] = {}
        self._tracks: dict[tuple[str, str, bool], int] = {}
        self._rows: list[tuple[int, int, int, int, int, int, int, int]] = []
        self._lost: Counter[str] = Counter({"is not an object": broken} if broken else {})

    def add(self, event: _Event) -> None:
        """Keep a timed event of a known category."""
        kind = KINDS.get(event.cat) if isinstance(event.cat, str) else None
        if event.ph != "X" or kind is None:
            return
        start, duration = nanoseconds(bytes(event.ts)), nanoseconds(bytes(event.dur))
        if start is None or duration is None:
            field = "start" if start is None else "duration"
            text = bytes(event.ts if start is None else event.dur)
            self._lost[f"has no {field}" if text == b"null" else f"has a {field} that is not a number"] += 1
            return
        if duration < 0:
            self._lost["has a negative duration"] += 1
            return
        name = event.name if isinstance(event.name, str) else str(event.name)
        if kind is Kind.OP and _ANNOTATIONS.match(name):
            kind = Kind.ANNOTATION
        track = (str(event.pid), str(event.tid), kind >= Kind.KERNEL)
        links = _links(event.args, kind, name)
        self._rows.append(
            (
                kind,
                self.names.setdefault(name, len(self.names)),
                self._tracks.setdefault(track, len(self._tracks)),
                start,
                start + duration,
                *links,
            )
        )

    def events(self) -> Events:
        """The columns."""
        table = np.array(self._rows, dtype=np.int64).reshape(-1, 8)
        return Events(*(np.ascontiguousarray(table[:, column]) for column in range(8)))

    def warnings(self) -> Iterator[str]:
        """One line a reason for leaving events out."""
        for reason, count in self._lost.most_common():
            yield f"{count} event{'s were' if count > 1 else ' was'} left out: each {reason}"


def nanoseconds(text: bytes) -> int | None:
    """Integer nanoseconds of a JSON number (or a string holding one) in microseconds; None when it is neither.

    Digits beyond the nanosecond are rounded half to even.
    """
    text = text.strip(b'"')
    whole, _, fraction = text.partition(b".")
    if whole.isdigit() and len(whole) < 16 and len(fraction) <= 3 and (not fraction or fraction.isdigit()):
        return int(whole) * 1000 + (int(fraction.ljust(3, b"0")) if fraction else 0)
    try:
        exact = Decimal(text.decode("ascii")) * 1000
        return round(exact) if abs(exact) < _LONGEST else None
    except (InvalidOperation, ValueError):
        return None


def _links(raw: msgspec.Raw, kind: Kind, name: str) -> tuple[int, int, int]:
    """Correlation, external id and operations from an event's args; ABSENT for each that is not there."""
    counted = kind is Kind.OP and flops.has_rule(name)
    try:
        args = _decode_args(raw)
    except msgspec.MsgspecError:
        return ABSENT, ABSENT, ABSENT
    external = args.external if args.external is not None else args.external_old
    operations = flops.count(name, args.shapes) if counted else None
    return _id(args.correlation), _id(external), ABSENT if operations is None else operations


def _id(value: Any) -> int:
    """An id as a number; 0 is what Kineto writes where there is none."""
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    good = isinstance(number, int) and not isinstance(number, bool) and 0 < number < _LONGEST
    return number if good else ABSENT


def _bytes(path: Path) -> bytes:
    """The whole file, decompressed. Raises InputError."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as source:
            data = source.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(
            "the gzip data ends early or is damaged", where=str(path), todo="record the trace again"
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), todo="check its permissions") from None
    if len(data) > MAX_BYTES:
        raise InputError(
            f"holds more than {MAX_BYTES // 2**30} GiB once decompressed", where=str(path), todo="profile fewer steps"
        )
    return data


def _document(path: Path, data: bytes) -> _Document:
    """The file's top level. A bare array is a list of events, as the Chrome trace format allows."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        if data.lstrip()[:1] == b"[":
            return _Document(events=msgspec.Raw(data))
        document = msgspec.json.decode(data, type=_Document)
    except msgspec.ValidationError:
        raise _unrelated(path) from None
    except msgspec.MsgspecError as error:
        raise _damaged(path, error) from None
    if not bytes(document.events):
        raise _unrelated(path)
    return document


def _events(path: Path, raw: msgspec.Raw) -> tuple[list[_Event], int]:
    """The events, and how many entries of the array are none."""
    try:
        return msgspec.json.decode(raw, type=list[_Event]), 0
    except msgspec.ValidationError:
        pass
    except msgspec.MsgspecError as error:
        raise _damaged(path, error) from None
    try:
        entries = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        raise _unrelated(path) from None
    events = [msgspec.json.decode(each, type=_Event) for each in entries if bytes(each).startswith(b"{")]
    if entries and not events:
        raise _unrelated(path)
    return events, len(entries) - len(events)


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(f"is not whole JSON ({error})", where=str(path), todo="record the trace again")


def _unrelated(path: Path) -> InputError:
    return InputError(
        "is JSON, but not a profiler trace (no list of traceEvents)",
        where=str(path),
        todo="give it what torch.profiler's export_chrome_trace wrote",
    )


def _ranks(distributed: Any, path: Path) -> tuple[int | None, int | None]:
    """Rank and world size: from the file, else the rank from its name."""
    info = distributed if isinstance(distributed, dict) else {}
    rank, world_size = info.get("rank"), info.get("world_size")
    if not isinstance(rank, int):
        named = _RANK.search(path.name)
        rank = int(named[1]) if named else None
    return rank, world_size if isinstance(world_size, int) else None
