"""What a trace is like as a record: what was lost or repaired, what it does not hold, and whether it can explain a run.

A finding gates where the parts of a step would add up and still be wrong: work of the run is missing (the file is cut
or lost events, launches or replays left no work, only a capture was recorded) or counts twice (duplicates, several
ranks in one file), or a time is impossible, so that windows and gaps are too. The others say how the trace was read,
and the parts are right with them: overlapping work is counted once, work without a launch where it ran, a repaired
event is whole. What the explanation itself had to assume stands in `Breakdown.warnings`, and only there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ledger.traces.classes import Role, table
from ledger.traces.device_use import one_byte
from ledger.traces.interface import ABSENT, Facts, Int64, Kind
from ledger.traces.intervals import Booleans
from ledger.traces.room import trim
from ledger.traces.several import working
from ledger.traces.trace import Events, Trace
from ledger.traces.work import slabs

DEFINITIONS = {
    "cut": "The file breaks off before its end, as after a profiler was killed: what it would have held is unknown.",
    "events_lost": "Events that could not be read at all; above 1 % of the timed ones the trace explains nothing.",
    "events_repaired": "Events whose text was malformed and was put right before they were read.",
    "note": "What the format's reader has to say about the file.",
    "no_events": "No timed event of the host or of a device is in the file.",
    "no_steps": "No annotation tells the steps apart: the whole trace is one step.",
    "no_rank": "Neither the file nor its name tells which rank it is.",
    "out_of_range": "Events an hour or more away from all others: a clock or a counter that was read wrongly.",
    "several_ranks": "Work on the host of more than one process: several ranks' traces were put into one file.",
    "duplicated": "Events that stand in the file more than once, alike in everything; above 1 % counts are wrong.",
    "out_of_order": "Work of the device that stands in the file after later work of its stream.",
    "zero_duration": "Work of the device that took no time as it was recorded.",
    "overlapping": "Work of the device that begins before the work before it on its stream has ended: real with "
    "programmatic launches.",
    "overrunning": "Work of the device that begins and ends while the work before it on its stream is still running.",
    "one_byte_copies": "Copies that are recorded as of one byte and take most of the time of their direction: "
    "a profiler that does not know the size writes 1, so that their bandwidth means nothing.",
    "no_launch": "Work of the device whose launch is not in the trace.",
    "launch_without_work": "Launches whose kernel is not in the trace; above 5 % records of the device were dropped.",
    "capture_only": "Hardly any work of a device beside many launches, or none at all: a graph was captured and not "
    "run, or the device was not recorded.",
    "replay_suspected": "Launches of graphs with no work of the device in the trace, or a single piece of it where "
    "others have many: replays were not recorded.",
    "ranks_missing": "Ranks of the run whose trace is not there.",
    "ranks_duplicated": "Two traces of one rank: they cannot be of one run.",
    "world_sizes_differ": "Traces that disagree on how many ranks there were: they cannot be of one run.",
    "clocks_shifted": "Ranks whose steps begin more than a step away from the same steps of the first rank.",
}
"""{code: what it means}."""

ASSUMED = frozenset({"no_steps", "no_launch"})
"""Codes of which `Breakdown.warnings` tells what came of them, where anything did."""

_HOUR = 3_600_000_000_000
_LOST, _DUPLICATED, _DROPPED, _CAPTURED = 0.01, 0.01, 0.05, 0.01
_SAMPLE = 100_000
_MANY = 100
"""Launches from which on their number says something."""
_MANY_NODES = 20
"""Pieces of work of most replays from which on a single piece is too few."""
_MIXER = np.uint64(0x9E3779B97F4A7C15)
_LAUNCH = re.compile(r"launch", re.IGNORECASE)
_GRAPH = re.compile(r"graph_?launch", re.IGNORECASE)
_NO_KERNEL = re.compile(r"host_?func|config|cooperative.*query", re.IGNORECASE)
_CAPTURE_BEGINS, _CAPTURE_ENDS = (re.compile(f"stream_?{at}_?capture", re.IGNORECASE) for at in ("begin", "end"))


@dataclass(frozen=True)
class Finding:
    """One thing about a trace."""

    code: str
    """A key of DEFINITIONS."""
    count: int
    text: str
    """A sentence with the count."""
    gates: bool
    """Whether it keeps the trace from carrying an explanation."""


@dataclass(frozen=True)
class Integrity:
    """The record of one trace."""

    events: int
    """Entries in the file, of any kind."""
    timed: int
    """Of these, events that have a duration, lost ones too."""
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether the trace can carry an explanation."""
        return not any(each.gates for each in self.findings)

    @property
    def reason(self) -> str | None:
        """Why it cannot; None where it can."""
        return "; ".join(each.text for each in self.findings if each.gates) or None


