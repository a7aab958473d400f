"""A JSON trace cut into pieces of whole events, without parsing it.

Events begin with two of a few keys, so `}`, a comma, `{` and such keys stand between two events and hardly elsewhere:
inside a valid JSON string the quotation marks would be escaped. A piece is therefore the text of some whole events, and
what stands before the first and after the last event of the file is kept aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ledger.traces.interface import Part

CHUNK = 4 * 2**20
"""Bytes of text that are parsed at once."""
LONGEST = 64 * 2**20
"""The most bytes without an end of an event: more is not a trace."""

_OPENING = re.compile(rb'"traceEvents"\s*:\s*\[')
_KEY = rb'"(?:ph|name|cat|pid|tid|ts|dur|id|args|s|bp)"'
_SCALAR = rb'(?:"(?:[^"\\]|\\.)*"|[^\s"\[\]{},:]+)'
_TWO_KEYS = _KEY + rb"\s*:\s*" + _SCALAR + rb"\s*,\s*" + _KEY + rb"\s*:"
SEAM = re.compile(rb'\}\s*,\s*\{(?=\s*(?:"args"\s*:\s*\{|' + _TWO_KEYS + rb"))")
"""What stands between two events: what follows begins with two keys of an event, the first with a plain value, or with
the arguments."""


class NoEventsError(ValueError):
    """The text holds no list of events; `text` is what it holds instead."""

    def __init__(self, text: bytes) -> None:
        super().__init__("no list of events")
        self.text = text


@dataclass
class Chunks:
    """The pieces of `blocks`. Once they are all taken, `head` and `rest` are whole."""

    blocks: Iterable[bytes]
    part: Part = field(default_factory=Part)
    """Which pieces are asked for; the others are passed over without a copy."""
    head: bytes = b""
    """Text before the events, up to the opening bracket; empty where the file is a bare array."""
    rest: bytes = b""
    """Text from the last event on: it, the closing bracket and what follows."""

    def __iter__(self) -> Iterator[bytes]:
        """JSON arrays of whole events. Raises NoEventsError."""
        blocks = iter(self.blocks)
        pieces, last = [b"["], self._find_events(blocks)
        size = count = 0
        while True:
            block = next(blocks, None)
            if size + len(last) >= CHUNK or block is None:
                cut = _last_seam(last)
                if cut is not None:
                    if count % self.part.of == self.part.number:
                        pieces += (last[: cut.start() + 1], b"]")
                        yield b"".join(pieces)
                    count += 1
                    last = last[cut.start() + cut[0].index(b"{") :]
                    pieces, size = [b"["], 0
            if block is None:
                break
            if size > LONGEST:
                raise NoEventsError(last[:4096])
            pieces.append(last)
            size += len(last)
            last = block
        self.rest = b"".join([*pieces[1:], last])

    def _find_events(self, blocks: Iterator[bytes]) -> bytes:
        """Keep the head aside; returns the text after the opening bracket, as far as it is read."""
        text = b""
        for block in blocks:
            text += block
            if text[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
                return text[text.index(b"[") + 1 :]
            found = _OPENING.search(text)
            if found:
                self.head = text[: found.start()]
                return text[found.end() :]
            if len(text) > LONGEST:
                break
        raise NoEventsError(text[:4096])


def _last_seam(text: bytes) -> re.Match[bytes] | None:
    """The last seam of the text, looked for from its end."""
    start = len(text)
    while start > 0:
        start = max(0, start - 2**16)
        found = list(SEAM.finditer(text, start))
        if found:
            return found[-1]
    return None
