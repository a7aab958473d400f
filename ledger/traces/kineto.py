"""The PyTorch profiler's JSON (Kineto, the Chrome trace format): .json, .json.gz, .json.zst, of any version and device.

Layout: https://github.com/pytorch/kineto/blob/main/libkineto/src/output_json.cpp. Timestamps are microseconds with up
to three decimals; they become integer nanoseconds without passing through a number that could not hold them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from ledger.errors import InputError
from ledger.traces.chunks import Chunks, NoEventsError
from ledger.traces.interface import Batch, Facts, Format, Part, rank_in_name
from ledger.traces.kineto_ranges import joined, whole_ranges
from ledger.traces.kineto_rows import Columns
from ledger.traces.kineto_text import decode, last_events
from ledger.traces.kineto_values import UNREADABLE, whole
from ledger.traces.source import Source

WORTH_SHARING = 8 * 2**20
"""Bytes of a packed file from which on a second process pays."""

_LAST = 2**31
_DISTRIBUTED = re.compile(rb'"distributedInfo"\s*:\s*(?=\{)')


class Kineto(Format):
    """PyTorch profiler JSON."""

    name: ClassVar[str] = "PyTorch profiler JSON (.json, .json.gz, .json.zst)"

    def recognises(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 (the content decides, not the name)
        """Anything that starts as JSON: whether it holds events is only known once it is read."""
        return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")

    def parts(self, path: Path) -> int:
        """Two where the file is large: more processes than that would wait for each other's decompression."""
        return 2 if path.stat().st_size > WORTH_SHARING else 1

    def read(self, path: Path, facts: Facts, part: Part, rank: str | None = None) -> Iterator[Batch]:  # noqa: ARG002
        """The events of one part. Raises InputError on JSON without trace events."""
        source = Source(path)
        chunks = Chunks(source, part)
        columns = Columns(facts)
        try:
            for count, chunk in enumerate(chunks):
                place = part.number + part.of * count
                yield from columns.batches(whole_ranges(decode(chunk, facts), place, facts), place)
        except NoEventsError as error:
            raise (_nothing(path, source.cut) if source.cut else _unrelated(path, error)) from None
        if part.number:
            return
        rows, tail, ended = last_events(chunks.rest, facts)
        yield from columns.batches(whole_ranges(rows, _LAST, facts), _LAST)
        if part.of == 1:
            yield from self.join(facts)
        if source.cut or not ended:
            facts.cut = source.cut or "the JSON ends before its events do"
            if facts.total == sum(facts.lost.values()):
                raise _nothing(path, facts.cut)
        if facts.total and facts.lost["is not an object"] == facts.total:
            raise _unrelated(path)
        _note_ranks(facts, _distributed(chunks.head, tail), path)

    def join(self, facts: Facts) -> Iterator[Batch]:
        """The ranges of which two pieces tell an end each."""
        if facts.halves:
            yield from Columns(facts).batches(joined(facts), _LAST + 1)


def _nothing(path: Path, cut: str) -> InputError:
    return InputError(f"{cut}, before its first event", where=str(path), todo="record the trace again")


def _unrelated(path: Path, error: NoEventsError | None = None) -> InputError:
    if error is not None and not _is_json(error.text):
        return InputError("is not whole JSON", where=str(path), todo="record the trace again")
    return InputError(
        "is JSON, but not a profiler trace (no list of traceEvents)",
        where=str(path),
        todo="give it what torch.profiler's export_chrome_trace wrote",
    )


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except UNREADABLE as error:
        return len(text) >= 4096 and "truncated" in str(error)
    return True


def _distributed(head: bytes, tail: bytes) -> Any:
    """The file's distributedInfo, even where what stands around it is damaged."""
    for text in (head, tail):
        found = _DISTRIBUTED.search(text)
        if found:
            try:
                return json.JSONDecoder().raw_decode(text[found.end() :].decode(errors="replace"))[0]
            except (ValueError, RecursionError):
                return None
    return None


def _note_ranks(facts: Facts, distributed: Any, path: Path) -> None:
    """Rank and world size: from the file, else the rank from its name."""
    info = distributed if isinstance(distributed, dict) else {}
    facts.has_distributed_info = bool(info)
    facts.rank, facts.world_size = _count(info.get("rank")), _count(info.get("world_size"))
    if facts.rank is None:
        facts.rank = rank_in_name(path)


def _count(value: Any) -> int | None:
    found = whole(value)
    return found if found is not None and 0 <= found < 2**31 else None
