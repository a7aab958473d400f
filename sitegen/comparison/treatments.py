"""Is what a side is said to run with seen in its traces? A stack that is said to use one library while its trace shows
another's kernels is not what it is said to be.

A library is declared by the stack's settings (`compile: true`; the rules are data, `ledger/traces/libraries.yaml`) or
by its `observe` in the benchmark file. What no trace tells is unknown, and never taken for seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ledger.benchmark import Benchmark
from ledger.traces.libraries import Library, declared_by, libraries
from sitegen.comparison.comparability import SETTING
from sitegen.comparison.evidence import Libraries, TrialRun
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.verdict import FieldComparison, Sameness, Treatment
from sitegen.format import count

FIELD = "trace."
"""Prefix of the fields that say what traces show."""
EXCLUSIVE = frozenset({"communication"})
"""Roles in which one library is meant to do all: beside what was declared no other one should be seen."""


@dataclass(frozen=True)
class Seeing:
    """One library on one side, declared or not."""

    stack: str
    library: str
    """`inductor`."""
    title: str
    declared: bool
    explicit: bool
    """Declared by `observe`, and not only by settings."""
    shown: bool | None
    """Whether a trace of each launch shows it; None where no trace can be read."""
    without: tuple[str, ...]
    """Run ids of launches whose traces do not show it."""
    evidence: tuple[str, ...]
    """Run ids of all launches whose traces were read."""
    instead: tuple[str, ...]
    """Titles of what the traces show that does the same work."""

    @property
    def observed(self) -> bool | None:
        """Whether what was declared is seen; None where that is not known, and where nothing was declared."""
        return self.shown if self.declared else None

    @property
    def mixed(self) -> bool:
        """Whether what was declared is seen, and beside it what it is said to replace."""
        return bool(self.observed) and bool(self.instead) and libraries()[self.library].role in EXCLUSIVE

    @property
    def basis(self) -> str:
        """What declares it, in words."""
        return "the benchmark file" if self.explicit else "its settings"

    def text(self) -> str:
        """What the traces do not show."""
        where = f"{len(self.without)} of {count(len(self.evidence), 'profiled launch')} of {self.stack}"
        other = f", but {' and '.join(self.instead)}" if self.instead else ""
        return f"the traces of {where} show nothing of {self.title}, which {self.basis} declare{self._ending}{other}"

    @property
    def _ending(self) -> str:
        return "s" if self.explicit else ""


def observe(selection: Selection, benchmarks: tuple[Benchmark, ...], read: Libraries) -> tuple[Seeing, ...]:
    """Each library that either side declares, on both sides, the baseline's first.

    `benchmarks` are the files whose `observe` counts: as it was declared before the launches, and as it is now. No
    trace is read where nothing is declared.
    """
    explicit = [_explicit(side, benchmarks) for side in selection.sides]
    declared = [_by_settings(side) | own for side, own in zip(selection.sides, explicit, strict=True)]
    names = [name for name in libraries() if name in declared[0] | declared[1]]
    if not names:
        return ()
    shown = read(frozenset(run.run_id for side in selection.sides for run in side.profiled))
    return tuple(
        _see(side, libraries()[name], name in declared[place], name in explicit[place], shown)
        for place, side in enumerate(selection.sides)
        for name in names
    )


def lines(selection: Selection, found: Collection[Seeing]) -> list[FieldComparison]:
    """A line of the difference table for each library that is declared."""
    rows = []
    for library in dict.fromkeys(each.library for each in found):
        of = {each.stack: each for each in found if each.library == library}
        sides = [of[side.stack] for side in selection.sides]
        shown = [each.shown for each in sides]
        sameness = Sameness.SAME if shown[0] == shown[1] else Sameness.DIFFERENT
        if None in shown:
            sameness = Sameness.UNKNOWN
        baseline, candidate = map(_words, sides)
        name, title = FIELD + library, sides[0].title
        rows.append(FieldComparison(name, Treatment.INTENDED, sameness, baseline, candidate, title))
    return rows


def _explicit(side: Side, benchmarks: Collection[Benchmark]) -> set[str]:
    stacks = [stack for benchmark in benchmarks if (stack := benchmark.stacks.get(side.stack)) is not None]
    return {name for stack in stacks for name in stack.observe if name in libraries()}


def _by_settings(side: Side) -> set[str]:
    """What every timed launch's resolved settings declare."""
    found = [
        set(
            declared_by(
                run.fields.get("run.adapter"),
                {name.removeprefix(SETTING): value for name, value in run.fields.items() if name.startswith(SETTING)},
            )
        )
        for run in side.timed
    ]
    return set.intersection(*found) if found else set()


def _see(
    side: Side, library: Library, declared: bool, explicit: bool, shown: Mapping[str, Mapping[str, str]]
) -> Seeing:
    runs = [run for run in side.profiled if run.run_id in shown]
    without = [run for run in runs if library.id not in shown[run.run_id]]
    others = {name for run in runs for name in shown[run.run_id] if _is_another(libraries()[name], library)}
    return Seeing(
        stack=side.stack,
        library=library.id,
        title=library.title,
        declared=declared,
        explicit=explicit,
        shown=not without if runs else None,
        without=_ids(without),
        evidence=_ids(runs),
        instead=tuple(each.title for each in libraries().values() if each.id in others and each.names_of not in others),
    )


def _is_another(other: Library, library: Library) -> bool:
    """Whether it does the same work, and its names tell it apart."""
    if library.role is None or other.role != library.role:
        return False
    return library.id not in {other.id, other.names_of} and library.names_of != other.id


def _ids(runs: Collection[TrialRun]) -> tuple[str, ...]:
    return tuple(run.run_id for run in runs)


def _words(each: Seeing) -> str | None:
    if each.shown is None:
        return None
    if each.shown:
        return "seen, as declared" if each.declared else "seen"
    return "not seen, though declared" if each.declared else "not seen"