def inspect(trace: Trace) -> Integrity:
    """The record of one trace."""
    trim()
    found = [finding for look in _LOOKS for finding in look(trace)]
    return Integrity(trace.facts.total, trace.facts.total - trace.facts.untimed, tuple(found))


@dataclass(frozen=True)
class RankRecord:
    """What findings about several ranks ask of one rank's trace, so that the others need not stay in memory."""

    facts: Facts
    steps: dict[str, tuple[int, int]]
    """Start, by the trace's own clock, and duration of each step by its name."""


def rank_record(trace: Trace) -> RankRecord:
    """The record of one rank among several."""
    return RankRecord(trace.facts, _steps(trace))


def inspect_ranks(traces: Sequence[RankRecord]) -> tuple[Finding, ...]:
    """What the traces of one run's ranks are like together."""
    if len(traces) < 2 and not any(trace.facts.world_size for trace in traces):
        return ()
    return tuple(finding for look in _LOOKS_ACROSS for finding in look(traces))


def _reading(trace: Trace) -> Iterator[Finding]:
    facts = trace.facts
    if facts.cut:
        yield Finding("cut", 1, f"{facts.cut}: what comes after is missing", gates=True)
    timed = facts.total - facts.untimed
    gates = facts.lost.total() > _LOST * timed
    for reason, count in facts.lost.most_common():
        yield Finding("events_lost", count, f"{_counted(count, 'event')} left out: each {reason}", gates)
    if facts.salvaged:
        text = f"{_counted(facts.salvaged, 'damaged event')} repaired"
        yield Finding("events_repaired", facts.salvaged, text, gates=False)
    for note in facts.notes:
        yield Finding("note", 1, note, gates=False)


def _contents(trace: Trace) -> Iterator[Finding]:
    if not len(trace.events):
        yield Finding("no_events", 1, "no timed event of the host or of a device", gates=True)
        return
    if trace.rank is None:
        yield Finding("no_rank", 1, "neither the file nor its name tells the rank", gates=False)
    names = table()
    if not trace.facts.steps and not any(names.role(name) in (Role.STEP, Role.ITERATION) for name in trace.names):
        yield Finding("no_steps", 1, "no annotation tells the steps apart", gates=False)


