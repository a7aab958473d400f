"""Reading a server's or gateway's own request log: JSON lines or CSV, of any size, into recorded traffic."""

from __future__ import annotations

import csv
import hashlib
import heapq
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector import log_columns
from collector.log_columns import Columns
from collector.prompt_sample import Sample
from ledger.canonical import file_digest
from ledger.errors import InputError
from ledger.traffic import Traffic

LOOKED_AT = 20
"""Rows by which a layout is known."""
BLOCK_CHARACTERS = 256
"""Of a prompt, that one prefix block stands for where only its text was logged."""
MOST_BLOCKS = 256
"""Of one request: what lies behind them is not looked at for sharing."""
EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
"""(least, seconds): a time that is a larger number counts nanoseconds, microseconds or milliseconds since 1970."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(order=True)
class _Request:
    """One row that counts; ordered by time, then by place in the log."""

    at: float
    place: int
    input: int | None = field(compare=False)
    output: int | None = field(compare=False)
    characters: int | None = field(compare=False)
    blocks: tuple[str | bytes, ...] = field(compare=False)


@dataclass(frozen=True)
class Reading:
    """Traffic with what the log's reader has to say of it."""

    traffic: Traffic
    columns: Columns
    left_out: Mapping[str, int]
    """{why: rows}."""


def read(log: Path, columns: Columns | None, limit: int, sample: Sample) -> Reading:
    """The last `limit` requests of a log. Raises InputError: no file, no known columns, no usable times."""
    rows = _rows(log)
    first = list(itertools.islice((row for row in rows if row is not None), LOOKED_AT))
    if not first:
        raise InputError("holds no row", where=str(log), todo="name a log in JSON lines or CSV")
    columns = columns or log_columns.recognise(first, log)
    reader = _Reader(columns, limit, sample)
    for row in _rows(log):
        reader.take(row)
    return Reading(reader.traffic(log), columns, dict(reader.left_out))


def _rows(log: Path) -> Iterator[Mapping[str, Any] | None]:
    """Each line's row; None for one that holds none."""
    try:
        with log.open(encoding="utf-8", errors="replace", newline="") as file:
            start = file.read(64 * 1024).lstrip("\ufeff \t\r\n")
            if "\0" in start:
                raise InputError("is not text", where=str(log), todo="name a log in JSON lines or CSV")
            file.seek(0)
            yield from _json_rows(file) if start.startswith("{") else _csv_rows(file, log)
    except OSError as error:
        said = error.strerror or str(error)
        raise InputError(f"cannot be read ({said})", where=str(log), todo="name the log's file") from None


def _json_rows(lines: Iterator[str]) -> Iterator[Mapping[str, Any] | None]:
    for line in lines:
        if line.strip(" \t\r\n\ufeff"):
            try:
                row = json.loads(line.lstrip("\ufeff"))
            except (ValueError, RecursionError):
                row = None
            yield row if isinstance(row, dict) else None


def _csv_rows(lines: Iterator[str], log: Path) -> Iterator[Mapping[str, Any] | None]:
    header = next(lines, "").lstrip("\ufeff")
    reader = csv.DictReader(itertools.chain([header], lines), delimiter=max(",;\t", key=header.count))
    try:
        for row in reader:
            yield None if None in row else row
    except csv.Error as error:
        raise InputError(f"is neither JSON lines nor CSV ({error})", where=str(log), todo="convert it") from None


