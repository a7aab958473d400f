"""Events out of Kineto's text: typed decoding of what is well formed, event by event of what is not."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from operator import attrgetter
from typing import Any, Union

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ledger.traces.chunks import SEAM
from ledger.traces.interface import ABSENT, Facts, Int64
from ledger.traces.kineto_rows import MISSING, Args, Rows

_EXACT = 2.0**43
"""Up to here (microseconds, 101 days) a float64 lies within half a nanosecond of any text with three decimals."""
_LATEST = 9_100_000_000_000_000_000
"""Nanoseconds of the latest time."""
_ALLOCATION = "[memory]"
_NULL = msgspec.Raw(b"null")


class _Timed(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """A whole event as the profiler writes them today."""

    name: str = ""
    cat: str = ""
    pid: Any = None
    tid: Any = None
    ts: float = float("nan")
    dur: float = float("nan")
    args: Args = Args()


class _ExactTimed(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """The same with times as text."""

    name: str = ""
    cat: str = ""
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = _NULL
    dur: msgspec.Raw = _NULL
    args: Args = Args()


class _Instant(msgspec.Struct, gc=False, tag_field="ph", tag="i"):
    """A point in time, such as an allocation."""

    name: str = ""
    ts: float = float("nan")
    args: Args = Args()


class _ExactInstant(msgspec.Struct, gc=False, tag_field="ph", tag="i"):
    """The same with its time as text."""

    name: str = ""
    ts: msgspec.Raw = _NULL
    args: Args = Args()


class _Begin(msgspec.Struct, gc=False, tag_field="ph", tag="B"):
    """A range of which another event tells the end."""


class _End(msgspec.Struct, gc=False, tag_field="ph", tag="E"):
    """The end of such a range."""


_UNTIMED = tuple(
    msgspec.defstruct(f"_Phase{ord(phase)}", [], gc=False, tag_field="ph", tag=phase)
    for phase in "sftMPIbneNODCSTpFvVRc"
)
"""Flow arrows, metadata, counters and what else the Chrome trace format knows; nothing of them is kept."""


class _LooseEvent(msgspec.Struct, gc=False):
    """Any object at all."""

    ph: Any = None
    name: Any = None
    cat: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = _NULL
    dur: msgspec.Raw = _NULL
    args: msgspec.Raw = _NULL


def _decoder(timed: type[msgspec.Struct], instant: type[msgspec.Struct]) -> Callable[[bytes], list[Any]]:
    """Decodes an array of events, those with a time as the types given."""
    phases: Any = Union[(timed, instant, _Begin, _End, *_UNTIMED)]
    return msgspec.json.Decoder(list[phases]).decode


_events = _decoder(_Timed, _Instant)
_exact_events = _decoder(_ExactTimed, _ExactInstant)
_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
_loose = msgspec.json.Decoder(_LooseEvent).decode
_args = msgspec.json.Decoder(Args).decode
_ts, _dur = attrgetter("ts"), attrgetter("dur")
_FRACTION = re.compile(rb'"ts"\s*:\s*-?\d+[.eE]')
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")


def decode(chunk: bytes, facts: Facts) -> Rows:
    """The events of a JSON array. What is malformed in it is repaired, or counted in `facts`."""
    chunk = _today(chunk)
    try:
        events = _events(chunk)
        timed = [each for each in events if type(each) is _Timed]
        moments = [each for each in events if type(each) is _Instant and each.name == _ALLOCATION]
        start = np.fromiter(map(_ts, timed), np.float64, len(timed))
        if _beyond(start, chunk):
            start_ns, duration_ns, at_ns = _exact_times(_exact_events(chunk))
        else:
            start_ns, duration_ns = _rounded(start), _rounded(np.fromiter(map(_dur, timed), np.float64, len(timed)))
            at_ns = _rounded(np.fromiter(map(_ts, moments), np.float64, len(moments)))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _salvaged(chunk[1:-1], facts)
    facts.total += len(events)
    types = Counter(map(type, events))
    halves = types[_Begin] + types[_End]
    return Rows(
        [each.cat for each in timed],
        [each.name for each in timed],
        [each.pid for each in timed],
        [each.tid for each in timed],
        start_ns,
        duration_ns,
        [each.args for each in timed],
        at_ns,
        [each.args for each in moments],
        len(events) - len(timed) - halves,
        halves,
    )


def _exact_times(events: list[Any]) -> tuple[Int64, Int64, Int64]:
    """Starts, durations, and times of allocations, without passing through a float."""
    timed = [each for each in events if type(each) is _ExactTimed]
    moments = [each for each in events if type(each) is _ExactInstant and each.name == _ALLOCATION]
    return (
        _parsed([bytes(each.ts) for each in timed]),
        _parsed([bytes(each.dur) for each in timed]),
        _parsed([bytes(each.ts) for each in moments]),
    )


def _today(text: bytes) -> bytes:
    """Old layouts spell one key in another way, in every event."""
    return text.replace(b'"external id"', b'"External id"') if text.find(b'"external id"', 0, 2**18) >= 0 else text


def last_events(rest: bytes, facts: Facts) -> tuple[Rows, bytes, bool]:
    """The events before the closing bracket, the text after it, and whether the bracket is there."""
    try:
        _entries(b"[" + rest)
    except msgspec.DecodeError as error:
        end = _TRAILING.search(str(error))
        if end is not None:
            close = rest.rindex(b"]", 0, int(end[1])) + 1
            return decode(b"[" + rest[:close], facts), rest[close:], True
    else:
        return decode(b"[" + rest, facts), b"", True
    return _broken_end(rest, facts)


def _broken_end(rest: bytes, facts: Facts) -> tuple[Rows, bytes, bool]:
    """The same where the text is malformed or breaks off."""
    close = re.search(rb"\}\s*,?\s*\](?=\s*(?:,\s*\"|\}|$))", rest)
    if close:
        return _salvaged(rest[: close.start() + 1], facts), rest[close.end() :], True
    body = rest.rstrip(b" \t\r\n,")
    if not body:
        return Rows.none(), b"", False
    if body == b"]":  # a comma stood before it
        return Rows.none(), b"", True
    return _salvaged(body, facts), b"", False


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
        return round(exact) if abs(exact) < _LATEST else None
    except (InvalidOperation, ValueError):
        return None


def _beyond(start: np.ndarray[Any, Any], chunk: bytes) -> bool:
    """Whether these times need more digits than a float64 has; whole microseconds have them up to 2^53."""
    latest = np.abs(start).max(initial=0.0, where=np.isfinite(start))
    return bool(latest >= _EXACT and (latest >= 2**53 or _FRACTION.search(chunk)))


def _rounded(times: np.ndarray[Any, Any]) -> Int64:
    """Microseconds in integer nanoseconds: the whole part and the fraction apart, so that neither is lost."""
    bad = ~(np.abs(times) < _LATEST / 1000)
    if bad.any():
        times = np.where(bad, 0.0, times)
    whole = np.floor(times)
    exact = whole.astype(np.int64) * 1000 + np.rint((times - whole) * 1000).astype(np.int64)
    return np.where(bad, MISSING, exact) if bad.any() else exact


def _parsed(texts: list[bytes]) -> Int64:
    """Nanoseconds of microseconds as text."""
    column = pa.array(texts, pa.binary()).cast(pa.string())
    column = pc.if_else(pc.equal(column, "null"), None, column)
    try:
        decimals = pc.fill_null(column.cast(pa.decimal128(30, 3)), 0)
    except pa.ArrowInvalid:
        return _or_missing(nanoseconds(text) for text in texts)
    low = np.frombuffer(decimals.buffers()[1], dtype=np.int64)[::2][: len(texts)]
    return np.where(np.asarray(column.is_null()), MISSING, low)


def _or_missing(times: Iterator[int | None]) -> Int64:
    return np.array([MISSING if time is None else time for time in times], dtype=np.int64)


def _salvaged(text: bytes, facts: Facts) -> Rows:
    """Events one by one, repaired where they can be."""
    found = [event for piece in _pieces(_today(text)) for event in _from_piece(piece, facts)]
    timed = [each for each in found if each.ph == "X"]
    moments = [each for each in found if each.ph == "i" and each.name == _ALLOCATION]
    halves = sum(each.ph in ("B", "E") for each in found)
    return Rows(
        cat=[_word(each.cat) for each in timed],
        name=[_word(each.name) for each in timed],
        pid=[_word(each.pid) for each in timed],
        tid=[_word(each.tid) for each in timed],
        start=_or_missing(nanoseconds(bytes(each.ts)) for each in timed),
        duration=_or_missing(nanoseconds(bytes(each.dur)) for each in timed),
        args=[_arguments(bytes(each.args)) for each in timed],
        allocated_at=_or_missing(nanoseconds(bytes(each.ts)) for each in moments),
        allocations=[_arguments(bytes(each.args)) for each in moments],
        untimed=len(found) - len(timed) - halves,
        halves=halves,
    )


def _pieces(text: bytes) -> Iterator[bytes]:
    """The text cut at every seam."""
    start = 0
    for seam in SEAM.finditer(text):
        yield text[start : seam.start() + 1]
        start = seam.start() + seam[0].index(b"{")
    yield text[start:]


def _from_piece(piece: bytes, facts: Facts) -> Iterator[_LooseEvent]:
    """The events of a piece: one, or more where they begin with other keys."""
    for attempt, text in enumerate(_repairs(piece)):
        try:
            entries = [bytes(each) for each in _entries(b"[" + text + b"]")]
            events = [_loose(each) for each in entries if each.startswith(b"{")]
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        facts.total += len(entries)
        if len(events) < len(entries):
            facts.lost["is not an object"] += len(entries) - len(events)
        facts.salvaged += len(events) if attempt else 0
        yield from events
        return
    whole = list(_leading(piece.decode(errors="replace").lstrip(_BETWEEN)))
    facts.total += len(whole) + 1
    facts.lost["is no valid JSON"] += 1
    yield from (_loose(each.encode()) for each in whole)


def _leading(text: str) -> Iterator[str]:
    """The whole objects that a text begins with, which breaks off in the next."""
    decoder, place = json.JSONDecoder(), 0
    with suppress(ValueError, RecursionError):
        while True:
            _, end = decoder.raw_decode(text, place)
            if text[place] == "{":
                yield text[place:end]
            place = end + len(text[end:]) - len(text[end:].lstrip(_BETWEEN))


_BETWEEN = ", \t\r\n"
_CONTROL = re.compile(r"[\x00-\x1f]")
_NO_NUMBER = re.compile(r"(?<=[\s:,\[])-?(?:NaN|nan|Infinity|[Ii]nf)(?=\s*[,\]}])")
_NO_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_NAME = re.compile(r'("name"\s*:\s*")(.*?)("\s*(?:,\s*"(?:pid|tid|ph|cat|ts|dur|args|id|s|bp)"\s*:|\}))', re.DOTALL)
_COMMA = re.compile(r",(?=\s*[,\]}])")


def _repairs(piece: bytes) -> Iterator[bytes]:
    """The text as it is, then with ever more of what profilers are known to get wrong made right."""
    piece = piece.strip(b" \t\r\n,")
    if not piece:
        return
    yield piece
    text = _CONTROL.sub(" ", piece.decode(errors="replace"))
    yield text.encode()
    text = _COMMA.sub("", _NO_NUMBER.sub("null", _NO_ESCAPE.sub(r"\\\\", text)))
    yield text.encode()
    yield _NAME.sub(lambda found: found[1] + re.sub(r'(?<!\\)"', r"\"", found[2]) + found[3], text).encode()


def _word(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _arguments(raw: bytes) -> Args:
    """The event's arguments; of badly typed ones the ids."""
    try:
        return _args(raw)
    except msgspec.MsgspecError:
        pass
    try:
        loose = msgspec.json.decode(raw)
    except msgspec.MsgspecError:
        return Args()
    if not isinstance(loose, dict):
        return Args()
    return Args(
        correlation=_id(loose.get("correlation")),
        external=_id(loose.get("External id")),
        bytes=_id(loose.get("bytes")),
    )


def _id(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdigit() else value
    good = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**62
    return number if good else ABSENT
