"""The timeline of one step as a static picture: lanes of pieces over time, small enough for a page.

A piece that is at least a pixel wide is a bar. Narrower ones are joined by lane and kind into columns, whose height is
the share that they fill of the column's time, less that of whole pieces, and at least a pixel; columns widen until the
picture is small enough. Small rectangles stand before large ones, so that no kind is hidden; where one is nevertheless,
the caption says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ledger.plain_text import neutral
from ledger.traces.interface import Int64
from ledger.traces.intervals import union_of
from sitegen.charts.chart import WIDTH
from sitegen.charts.draw import draw
from sitegen.charts.lanes import Lane, Lanes
from sitegen.charts.palette import NAMES, pattern_of, title_of
from sitegen.charts.scale import Axis, unit_for
from sitegen.format import count, seconds, share

MOST_CHARACTERS = 56_000
"""Of the picture."""
BAR = 20
"""Height of a lane's bars."""
PITCH = 46
"""From one lane to the next: its title and its bars."""
COLUMN = 2
"""Width of a column of joined pieces, in pixels of the picture, before it is widened."""
LONGEST_NAME = 60
LEGEND = 5
"""Kinds on a line of the legend."""


@dataclass(frozen=True)
class Rectangle:
    """One bar, in the picture's coordinates from the top left of its lane."""

    kind: int
    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Timeline:
    """The picture and the words around it."""

    title: str
    caption: str
    alt: str
    svg: str


def timeline(lanes: Lanes, rank: int | None) -> Timeline:
    """The picture of a step."""
    scale = Scale(lanes, WIDTH)
    title, alt = _title(lanes, rank), _alt(lanes)
    svg, bars, width = _fitting(lanes, scale, title, alt)
    return Timeline(title, _caption(lanes, width, scale, _covered(bars)), alt, svg)


class Scale:
    """From nanoseconds of the trace's clock to the picture."""

    def __init__(self, lanes: Lanes, width: int) -> None:
        self.left, self.right = 8, width - 8
        self.first = lanes.span[0]
        self.ns_per_pixel = max(lanes.span[1] - lanes.span[0], 1) / (self.right - self.left)

    def at(self, moment: int) -> float:
        """The coordinate of a moment."""
        return round(self.left + (moment - self.first) / self.ns_per_pixel, 1)

    def pixels(self, length: int) -> float:
        """The width of a length of time."""
        return round(length / self.ns_per_pixel, 1)


_Bars = list[list["Rectangle"]]
"""The rectangles of each lane, from the back to the front."""


