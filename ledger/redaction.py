"""Finding and replacing byte patterns in a stream, with the same result however the stream is cut into pieces."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PIECE = 1 << 20
"""Bytes read at a time."""
REACH = 1 << 15
"""Bytes that a match may need to be recognised, before its run of token characters goes on."""
SLACK = 128
"""Bytes after a match that could still become part of it."""
LONGEST = 1 << 26
"""A match that goes on for longer than this is cut, so that memory stays bounded."""

MARKER = re.compile(rb"\[redacted:[A-Za-z0-9_]{1,128}\]")

Write = Callable[[bytes], object]


@dataclass(frozen=True)
class Hit:
    """One secret that was found: what kind, or whose value, and where. Never the secret itself."""

    name: str
    """The environment variable's name, or the shape's (`github_token`)."""
    line: int
    """From 1, in the decompressed text."""


@dataclass(frozen=True)
class Rule:
    """One thing to look for."""

    name: str
    hints: tuple[bytes, ...]
    """Lower-case bytes, of which every match holds one."""
    pattern: re.Pattern[bytes]
    """With a group `secret` when only that part is to be replaced."""


@dataclass(frozen=True)
class _Found:
    name: str
    begin: int
    """Where the whole match starts."""
    start: int
    """Where the part to replace starts, and where it ends."""
    end: int
    finish: int
    """Where the whole match ends."""


def pump(read: Callable[[int], bytes], stages: list[list[Rule]], write: Write) -> Iterator[Hit]:
    """Read to the end, through one stage for each list of rules, into `write`. Yields each hit as it is replaced."""
    hits: list[Hit] = []
    chain: list[_Stage] = []
    for rules in reversed(stages):
        chain.insert(0, _Stage(rules, chain[0].feed if chain else write, hits))
    while piece := read(PIECE):
        chain[0].feed(piece)
        yield from hits
        hits.clear()
    for stage in chain:
        stage.finish()
    yield from hits


@dataclass
class _Stage:
    """Replaces the matches of some rules in bytes that arrive in pieces."""

    rules: list[Rule]
    write: Write
    hits: list[Hit]
    _held: bytes = b""
    """Bytes that later ones may still change, after at most one that is there for patterns that look behind."""
    _start: int = 0
    _line: int = 1
    _reach: int = field(init=False)

    def __post_init__(self) -> None:
        self._reach = REACH + 2 * max(len(hint) for rule in self.rules for hint in rule.hints)

    def feed(self, piece: bytes) -> None:
        """Take a piece; write all that no later byte can change."""
        self._work(self._held + piece, last=False)

    def finish(self) -> None:
        """Write the rest."""
        self._work(self._held, last=True)

    def _work(self, data: bytes, *, last: bool) -> None:
        sure = len(data) if last else len(data) - self._reach
        position, out = self._start, []
        for found in self._matches(data, position):
            if found.begin >= sure:
                break
            grows = not last and found.finish > len(data) - SLACK
            if grows and len(data) - found.begin < LONGEST:
                sure = found.begin
                break
            out += [self._passed(data, position, found.start), b"[redacted:%s]" % found.name.encode()]
            self.hits.append(Hit(found.name, self._line))
            self._line += data.count(b"\n", found.start, found.end)
            position = found.end
        if sure > position:
            out.append(self._passed(data, position, sure))
            position = sure
        self._start = min(position, 1)
        self._held = data[position - self._start :]
        if out:
            self.write(b"".join(out))

    def _passed(self, data: bytes, start: int, end: int) -> bytes:
        self._line += data.count(b"\n", start, end)
        return data[start:end]

    def _matches(self, data: bytes, position: int) -> Iterator[_Found]:
        """Matches from `position` on. Markers are never touched: the text between two is searched by itself."""
        lower = data.lower()
        rules = [rule for rule in self.rules if any(hint in lower for hint in rule.hints)]
        if not rules:
            return
        for marker in MARKER.finditer(data, position):
            yield from _leftmost(rules, data, position, marker.start())
            position = marker.end()
        yield from _leftmost(rules, data, position, len(data))


def _leftmost(rules: list[Rule], data: bytes, start: int, end: int) -> Iterator[_Found]:
    """Matches that do not overlap: the leftmost first, at one place that of the first rule."""
    queue: list[tuple[int, int, re.Match[bytes]]] = []

    def look(order: int) -> None:
        if match := rules[order].pattern.search(data, start, end):
            heapq.heappush(queue, (match.start(), order, match))

    for order in range(len(rules)):
        look(order)
    while queue:
        begin, order, match = heapq.heappop(queue)
        if begin >= start:
            group: int | str = "secret" if "secret" in match.re.groupindex else 0
            yield _Found(rules[order].name, begin, match.start(group), match.end(group), match.end())
            start = match.end(group)
        look(order)
