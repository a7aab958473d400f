"""Public rank beside own rank: what others' order of the drafted stacks was, and what it is here.

Two orders of the same stacks by the same quantity, each among those that both sides rank. Neither enters a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ledger import shortlist
from ledger.benchmark import Benchmark
from ledger.shortlist import Entry, Group, PublicRow
from sitegen.comparison.ranking import Place, Ranking
from sitegen.comparison.verdict import Standing
from sitegen.format import ordinal

NAMED = 3
"""Moves that the sentence names at most."""


@dataclass(frozen=True)
class Pair:
    """One drafted stack: its public row and its own launches."""

    stack: str
    link: str
    """What the benchmark file names the public row by."""
    row: PublicRow | None
    """None where no imported collection holds that row."""
    public_value: float | None
    own_value: float | None
    public_rank: int | None = None
    own_rank: int | None = None
    why: str | None = None
    """Why it has no ranks."""

    @property
    def move(self) -> int | None:
        """Places won here over the public order; negative where it lost some."""
        return None if self.public_rank is None or self.own_rank is None else self.public_rank - self.own_rank


@dataclass(frozen=True)
class PublicRanks:
    """The stacks of a benchmark that were drafted from public rows; the ranked ones first, by their own rank."""

    pairs: tuple[Pair, ...]
    group: Group | None
    """The metric and conditions of the public order; None where there is no order."""
    sentence: str
    """The largest moves, or why there are none to tell."""


def beside(ranking: Ranking, benchmark: Benchmark, rows: Sequence[PublicRow]) -> PublicRanks | None:
    """The two orders; None where no stack was drafted from a public row."""
    links = {name: stack.public for name, stack in benchmark.stacks.items() if stack.public is not None}
    if not links:
        return None
    known = {row.link: row for row in rows}
    places = {place.stack: place for place in ranking.places}
    # Whatever a row was drafted for, it is asked here only where it stands among the drafted ones.
    wanted = replace(shortlist.asked(benchmark), kind=None, model=None)
    listed = shortlist.select([known[link] for link in links.values() if link in known], wanted)
    entries = {entry.row.result: entry for entry in listed.entries}
    found = {
        stack: _Side(known.get(link), entries.get(known[link].result) if link in known else None, places.get(stack))
        for stack, link in links.items()
    }
    group = _largest(found, ranking.objective)
    both = {stack: side for stack, side in found.items() if _ranks(side, ranking.objective, group)}
    if len(both) < 2:
        group = None
    public = _order({stack: float(side.rank) for stack, side in both.items()})
    sign = 1.0 if benchmark.envelope.objective.minimise is not None else -1.0
    own = _order({stack: sign * side.value(ranking.objective) for stack, side in both.items()})
    pairs = [
        _pair(stack, links[stack], side, ranking.objective, group, public.get(stack), own.get(stack))
        for stack, side in found.items()
    ]
    pairs.sort(key=lambda pair: (pair.own_rank is None, pair.own_rank or 0, pair.stack))
    sentence = _moves(pairs) if group else _no_moves(listed, found, ranking.objective)
    return PublicRanks(tuple(pairs), group, sentence)


@dataclass(frozen=True)
class _Side:
    row: PublicRow | None
    entry: Entry | None
    place: Place | None

    @property
    def rank(self) -> int:
        """The place in the public order of its group; 0 without one."""
        return (self.entry.rank or 0) if self.entry else 0

    def value(self, objective: str) -> float:
        """The mean of the own launches; callers know that there is one."""
        cell = self.place.cells.get(objective) if self.place else None
        return cell.value if cell else 0.0

    def measured(self, objective: str) -> bool:
        """Whether own launches hold the envelope and have a value of the objective."""
        place = self.place
        return place is not None and place.standing is Standing.HOLDS and objective in place.cells


def _largest(found: Mapping[str, _Side], objective: str) -> Group | None:
    """The group that most stacks with own results are in: ranks of different conditions are no order."""
    groups = Counter(
        side.entry.group for side in found.values() if side.entry and side.entry.group and side.measured(objective)
    )
    return groups.most_common(1)[0][0] if groups else None


def _ranks(side: _Side, objective: str, group: Group | None) -> bool:
    return group is not None and side.entry is not None and side.entry.group == group and side.measured(objective)


def _order(values: Mapping[str, float]) -> dict[str, int]:
    """{stack: place, from 1}, the least first; equal ones share a place."""
    return {stack: 1 + sum(other < value for other in values.values()) for stack, value in values.items()}


def _pair(
    stack: str,
    link: str,
    side: _Side,
    objective: str,
    group: Group | None,
    public: int | None,
    own: int | None,
) -> Pair:
    value = side.entry.value if side.entry else None
    mean = side.value(objective) if side.place and objective in side.place.cells else None
    if group is not None and public is not None and own is not None:
        return Pair(stack, link, side.row, value, mean, public, own)
    return Pair(stack, link, side.row, value, mean, why=_why(side, objective, group))


def _why(side: _Side, objective: str, group: Group | None) -> str:
    if side.row is None:
        return "no imported collection holds this row"
    if side.entry is None or side.entry.group is None:
        return f"public: {side.entry.unranked if side.entry else 'not known'}"
    if side.place is None or objective not in side.place.cells:
        return f"own: no timed launch with {objective} yet"
    if side.place.standing is not Standing.HOLDS:
        return f"own: the envelope {'is not held' if side.place.standing is Standing.FAILS else 'is not known to hold'}"
    return "public: under other conditions than the rest" if group else "no other stack to set it beside"


def _moves(pairs: Sequence[Pair]) -> str:
    moved = sorted((pair for pair in pairs if pair.move), key=lambda pair: (-abs(pair.move or 0), pair.stack))
    count = sum(pair.move is not None for pair in pairs)
    if not moved:
        return f"The public order of these {count} stacks is the order here."
    told = ", ".join(
        f"{pair.stack} from {ordinal(pair.public_rank or 0)} to {ordinal(pair.own_rank or 0)}" for pair in moved[:NAMED]
    )
    more = f", and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
    return f"Largest moves from the public order of {count} to the one here: {told}{more}."


def _no_moves(listed: shortlist.Shortlist, found: Mapping[str, _Side], objective: str) -> str:
    if listed.unranked:
        return f"There is no public order: {listed.unranked}."
    measured = sum(side.measured(objective) for side in found.values())
    return (
        f"There are no two orders yet: {measured} of {len(found)} drafted stacks hold the envelope with {objective} "
        "measured here, and fewer than two of them have public places under the same conditions."
    )
