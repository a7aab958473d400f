"""The traces that `stackproof trace` was given for one side of a comparison, or by themselves, and what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ledger.traces.breakdown import Breakdown, explain
from ledger.traces.device_use import DeviceUse, device_use
from ledger.traces.difference import Profile, Spent, profile
from ledger.traces.trace import Trace


class Operator(NamedTuple):
    """The device work that one operator launched."""

    name: str | None
    kind: str
    """The kind of most of its time."""
    spent: Spent


@dataclass(frozen=True)
class Examined:
    """One trace and what it shows."""

    path: Path
    profile: Profile
    use: DeviceUse

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

    @property
    def profiles(self) -> list[Profile]:
        """Of each trace."""
        return [each.profile for each in self.traces]

    @property
    def is_one_run(self) -> bool:
        """Whether there are several traces, and they are ranks of one run."""
        return len(self.traces) > 1 and self.apart is None


def examined(traces: Sequence[Trace]) -> Side:
    """What the traces show, by themselves and, where they are ranks of one run, together."""
    found = tuple(_examined(trace) for trace in traces)
    return Side(found, _apart(found))


def _examined(trace: Trace) -> Examined:
    breakdown = explain(trace)
    return Examined(trace.path, profile(trace, breakdown), device_use(trace, breakdown))


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