def _fitting(lanes: Lanes, scale: Scale, title: str, alt: str) -> tuple[str, _Bars, int]:
    """The picture, its rectangles, and the width in pixels below which pieces had to be joined."""
    width = 1
    while True:
        bars = [_in_front(_rectangles(lane, lanes.names, scale, width)) for lane in lanes.lanes]
        svg = _drawn(lanes, bars, scale, title, alt)
        if len(svg) <= MOST_CHARACTERS or width > WIDTH:
            return svg, bars, width
        width += max(1, width // 4)


def _in_front(bars: Iterator[Rectangle]) -> list[Rectangle]:
    return sorted(bars, key=lambda bar: -bar.width * bar.height)


def _drawn(lanes: Lanes, bars: _Bars, scale: Scale, title: str, alt: str) -> str:
    step = lanes.step
    unit = unit_for([step.duration / 1e9], "s")
    low, high = ((edge - step.window[0]) / 1e9 for edge in lanes.span)
    kinds = sorted({kind for lane in lanes.lanes for kind in np.unique(lane.kind).tolist()})
    return str(
        draw(
            "timeline",
            width=WIDTH,
            bar=BAR,
            pitch=PITCH,
            x=Axis(unit(low), unit(high), scale.left, scale.right),
            window=[scale.at(edge) for edge in step.window],
            length=seconds(step.duration / 1e9),
            lanes=list(zip([lane.title for lane in lanes.lanes], bars, strict=True)),
            names=NAMES,
            kinds=[(NAMES[kind], title_of(kind), pattern_of(kind)) for kind in kinds],
            legend=LEGEND,
            unit=unit.name,
            title=title,
            alt=alt,
        )
    )


def _covered(lanes: _Bars) -> list[int]:
    """Kinds of which nothing is seen, for other rectangles stand before theirs."""
    seen, drawn = set(), set()
    for bars in lanes:
        canvas = np.full((BAR, 10 * WIDTH), -1, dtype=np.int8)  # by tenths of a pixel, as coordinates are written
        for bar in bars:
            left, right = round(10 * bar.x), max(round(10 * (bar.x + bar.width)), round(10 * bar.x) + 1)
            canvas[int(bar.y) : int(bar.y + bar.height), left:right] = bar.kind
            drawn.add(bar.kind)
        seen |= set(np.unique(canvas).tolist())
    return sorted(drawn - seen)


def _rectangles(lane: Lane, names: tuple[str, ...], scale: Scale, width: int) -> Iterator[Rectangle]:
    """Columns of joined pieces first, so that whole ones stand before them."""
    whole = lane.end - lane.start >= width * scale.ns_per_pixel
    if not whole.all():
        yield from _columns(lane, np.flatnonzero(~whole), names, scale, max(COLUMN, width))
    for piece in np.flatnonzero(whole).tolist():
        start, length = int(lane.start[piece]), int(lane.end[piece] - lane.start[piece])
        words = f"{_short(names[lane.name[piece]])}: {seconds(length / 1e9)}"
        yield Rectangle(int(lane.kind[piece]), scale.at(start), 0, scale.pixels(length), BAR, words)


@dataclass
class _Column:
    """Joined pieces of one kind; neighbours of equal height become one."""

    kind: int
    first: int
    last: int
    base: int
    height: int
    pieces: int
    time: int
    longest: int
    """The piece that takes longest."""


def _columns(lane: Lane, chosen: Int64, names: tuple[str, ...], scale: Scale, width: int) -> Iterator[Rectangle]:
    """Narrow pieces as columns, the kinds of one column on top of each other."""
    size = width * scale.ns_per_pixel
    columns = int((scale.right - scale.left) / width) + 2
    kinds = np.unique(lane.kind[chosen]).tolist()
    found = [_Sums.of(lane, chosen[lane.kind[chosen] == kind], scale.first, size, columns) for kind in kinds]
    heights = _heights(found, _room(lane, chosen, scale.first, size, columns))
    base = np.cumsum(heights, axis=0) - heights
    for kind, sums, height, below in zip(kinds, found, heights, base, strict=True):
        for each in _joined(sums.columns(kind, below, height)):
            left, right = scale.left + each.first * width, min(scale.left + (each.last + 1) * width, scale.right)
            length = lane.end[each.longest] - lane.start[each.longest]
            name = _short(names[lane.name[each.longest]], LONGEST_NAME // 2)
            words = f"{title_of(kind)}: {count(each.pieces, 'piece')}, {seconds(each.time / 1e9)}"
            words += f"; longest {name}, {seconds(int(length) / 1e9)}" if each.pieces > 1 else f"; {name}"
            yield Rectangle(kind, left, BAR - each.base - each.height, right - left, each.height, words)


def _heights(found: list[_Sums], room: npt.NDArray[np.float64]) -> Int64:
    """Pixels of each kind (rows) in each column: a pixel or more where it has pieces, BAR together at most."""
    shares = [np.clip(np.rint(BAR * sums.time / room), sums.pieces > 0, BAR) for sums in found]
    heights = np.array(shares).astype(np.int64)
    while (over := np.flatnonzero(heights.sum(axis=0) > BAR)).size:
        heights[heights[:, over].argmax(axis=0), over] -= 1
    return heights


def _room(lane: Lane, joined: Int64, first: int, size: float, columns: int) -> npt.NDArray[np.float64]:
    """Nanoseconds of each column that no whole piece takes."""
    whole = np.ones(len(lane.start), dtype=np.bool_)
    whole[joined] = False
    edges = (np.arange(columns + 1) * size).astype(np.int64) + first
    taken = np.diff(union_of(lane.start[whole], lane.end[whole]).before(edges))
    return np.maximum(size - taken, 1.0)


@dataclass(frozen=True)
class _Sums:
    """Narrow pieces of one kind by column, a stretch of `size` nanoseconds."""

    time: Int64
    """Nanoseconds within each column."""
    pieces: Int64
    """How many begin in each."""
    longest: dict[int, int]
    """Of those that begin in a column, the one that takes longest."""

    @classmethod
    def of(cls, lane: Lane, own: Int64, first: int, size: float, columns: int) -> _Sums:
        """The sums of the pieces `own`."""
        start, end = lane.start[own] - first, lane.end[own] - first
        left, right = (start / size).astype(np.int64), ((end - 1) / size).astype(np.int64)
        edge = np.minimum(((left + 1) * size).astype(np.int64), end)
        time = np.bincount(left, weights=edge - start, minlength=columns)
        time += np.bincount(right, weights=end - edge, minlength=columns)
        order = np.lexsort((start - end, left))
        begun, at = np.unique(left[order], return_index=True)
        longest = dict(zip(begun.tolist(), own[order[at]].tolist(), strict=True))
        return cls(time.astype(np.int64), np.bincount(left, minlength=columns), longest)

    def columns(self, kind: int, base: Int64, height: Int64) -> Iterator[_Column]:
        """One column for each stretch in which pieces begin."""
        for at, piece in self.longest.items():
            pieces, time = int(self.pieces[at]), int(self.time[at])
            yield _Column(kind, at, at, int(base[at]), int(height[at]), pieces, time, piece)


def _joined(columns: Iterator[_Column]) -> Iterator[_Column]:
    """Neighbours of one height as one; the longest piece of the first stands for both."""
    held: _Column | None = None
    for each in columns:
        if held and each.first == held.last + 1 and (each.base, each.height) == (held.base, held.height):
            held.last, held.pieces, held.time = each.last, held.pieces + each.pieces, held.time + each.time
            continue
        if held:
            yield held
        held = each
    if held:
        yield held


def _short(name: str, longest: int = LONGEST_NAME) -> str:
    text = neutral(name).removeprefix("void ")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _title(lanes: Lanes, rank: int | None) -> str:
    step = lanes.step
    what = "the whole trace" if step.number is None else f"step {step.number}"
    if step.count > 1:
        what = f"{step.count} steps, which cannot be told apart"
    return f"Timeline of {what}" if rank is None else f"Timeline of {what}, rank {rank}"


def _alt(lanes: Lanes) -> str:
    """Each lane in words: what share of the time shown is what."""
    whole = lanes.span[1] - lanes.span[0]
    sentences = []
    for lane in lanes.lanes:
        parts = [(title_of(kind), lane.busy(kind)) for kind in np.unique(lane.kind).tolist()]
        words = ", ".join(f"{kind} {share(time / whole)}" for kind, time in parts)
        sentences.append(f"{lane.title}: {words}.")
    return " ".join(sentences)


def _caption(lanes: Lanes, width: int, scale: Scale, covered: list[int]) -> str:
    step = lanes.step
    sentences = []
    if lanes.of > 1:
        sentences.append(f"The step of median length of {lanes.of}.")
    narrow = seconds(width * scale.ns_per_pixel / 1e9)
    sentences.append(
        f"Pieces shorter than {narrow} are joined by lane and kind: the height of such a bar is the share that they "
        "fill of the time between longer ones, and a pixel at least. Rest the pointer on a bar for its name."
    )
    if covered:
        sentences.append(f"Too short to be seen here: {', '.join(map(title_of, covered))}.")
    if lanes.span != step.window:
        sentences.append("The shaded part is the step's window on the device; the host may run ahead of it.")
    if lanes.hidden:
        sentences.append(f"{count(lanes.hidden, 'lane')} with less work not shown.")
    return " ".join(sentences)