class _Reader:
    """Takes rows one by one and keeps the latest."""

    def __init__(self, columns: Columns, limit: int, sample: Sample) -> None:
        self.left_out: Counter[str] = Counter()
        self._columns = columns
        self._limit = limit
        self._sample = sample
        self._kept: list[_Request] = []
        self._place = 0
        self._characters = self._tokens = 0

    def take(self, row: Mapping[str, Any] | None) -> None:
        """Keep a row, or count why not."""
        self._place += 1
        why = self._refusal(row)
        if why is not None or row is None:
            self.left_out[why or ""] += 1
            return
        request = self._request(row)
        if len(self._kept) < self._limit:
            heapq.heappush(self._kept, request)
        else:
            heapq.heappushpop(self._kept, request)
            self.left_out["earlier than the last that are kept"] += 1

    def _refusal(self, row: Mapping[str, Any] | None) -> str | None:
        if row is None:
            return "no row of the log's format"
        for column, wanted in self._columns.keep.items():
            if str(log_columns.value(row, column)) not in {str(each) for each in wanted}:
                return f"{column} is none of those to keep"
        if self._time(row) is None:
            return "no usable time"
        lengths = [log_columns.value(row, each) for each in (self._columns.input_tokens, self._columns.output_tokens)]
        if any(each not in (None, "") and _whole(each) is None for each in lengths):
            return "a length that is no whole number"
        return None

    def _time(self, row: Mapping[str, Any]) -> float | None:
        return _seconds(log_columns.value(row, self._columns.time), self._columns.time_unit)

    def _request(self, row: Mapping[str, Any]) -> _Request:
        columns, at = self._columns, self._time(row)
        assert at is not None  # noqa: S101 (refused before)
        text = _text(log_columns.value(row, columns.prompt))
        tokens = _whole(log_columns.value(row, columns.input_tokens))
        if text:
            self._sample.offer(text)
            self._characters += len(text)
            self._tokens += tokens or 0
        output = _whole(log_columns.value(row, columns.output_tokens))
        characters = len(text) if text is not None else None
        return _Request(at, self._place, tokens, output, characters, self._blocks(row, text))

    def _blocks(self, row: Mapping[str, Any], text: str | None) -> tuple[str | bytes, ...]:
        logged = log_columns.value(row, self._columns.prefix_blocks)
        if isinstance(logged, str):
            logged = _list(logged)
        if isinstance(logged, list):
            return tuple(str(each) for each in logged[:MOST_BLOCKS])
        return tuple(_chained(text or ""))

    def traffic(self, log: Path) -> Traffic:
        """All that was kept. Raises InputError where it is too little."""
        kept = sorted(self._kept)
        if len(kept) < 2 or kept[0].at == kept[-1].at:
            why = "; ".join(f"{count} rows: {each}" for each, count in self.left_out.most_common(3))
            what = f"has no two requests at different times{f' ({why})' if why else ''}"
            raise InputError(what, where=str(log), todo=f"see that {self._columns.time} holds when each request came")
        in_tokens = any(each.input is not None for each in kept)
        return Traffic(
            arrivals_s=tuple(round(each.at - kept[0].at, 6) for each in kept),
            input_lengths=tuple(each.input if in_tokens else each.characters for each in kept),
            output_lengths=tuple(each.output for each in kept),
            prefixes=_numbered(kept),
            block=self._block(in_tokens),
            unit="tokens" if in_tokens else "characters",
            prompts=self._sample.texts(),
            source=self._source(log, kept),
        )

    def _block(self, in_tokens: bool) -> int | None:
        """What a prefix block stands for. Where only text was logged its tokens are reckoned by the log's own mean."""
        if self._columns.block_tokens is not None:
            return self._columns.block_tokens
        if not self._characters:
            return None
        if not in_tokens:
            return BLOCK_CHARACTERS
        return max(1, round(BLOCK_CHARACTERS * self._tokens / self._characters)) if self._tokens else None

    def _source(self, log: Path, kept: list[_Request]) -> dict[str, Any]:
        return {
            "log": log.name,
            "sha256": file_digest(log),
            "layout": self._columns.name,
            "rows": self._place,
            "used": len(kept),
            "left_out": dict(self.left_out),
            "first": _written(kept[0].at),
            "last": _written(kept[-1].at),
        }


def _chained(text: str) -> Iterator[bytes]:
    """A digest at the end of each whole block, of all the text up to there."""
    running = hashlib.blake2b(digest_size=12)
    for start in range(0, len(text) - BLOCK_CHARACTERS + 1, BLOCK_CHARACTERS)[:MOST_BLOCKS]:
        running.update(text[start : start + BLOCK_CHARACTERS].encode(errors="surrogatepass"))
        yield running.digest()


def _numbered(kept: list[_Request]) -> tuple[tuple[int, ...], ...]:
    """The requests' blocks as small numbers, in the order in which they first came."""
    ids: dict[str | bytes, int] = {}
    return tuple(tuple(ids.setdefault(block, len(ids)) for block in each.blocks) for each in kept)


def _seconds(written: Any, unit: str) -> float | None:
    """Seconds since 1970, or since the log's own start; None for what is no time."""
    if isinstance(written, str) and unit in {"auto", "iso"}:
        try:
            moment = datetime.fromisoformat(written.strip())
            return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        except (ValueError, OverflowError):
            pass
    try:
        number = float(written) if not isinstance(written, bool) and unit != "iso" else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    scale = UNITS.get(unit) or next((scale for least, scale in EPOCHS if number >= least), 1.0)
    return number * scale


def _whole(written: Any) -> int | None:
    try:
        number = float(written)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and number >= 0 and number == int(number) else None


def _list(written: str) -> list[Any] | None:
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _text(prompt: Any) -> str | None:
    """A prompt as one text: its own, or its messages' one after the other."""
    if isinstance(prompt, str):
        listed = _list(prompt) if prompt.startswith("[") else None
        return prompt if listed is None else _text(listed)
    if isinstance(prompt, Mapping):
        return _text(prompt.get("messages") or prompt.get("prompt") or prompt.get("content") or prompt.get("text"))
    if isinstance(prompt, list):
        parts = [part for part in (_text(each) for each in prompt) if part]
        return "\n".join(parts) if parts else None
    return None


def _written(at: float) -> str | float:
    """A time as people write it; a log that counts from its own start keeps its numbers."""
    if at < 1e8:
        return at
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