def _range(trace: Trace) -> Iterator[Finding]:
    """Far from the middle half of all events, on either side."""
    events = trace.events
    if not len(events):
        return
    some = events.start[:: max(1, len(events) // _SAMPLE)]
    low, middle, high = np.quantile(some, (0.25, 0.5, 0.75))
    reach = _HOUR + 10 * (high - low)
    far = int(((events.start < middle - reach) | (events.end > middle + reach)).sum())
    if far:
        text = f"{_counted(far, 'event')} recorded an hour or more away from the others"
        yield Finding("out_of_range", far, text, gates=True)


def _processes(trace: Trace) -> Iterator[Finding]:
    """Whether the host's work is of one process, as a profiler records it."""
    some = len(working(trace))
    if some > 1:
        text = f"the host's work is of {some} processes: several ranks in one file"
        yield Finding("several_ranks", some, text, gates=True)


def _twice(trace: Trace) -> Iterator[Finding]:
    """Events that are alike in every column, by a number that stands for them all."""
    events = trace.events
    keys, size = trace.room.empty(len(events), np.uint64), 0
    columns = (events.kind, events.name, events.track, events.start, events.end, events.correlation, events.external)
    for slab in slabs(len(events)):
        mixed = np.zeros(len(events.start[slab]), dtype=np.uint64)
        for column in columns:
            mixed = (mixed ^ column[slab].astype(np.uint64)) * _MIXER
            mixed ^= mixed >> np.uint64(29)
        mixed = mixed[events.end[slab] > events.start[slab]]
        keys[size : size + len(mixed)] = mixed
        size += len(mixed)
    keys = keys[:size]
    keys.sort()
    count = int((keys[1:] == keys[:-1]).sum())
    if count:
        text = f"{_counted(count, 'event')} in the file twice"
        yield Finding("duplicated", count, text, count > _DUPLICATED * len(events))


def _streams(trace: Trace) -> Iterator[Finding]:
    """What is odd about the work of each stream, in the file's order and in time."""
    events, device = trace.events, trace.device
    counts: Counter[str] = Counter()
    track = events.track[device]
    for place in range(len(trace.tracks)):
        if trace.tracks[place].is_device:
            counts += _stream(events, device[track == place])
    for code, text in _OF_STREAMS.items():
        if counts[code]:
            yield Finding(code, counts[code], text.format(_pieces(counts[code])), gates=False)


_OF_STREAMS = {
    "out_of_order": "{} in the file after later work of the stream",
    "zero_duration": "{} recorded without a duration",
    "overlapping": "{} begun before the work before it on the stream had ended",
    "overrunning": "{} begun and ended while the work before it on the stream was running",
}


def _stream(events: Events, work: Int64) -> Counter[str]:
    """The same of the events of one stream, some at a time."""
    start = events.start[work]
    back = int((start[1:] < start[:-1]).sum())
    if back or (np.diff(start) == 0).any():
        work = work[np.lexsort((events.end[work], start))]
    counts = Counter(out_of_order=back, zero_duration=int((events.end[work] == events.start[work]).sum()))
    running = np.iinfo(np.int64).min
    for slab in slabs(work.size):
        mine = work[max(slab.start - 1, 0) : slab.stop]
        start, end = events.start[mine], events.end[mine]
        ran = np.maximum.accumulate(np.append(running, end[:-1]))[1:]  # of each but the first: until when others ran
        running = max(int(ran.max(initial=running)), int(end[-1]))
        twice = (start[1:] == start[:-1]) & (end[1:] == end[:-1]) & (end[1:] > start[1:])
        twice &= events.name[mine[1:]] == events.name[mine[:-1]]
        twice &= events.correlation[mine[1:]] == events.correlation[mine[:-1]]
        overlap = (ran > start[1:]) & ~twice
        over = overlap & (ran > end[1:])
        counts.update(overlapping=int((overlap & ~over).sum()), overrunning=int(over.sum()))
    return counts


def _sizes(trace: Trace) -> Iterator[Finding]:
    """Whether copies tell what they moved."""
    count = sum(one_byte(trace, trace.events.where(Kind.MEMCPY)).values())
    if count:
        text = f"{_counted(count, 'copy', 'copies')} recorded as of one byte, most of the time of their direction"
        yield Finding("one_byte_copies", count, text, gates=False)


def _launching(trace: Trace) -> Iterator[Finding]:
    """Launches without work, and work without a launch."""
    events, device = trace.events, trace.device
    launches = [bool(_LAUNCH.search(name)) and not _NO_KERNEL.search(name) for name in trace.names]
    graphs = [bool(_GRAPH.search(name)) for name in trace.names]
    calls = np.flatnonzero((events.kind == Kind.RUNTIME) & (events.correlation != ABSENT))
    calls = calls[np.array(launches, dtype=np.bool_)[events.name[calls]]] if calls.size else calls
    worked = np.isin(events.correlation[calls], events.correlation[device])
    of_graph = np.array(graphs or [False], dtype=np.bool_)[events.name[calls]]
    silent = ~worked & ~of_graph & ~_captured(trace, events.start[calls])
    yield from _lost_work(int((~of_graph).sum()), int(silent.sum()), device.size)
    yield from _replays(trace, events.correlation[calls[of_graph]])
    told = events.correlation[events.kind == Kind.RUNTIME]
    if device.size and told.size:
        alone = int((~np.isin(events.correlation[device], told)).sum())
        if alone:
            yield Finding("no_launch", alone, f"{_pieces(alone)} recorded without a launch", gates=False)


def _captured(trace: Trace, at: Int64) -> Booleans:
    """Which of the times lie within the capture of a graph, whose launches run nothing yet."""
    events = trace.events
    calls = events.where(Kind.RUNTIME)
    open_captures = np.zeros(len(at), dtype=np.int64)
    for pattern, sign in ((_CAPTURE_BEGINS, 1), (_CAPTURE_ENDS, -1)):
        named = np.array([bool(pattern.search(name)) for name in trace.names] or [False], dtype=np.bool_)
        times = np.sort(events.start[calls[named[events.name[calls]]]])
        open_captures += sign * np.searchsorted(times, at, side="right")
    captured: Booleans = open_captures > 0
    return captured


def _replays(trace: Trace, launches: Int64) -> Iterator[Finding]:
    """Whether each launch of a graph, told by its correlation, has its work in the trace."""
    if not launches.size:
        return
    known, counts = np.unique(trace.events.correlation[trace.device], return_counts=True)
    work = np.zeros(launches.size, dtype=np.int64)
    if known.size:
        place = np.minimum(np.searchsorted(known, launches), known.size - 1)
        work = np.where(known[place] == launches, counts[place], 0)
    few = int((work <= (np.median(work) >= _MANY_NODES)).sum())
    if few > _DROPPED * launches.size:
        text = f"{few:,} of {launches.size:,} launches of graphs have next to no work of the device in the trace"
        yield Finding("replay_suspected", few, text, gates=True)


def _lost_work(launches: int, silent: int, device: int) -> Iterator[Finding]:
    if (launches >= _MANY and device <= _CAPTURED * launches) or (launches and not device):
        text = f"{_pieces(device)} recorded beside {launches:,} launch{'es' if launches > 1 else ''}"
        yield Finding("capture_only", launches, text, gates=True)
    elif silent:
        gates = silent > _DROPPED * launches and launches >= _MANY
        text = f"{silent:,} of {launches:,} launches have no kernel in the trace"
        yield Finding("launch_without_work", silent, text, gates)


_LOOKS: tuple[Callable[[Trace], Iterator[Finding]], ...] = (
    _reading, _contents, _processes, _range, _twice, _streams, _sizes, _launching
)  # fmt: skip


def _ranks(traces: Sequence[RankRecord]) -> Iterator[Finding]:
    known = [trace.facts.rank for trace in traces if trace.facts.rank is not None]
    sizes = {trace.facts.world_size for trace in traces if trace.facts.world_size}
    twice = sorted({rank for rank in known if known.count(rank) > 1})
    if twice:
        text = f"several traces say that they are of rank {', '.join(map(str, twice))}"
        yield Finding("ranks_duplicated", len(twice), text, gates=True)
    if len(sizes) > 1:
        text = f"the traces speak of {' and '.join(map(str, sorted(sizes)))} ranks"
        yield Finding("world_sizes_differ", len(sizes), text, gates=True)
    elif sizes:
        (size,) = sizes
        missing = size - len(set(known)) if known else 0
        if missing > 0:
            yield Finding("ranks_missing", missing, f"{missing} of {size} ranks have no trace", gates=False)


def _clocks(traces: Sequence[RankRecord]) -> Iterator[Finding]:
    """Whether the same steps are at the same time on all ranks, by the wall clock where all of them tell it."""
    based = all(trace.facts.base_ns is not None for trace in traces)
    bases = [(trace.facts.base_ns or 0) if based else 0 for trace in traces]
    shifted = [
        place
        for place in range(1, len(traces))
        if _apart(traces[0].steps, traces[place].steps, bases[0] - bases[place])
    ]
    if shifted:
        ranks = [place if trace.facts.rank is None else trace.facts.rank for place, trace in enumerate(traces)]
        names = ", ".join(str(ranks[place]) for place in shifted)
        text = f"the clocks of rank {names} and of rank {ranks[0]} do not agree"
        yield Finding("clocks_shifted", len(shifted), text, gates=False)


def _steps(trace: Trace) -> dict[str, tuple[int, int]]:
    """Start and duration of each step by its name."""
    if trace.facts.steps:
        return {str(number): (start, end - start) for number, start, end in trace.facts.steps}
    events, names = trace.events, table()
    is_step = np.array([names.role(name) is Role.STEP for name in trace.names] or [False], dtype=np.bool_)
    found = np.flatnonzero(events.kind == Kind.ANNOTATION)
    found = found[is_step[events.name[found]]]
    return {
        trace.names[events.name[place]]: (int(events.start[place]), int(events.end[place] - events.start[place]))
        for place in found.tolist()
    }


def _apart(one: dict[str, tuple[int, int]], other: dict[str, tuple[int, int]], base: int) -> bool:
    """Whether steps of one name begin more than a step apart; `base`: by how much the one's clock begins later."""
    shared = one.keys() & other.keys()
    if not shared:
        return False
    shift = np.median([base + one[name][0] - other[name][0] for name in shared])
    return bool(abs(shift) > np.median([max(one[name][1], other[name][1]) for name in shared]))


_LOOKS_ACROSS: tuple[Callable[[Sequence[RankRecord]], Iterator[Finding]], ...] = (_ranks, _clocks)


def _pieces(count: int) -> str:
    return _counted(count, "piece of device work", "pieces of device work")


def _counted(count: int, noun: str, plural: str | None = None) -> str:
    return f"1 {noun} was" if count == 1 else f"{count:,} {plural or noun + 's'} were"
