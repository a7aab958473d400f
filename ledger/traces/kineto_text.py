"""Events out of Kineto's text: typed decoding of what is well formed, event by event of what is not."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Any, Union

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ledger.traces.chunks import SEAM
from ledger.traces.interface import ABSENT, Facts, Int64
from ledger.traces.kineto_ranges import Half
from ledger.traces.kineto_rows import MISSING, Args, Rows
from ledger.traces.kineto_values import UNREADABLE, decoded, whole

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

    name: str = ""
    cat: str = ""
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = _NULL
    args: Args = Args()


class _End(_Begin, gc=False, tag_field="ph", tag="E"):
    """The end of such a range."""


_OTHERS = "sftMPIbneNODCSTpFvVRc"
"""Flow arrows, metadata, counters and what else the Chrome trace format knows; nothing of them is kept."""
_PHASES = ["X", "i", "B", "E", *_OTHERS]
_UNTIMED = tuple(msgspec.defstruct(f"_Phase{ord(phase)}", [], gc=False, tag_field="ph", tag=phase) for phase in _OTHERS)


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
_CLOSE = re.compile(rb"(?<=\})\s*,?\s*\]|\A\s*,?\s*\]")
_MOST_CLOSES = 64
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
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
    except UNREADABLE:
        return _salvaged(chunk[1:-1], facts)
    facts.total += len(events)
    types = Counter(map(type, events))
    halves = [
        _half(each, type(each) is _Begin, each.args)
        for each in (events if types[_Begin] or types[_End] else ())
        if isinstance(each, _Begin)
    ]
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
        len(events) - len(timed) - len(halves),
        halves,
    )


def _half(event: Any, begins: bool, args: Args) -> Half:
    at = nanoseconds(bytes(event.ts))
    process, thread, name, category = (_word(each) for each in (event.pid, event.tid, event.name, event.cat))
    return Half(begins, process, thread, name, category, MISSING if at is None else at, args)


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
    except UNREADABLE as error:
        end = _TRAILING.search(str(error))
        if end is not None:
            bracket = rest.rindex(b"]", 0, int(end[1])) + 1
            return decode(b"[" + rest[:bracket], facts), rest[bracket:], True
        close = _close(rest, whole="truncated" not in str(error))
    else:
        return decode(b"[" + rest, facts), b"", True
    if close:
        return _salvaged(rest[: close.start()], facts), rest[close.end() :], True
    return _salvaged(rest, facts, cut=True), b"", False


def _close(rest: bytes, *, whole: bool) -> re.Match[bytes] | None:
    """The closing bracket of malformed text: no bracket is open there; if `whole`, what follows may tell it too."""
    for close in islice(_CLOSE.finditer(rest), _MOST_CLOSES if whole else 0):
        tail = rest[close.end() :]
        if not tail.strip() or decoded(b'{"":[]' + tail) is not None:
            return close
    depth = 0
    for found in _STRUCTURE.finditer(rest):
        depth += (found[0] in b"[{") - (found[0] in b"]}")
        if depth < 0:
            return found if found[0] == b"]" and b'"ph"' not in rest[found.end() :] else None
    return None


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
    except (ArithmeticError, ValueError):
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
    low, high = np.frombuffer(decimals.buffers()[1], dtype=np.int64).reshape(-1, 2)[: len(texts)].T
    known = (high == low >> 63) & (np.abs(low) < _LATEST) & ~np.asarray(column.is_null())
    return np.where(known, low, MISSING)


def _or_missing(times: Iterator[int | None]) -> Int64:
    return np.array([MISSING if time is None else time for time in times], dtype=np.int64)


def _salvaged(text: bytes, facts: Facts, *, cut: bool = False) -> Rows:
    """Events one by one, repaired where they can be; `cut`: the text breaks off, which says enough of the last one."""
    pieces = list(_pieces(_today(text)))
    found = [
        event
        for place, piece in enumerate(pieces, 1)
        for event in _from_piece(piece, facts, cut=cut and place == len(pieces))
    ]
    odd = sum(each.ph not in _PHASES for each in found)
    if odd:
        facts.lost["is of no phase (ph) that is known"] += odd
    timed = [each for each in found if each.ph == "X"]
    moments = [each for each in found if each.ph == "i" and each.name == _ALLOCATION]
    halves = [_half(each, each.ph == "B", _arguments(bytes(each.args))) for each in found if each.ph in ("B", "E")]
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
        untimed=len(found) - len(timed) - len(halves) - odd,
        halves=halves,
    )


def _pieces(text: bytes) -> Iterator[bytes]:
    """The text cut at every seam."""
    start = 0
    for seam in SEAM.finditer(text):
        yield text[start : seam.start() + 1]
        start = seam.start() + seam[0].index(b"{")
    yield text[start:]


def _from_piece(piece: bytes, facts: Facts, *, cut: bool) -> list[_LooseEvent]:
    """The events of a piece: one, or more where they begin with other keys."""
    piece = piece.strip(_BETWEEN.encode())
    for attempt, text in enumerate(_repairs(piece) if piece else ()):
        try:
            entries = [bytes(each) for each in _entries(b"[" + text + b"]")]
            events = [_loose(each) for each in entries if each.startswith(b"{")]
        except UNREADABLE:
            continue
        facts.total += len(entries)
        if len(events) < len(entries):
            facts.lost["is not an object"] += len(entries) - len(events)
        facts.salvaged += sum(map(_is_timed, events)) if attempt else 0
        return events
    return _leading(piece.decode(errors="replace"), facts, cut=cut)


def _is_timed(event: _LooseEvent) -> bool:
    """Whether it will be kept: what is not is counted as lost."""
    return event.ph != "X" or None not in (nanoseconds(bytes(event.ts)), nanoseconds(bytes(event.dur)))


def _leading(text: str, facts: Facts, *, cut: bool) -> list[_LooseEvent]:
    """The whole objects that a text begins with; what follows them counts as one that is lost, unless it is cut off."""
    decoder, place, events = json.JSONDecoder(), 0, []
    with suppress(ValueError, RecursionError, msgspec.MsgspecError):
        while place < len(text):
            _, end = decoder.raw_decode(text, place)
            if text[place] == "{":
                events.append(_loose(text[place:end].encode()))
            place = next(_GAP.finditer(text, end)).end()
    facts.total += len(events)
    if place < len(text) and not cut:
        facts.total += 1
        facts.lost["is no valid JSON"] += 1
    return events


_BETWEEN = ", \t\r\n"
_GAP = re.compile(f"[{_BETWEEN}]*")
_CONTROL = re.compile(r"[\x00-\x1f]")
_NO_NUMBER = re.compile(r"(?<=[\s:,\[])-?(?:NaN|nan|Infinity|[Ii]nf)(?=\s*[,\]}])")
_NO_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_NAME = re.compile(
    r'("name"\s*:\s*")(.{0,4096}?)("\s*(?:,\s*"(?:pid|tid|ph|cat|ts|dur|args|id|s|bp)"\s*:|\}))', re.DOTALL
)
_LONE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""One half of a pair that stands for a character beyond 16 bits."""
_COMMA = re.compile(r",(?=\s*[,\]}])")


def _repairs(piece: bytes) -> Iterator[bytes]:
    """The text as it is, then with ever more of what profilers are known to get wrong made right."""
    yield piece
    text = _CONTROL.sub(" ", piece.decode(errors="replace"))
    yield text.encode()
    text = _COMMA.sub("", _NO_NUMBER.sub("null", _LONE.sub(r"\\ufffd", _NO_ESCAPE.sub(r"\\\\", text))))
    yield text.encode()
    yield _NAME.sub(lambda found: found[1] + re.sub(r'(?<!\\)"', r"\"", found[2]) + found[3], text).encode()


def _word(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _arguments(raw: bytes) -> Args:
    """The event's arguments; of badly typed ones the ids."""
    with suppress(*UNREADABLE):
        return _args(raw)
    loose = decoded(raw)
    if not isinstance(loose, dict):
        return Args()
    return Args(
        correlation=_id(loose.get("correlation")),
        external=_id(loose.get("External id")),
        bytes=_id(loose.get("bytes")),
    )


def _id(value: Any) -> int:
    number = whole(value)
    return ABSENT if number is None or number < 0 else number
