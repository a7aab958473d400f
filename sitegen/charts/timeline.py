"""The timeline of one step as a static picture: lanes of pieces over time, small enough for a page.

A piece that is at least a pixel wide is a bar. Narrower ones are joined by lane and class into columns, whose height is
the share that they fill of the column's time, less that of whole pieces; columns widen until there are few enough
rectangles.
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
from sitegen.charts.lanes import Class, Lane, Lanes
from sitegen.charts.scale import Axis, unit_for
from sitegen.format import count, seconds, share

MOST_RECTANGLES = 1500
BAR = 20
"""Height of a lane's bars."""
PITCH = 46
"""From one lane to the next: its title and its bars."""
COLUMN = 2
"""Width of a column of joined pieces, in pixels of the picture, before it is widened."""
LONGEST_NAME = 90


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
    bars, width = _fitting(lanes, scale)
    step = lanes.step
    unit = unit_for([step.duration / 1e9], "s")
    title, alt = _title(lanes, rank), _alt(lanes)
    low, high = ((edge - step.window[0]) / 1e9 for edge in lanes.span)
    kinds = sorted({kind for lane in lanes.lanes for kind in np.unique(lane.kind).tolist()})
    svg = draw(
        "timeline",
        width=WIDTH,
        bar=BAR,
        pitch=PITCH,
        x=Axis(unit(low), unit(high), scale.left, scale.right),
        window=[scale.at(edge) for edge in step.window],
        length=seconds(step.duration / 1e9),
        lanes=list(zip([lane.title for lane in lanes.lanes], bars, strict=True)),
        kinds=[(kind, Class(kind).title) for kind in kinds],
        unit=unit.name,
        title=title,
        alt=alt,
    )
    return Timeline(title, _caption(lanes, width, scale), alt, str(svg))


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


def _fitting(lanes: Lanes, scale: Scale) -> tuple[list[list[Rectangle]], int]:
    """The rectangles of each lane, and the width in pixels below which pieces had to be joined."""
    width = 1
    while True:
        bars = [list(_rectangles(lane, lanes.names, scale, width)) for lane in lanes.lanes]
        if sum(map(len, bars)) <= MOST_RECTANGLES:
            return bars, width
        width *= 2


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
    """Joined pieces of one class; neighbours of equal height become one."""

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
    """Narrow pieces as columns, classes of one column on top of each other."""
    size = width * scale.ns_per_pixel
    base = np.zeros(int((scale.right - scale.left) / width) + 2, dtype=np.int64)
    room = _room(lane, chosen, scale.first, size, len(base))
    for kind in np.unique(lane.kind[chosen]).tolist():
        own = chosen[lane.kind[chosen] == kind]
        for each in _joined(_of_class(lane, own, kind, scale.first, size, base, room)):
            left, right = scale.left + each.first * width, min(scale.left + (each.last + 1) * width, scale.right)
            length = lane.end[each.longest] - lane.start[each.longest]
            words = (
                f"{count(each.pieces, 'piece')} of {Class(kind).title}, {seconds(each.time / 1e9)} together; "
                f"the longest: {_short(names[lane.name[each.longest]])}, {seconds(int(length) / 1e9)}"
            )
            top = BAR - each.base - each.height
            yield Rectangle(kind, left, top, right - left, each.height, words)


def _room(lane: Lane, joined: Int64, first: int, size: float, columns: int) -> npt.NDArray[np.float64]:
    """Nanoseconds of each column that no whole piece takes."""
    whole = np.ones(len(lane.start), dtype=np.bool_)
    whole[joined] = False
    edges = (np.arange(columns + 1) * size).astype(np.int64) + first
    taken = np.diff(union_of(lane.start[whole], lane.end[whole]).before(edges))
    return np.maximum(size - taken, 1.0)


def _of_class(
    lane: Lane, own: Int64, kind: int, first: int, size: float, base: Int64, room: npt.NDArray[np.float64]
) -> Iterator[_Column]:
    """One column for each stretch of `size` nanoseconds in which pieces lie; `base` is raised by its height."""
    start, end = lane.start[own] - first, lane.end[own] - first
    left, right = (start / size).astype(np.int64), ((end - 1) / size).astype(np.int64)
    edge = np.minimum(((left + 1) * size).astype(np.int64), end)
    time = np.bincount(left, weights=edge - start, minlength=len(base))
    time += np.bincount(right, weights=end - edge, minlength=len(base))
    pieces = np.bincount(left, minlength=len(base))
    order = np.lexsort((start - end, left))
    columns, at = np.unique(left[order], return_index=True)
    for column, longest in zip(columns.tolist(), own[order[at]].tolist(), strict=True):
        share_of_room = float(time[column] / room[column])
        height = min(max(1, round(BAR * share_of_room)), BAR - int(base[column]))
        if height:
            yield _Column(
                kind, column, column, int(base[column]), height, int(pieces[column]), int(time[column]), longest
            )
            base[column] += height


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


def _short(name: str) -> str:
    text = neutral(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


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
        parts = [(Class(kind), lane.busy(Class(kind))) for kind in np.unique(lane.kind).tolist()]
        words = ", ".join(f"{kind.title} {share(time / whole)}" for kind, time in parts)
        sentences.append(f"{lane.title}: {words}.")
    return " ".join(sentences)


def _caption(lanes: Lanes, width: int, scale: Scale) -> str:
    step = lanes.step
    sentences = []
    if lanes.of > 1:
        sentences.append(f"The step of median length of {lanes.of}.")
    narrow = seconds(width * scale.ns_per_pixel / 1e9)
    sentences.append(
        f"Pieces shorter than {narrow} are joined by lane and class: the height of such a bar is the share that they "
        "fill of the time between longer ones. Rest the pointer on a bar for its name."
    )
    if lanes.span != step.window:
        sentences.append("The shaded part is the step's window on the device; the host may run ahead of it.")
    if lanes.hidden:
        sentences.append(f"{count(lanes.hidden, 'lane')} with less work not shown.")
    return " ".join(sentences)
