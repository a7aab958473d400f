"""One step of a trace as lanes of pieces: what the timeline draws.

A piece is of one of the kinds of `sitegen.charts.palette`: a class of compute as the breakdown counts it,
communication, a copy, a wait for input, or an operator of the host.

With a device in the trace its streams come first, then what the host called at top level; without one, the threads of
the host with the self time of their operators. In both the lane with the most work stands first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ledger.plain_text import neutral
from ledger.traces.breakdown import Breakdown, Step, worked
from ledger.traces.classes import Role, table
from ledger.traces.interface import Int64, Kind
from ledger.traces.intervals import union_of
from ledger.traces.trace import Events, Trace, Track
from ledger.traces.work import INPUT_WAIT, Codes, Work, on_host
from sitegen.charts.palette import HOST

MOST_STREAMS = 6
MOST_THREADS = 4
"""Lanes of the host below those of a device; without a device there may be as many as streams."""


@dataclass(frozen=True)
class Lane:
    """One stream or thread: pieces as columns of equal length, by start, in nanoseconds of the trace's clock."""

    title: str
    start: Int64
    end: Int64
    kind: Codes
    """Code of each piece, an index into `palette.NAMES`."""
    name: Int64
    """Index into the trace's names."""

    def busy(self, kind: int | None = None) -> int:
        """Nanoseconds in which a piece of a kind, or any, runs."""
        chosen = np.ones(len(self.start), dtype=np.bool_) if kind is None else self.kind == kind
        return union_of(self.start[chosen], self.end[chosen]).length


@dataclass(frozen=True)
class Lanes:
    """The step that is drawn."""

    step: Step
    of: int
    """Steps of the trace, of which this is the one of median length."""
    span: tuple[int, int]
    """What is shown: the step's annotation and its window on the device."""
    lanes: tuple[Lane, ...]
    hidden: int
    """Lanes with work that are left out."""
    names: tuple[str, ...]


def lanes_of(trace: Trace, found: Breakdown) -> Lanes | None:
    """The step of median length; None where the trace has no step with work in it."""
    if not found.steps:
        return None
    step = sorted(found.steps, key=lambda each: each.duration)[(len(found.steps) - 1) // 2]
    span = (min(step.annotated[0], step.window[0]), max(step.annotated[1], step.window[1]))
    inside = _inside(trace, span)
    if trace.has_device:
        groups = [(trace, _device(trace, span)), (inside, _host(inside))]
    else:
        groups = [(inside, on_host(inside, table()))]
    most = (MOST_STREAMS, MOST_THREADS)
    full = [sorted(_lanes(*group, span), key=lambda lane: -lane.busy()) for group in groups]
    shown = [lane for group, limit in zip(full, most, strict=False) for lane in group[:limit]]
    if not shown:
        return None
    return Lanes(step, len(found.steps), span, tuple(shown), sum(map(len, full)) - len(shown), trace.names)


def _inside(trace: Trace, span: tuple[int, int]) -> Trace:
    """The trace without events that lie outside the span."""
    events = trace.events
    chosen = (events.start < span[1]) & (events.end > span[0])
    kept = Events(
        events.kind[chosen],
        events.name[chosen],
        events.track[chosen],
        events.start[chosen],
        events.end[chosen],
        events.correlation[chosen],
        events.external[chosen],
    )
    return replace(trace, events=kept)


def _device(trace: Trace, span: tuple[int, int]) -> Work:
    """Kernels, copies and fills within the span. A class may hang on the launch, which may lie before the span."""
    found = []
    for work in worked(trace):
        chosen = (work.start < span[1]) & (work.end > span[0])
        found.append([column[chosen] for column in (work.start, work.end, work.event, work.code)])
    start, end, event, code = map(np.concatenate, zip(*found, strict=True))
    return Work(start, end, event, code)


def _host(trace: Trace) -> Work:
    """Operators that no other operator of their thread called, and waits for input."""
    events = trace.events
    is_wait = _named(trace, Role.INPUT_WAIT)
    chosen = np.flatnonzero((events.kind == Kind.OP) | ((events.kind == Kind.ANNOTATION) & is_wait))
    order = chosen[np.lexsort((-events.end[chosen], events.start[chosen], events.track[chosen]))]
    kept = order[_is_outermost(events, order)]
    code = np.where(is_wait[kept], INPUT_WAIT, HOST).astype(np.int8)
    return Work(events.start[kept], events.end[kept], kept.astype(np.int64), code)


def _named(trace: Trace, role: Role) -> npt.NDArray[np.bool_]:
    """For each event, whether its name has the role."""
    names = np.array([table().role(name) is role for name in trace.names] or [False], dtype=np.bool_)
    return names[trace.events.name] if len(trace.events) else np.empty(0, dtype=np.bool_)


def _is_outermost(events: Events, order: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which events start when all before them on their track have ended; `order` is by track, start and -end."""
    outermost = np.ones(len(order), dtype=np.bool_)
    for track in np.unique(events.track[order]):
        own = np.flatnonzero(events.track[order] == track)
        until = np.maximum.accumulate(events.end[order[own]])
        outermost[own[1:]] = events.start[order[own[1:]]] >= until[:-1]
    return outermost


def _lanes(trace: Trace, work: Work, span: tuple[int, int]) -> Iterator[Lane]:
    """Work by track, cut to the span."""
    events = trace.events
    start, end = np.maximum(work.start, span[0]), np.minimum(work.end, span[1])
    track = events.track[work.event]
    for number in np.unique(track):
        own = np.flatnonzero((track == number) & (end > start))
        if own.size:
            own = own[np.argsort(start[own], kind="stable")]
            name = events.name[work.event[own]].astype(np.int64)
            yield Lane(_title(trace.tracks[number]), start[own], end[own], work.code[own], name)


def _title(track: Track) -> str:
    stream = track.thread if track.thread.startswith("stream") else f"stream {track.thread}"
    text = neutral(f"Device {track.process}, {stream}" if track.is_device else f"Thread {track.thread}")
    return text if len(text) <= 60 else f"{text[:59]}…"
