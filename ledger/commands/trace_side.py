"""The traces that `stackproof trace` was given for one side of a comparison, or by themselves, and what they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ledger.traces.breakdown import Breakdown, explain
from ledger.traces.collectives import across, notes, of_rank, unsplit
from ledger.traces.device_use import DeviceUse, device_use
from ledger.traces.difference import Profile, Spent, profile
from ledger.traces.integrity import Finding, Integrity, RankRecord, inspect, inspect_ranks, rank_record
from ledger.traces.trace import Trace


class Operator(NamedTuple):
    """The device work that one operator launched."""

    name: str | None
    kind: str
    """The kind of most of its time."""
    spent: Spent


class Group(NamedTuple):
    """The collectives of one operation and group size that the profiled steps of some traces called, together."""

    operation: str
    size: int | None
    calls: int
    bytes: int | None
    """Of the full buffers; None where they are not known of each call."""
    time: int
    """Nanoseconds, waiting for other ranks included."""
    peer_wait: int | None
    """Until the last rank arrived; None where not all ranks of a group are there."""
    bus_bandwidth: float | None
    """Bytes a second, over the calls of which it is known, by the time that these transfer."""


@dataclass(frozen=True)
class Examined:
    """One trace and what it shows."""

    path: Path
    share: str | None
    """Which of the file's ranks it is; None where the file holds one."""
    profile: Profile
    use: DeviceUse
    integrity: Integrity
    calls: pa.Table
    """Its collectives."""
    record: RankRecord
    """What findings about several ranks ask of it."""

    @property
    def breakdown(self) -> Breakdown:
        """Where its time goes."""
        return self.profile.breakdown

    def operators(self) -> list[Operator]:
        """Its operators, the one with the most time of the device first."""
        kinds: dict[str | None, dict[str, Spent]] = {}
        for key, spent in self.profile.spent.items():
            found = kinds.setdefault(key.operator, {})
            found[key.kind] = found.get(key.kind, Spent(0, 0)) + spent
        rows = [
            Operator(name, max(found, key=lambda kind: (found[kind].time, kind)), sum(found.values(), Spent(0, 0)))
            for name, found in kinds.items()
        ]
        return sorted(rows, key=lambda row: (-row.spent.time, row.name or ""))


@dataclass(frozen=True)
class Side:
    """Several traces, in the order given."""

    traces: tuple[Examined, ...]
    apart: str | None
    """Why they are not compared as the ranks of one run; None where they are, or there is one alone."""
    findings: tuple[Finding, ...]
    """What is odd about the ranks together."""

    @property
    def profiles(self) -> list[Profile]:
        """Of each trace."""
        return [each.profile for each in self.traces]

    @property
    def is_one_run(self) -> bool:
        """Whether there are several traces, and they are ranks of one run."""
        return len(self.traces) > 1 and self.apart is None


def side(found: Sequence[Examined]) -> Side:
    """What traces show, by themselves and, where they are ranks of one run, together."""
    apart = _apart(found)
    return Side(tuple(found), apart, inspect_ranks([each.record for each in found]) if apart is None else ())


def grouped(traces: Sequence[Examined]) -> tuple[list[Group], str | None, tuple[str, ...]]:
    """The collectives of ranks of one run, the longest first; why waiting is not told from transfer; and what was
    estimated to tell it."""
    table = across([each.calls for each in traces])
    rows: dict[tuple[str, int | None], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        if row["in_steps"]:
            rows.setdefault((row["operation"], row["group_size"]), []).append(row)
    found = [_group(operation, size, calls) for (operation, size), calls in rows.items()]
    return sorted(found, key=lambda group: (-group.time, group.operation)), unsplit(table), notes(table)


def _group(operation: str, size: int | None, rows: Sequence[dict[str, Any]]) -> Group:
    measured = [row for row in rows if row["bus_bandwidth"] is not None]
    transfer = sum(row["transfer_ns"] for row in measured)
    carried = sum(row["bus_bandwidth"] * row["transfer_ns"] for row in measured)
    return Group(
        operation,
        size,
        len(rows),
        _sum(row["bytes"] for row in rows),
        sum(row["duration_ns"] for row in rows),
        _sum(row["peer_wait_ns"] for row in rows),
        carried / transfer if transfer else None,
    )


def _sum(values: Iterable[int | None]) -> int | None:
    """Their sum; None where one is not known."""
    known = list(values)
    return sum(value for value in known if value is not None) if None not in known else None


def examined(trace: Trace) -> Examined:
    """What one trace shows; it keeps nothing of its columns."""
    breakdown = explain(trace)
    return Examined(
        trace.path,
        trace.facts.share,
        profile(trace, breakdown),
        device_use(trace, breakdown),
        inspect(trace),
        of_rank(trace, breakdown),
        rank_record(trace),
    )


def _apart(found: Sequence[Examined]) -> str | None:
    if len(found) < 2:
        return None
    by_rank: dict[int, Path] = {}
    for each in found:
        rank = each.breakdown.rank
        if rank is None:
            return f"{each.path.name} does not say its rank: if these are ranks of one run, add --rank FILE=N"
        if rank in by_rank:
            return (
                f"{by_rank[rank].name} and {each.path.name} both say rank {rank}: if these are ranks of one run, "
                "add --rank FILE=N"
            )
        by_rank[rank] = each.path
    sizes = sorted({each.breakdown.world_size for each in found if each.breakdown.world_size is not None})
    if len(sizes) > 1:
        return f"they are of runs of {' and '.join(map(str, sizes))} ranks"
    return None
