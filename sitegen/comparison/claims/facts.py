"""What rules read: the accounting, and means of any metric over a side's launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ledger.benchmark import Benchmark
from ledger.run import Role, State
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.explanation import Claim, ClaimNumber
from sitegen.comparison.meaning import metric_of, title_of
from sitegen.comparison.selection import Selection
from sitegen.comparison.verdict import Accounting, Effect, FieldComparison, ItemComparison, Part

MATTERS = 0.1
"""Share of the difference from which a part is worth a claim."""
ALIKE = 0.05
"""Relative difference up to which two amounts are called equal."""


@dataclass(frozen=True)
class Facts:
    """One comparison's findings."""

    selection: Selection
    benchmark: Benchmark
    effect: Effect
    total: Effect
    """Of the accounting's total: the step time, or the mean time to a result."""
    accounting: Accounting
    fields: tuple[FieldComparison, ...]
    items: ItemComparison | None
    claims: tuple[Claim, ...] = ()
    """What rules make of all this, the claim that accounts for most first."""

    @property
    def names(self) -> tuple[str, str]:
        """Baseline, candidate."""
        return self.selection.baseline.stack, self.selection.candidate.stack

    @property
    def slower(self) -> int | None:
        """The side that takes longer by the accounting's total, 0 for the baseline; None where that may be neither.

        Without an interval, as of one launch a side, these launches are described: the page says that they are few.
        """
        difference, low, high = self.accounting.difference, self.total.low, self.total.high
        if not difference or (low is not None and high is not None and low <= 1 <= high):
            return None
        return int(difference > 0)

    def part(self, id: str) -> Part | None:
        """A part of the accounting that both sides have."""
        found = next((part for part in self.accounting.parts if part.id == id), None)
        return found if found is not None and found.difference is not None else None

    def more(self, id: str) -> float:
        """Seconds that the slower side spends more in a part; negative where it spends less, 0 where nobody knows."""
        part = self.part(id)
        if part is None or part.difference is None or self.slower is None:
            return 0.0
        return part.difference if self.slower else -part.difference

    def share_of(self, seconds: float) -> float:
        """Seconds as a share of the measured difference."""
        return seconds / abs(self.accounting.difference or 1.0)

    def mean(self, side: int, metric: str, role: Role = Role.TIMED) -> float | None:
        """Mean of a metric over a side's completed launches of a role; None where one of them has no value."""
        runs = self.runs(side, role)
        values = [value_of(run, metric) for run in runs]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    def both(self, metric: str, role: Role = Role.TIMED) -> tuple[float, float] | None:
        """`mean` of both sides; None where one lacks it."""
        first, second = self.mean(0, metric, role), self.mean(1, metric, role)
        return None if first is None or second is None else (first, second)

    def ratio(self, metric: str, role: Role = Role.TIMED) -> float | None:
        """The slower side's mean over the other's."""
        found = self.both(metric, role)
        if found is None or self.slower is None or min(found) <= 0:
            return None
        return found[self.slower] / found[1 - self.slower]

    def runs(self, side: int, role: Role) -> tuple[TrialRun, ...]:
        """A side's completed launches of a role."""
        return self.selection.sides[side].of(role, State.COMPLETED)

    def number(self, metric: str, role: Role = Role.TIMED) -> ClaimNumber | None:
        """A metric of both sides, to stand beside a claim."""
        found, known = self.both(metric, role), metric_of(metric, self.benchmark)
        if found is None or known is None:
            return None
        return ClaimNumber(metric, title_of(metric, self.benchmark), known.unit, *found)

    def claim(
        self,
        code: str,
        text: str,
        *,
        metrics: Sequence[str],
        refuted_by: str,
        parts: Sequence[str] = (),
        intervention: str | None = None,
        role: Role = Role.PROFILED,
        timed: Sequence[str] = (),
    ) -> Claim:
        """A claim that rests on the launches of a role; it accounts for what of the difference lies in `parts`.

        `timed` are metrics that it has from the timed launches all the same.
        """
        seconds = sum(map(self.more, parts)) if parts else None
        numbers = [self.number(metric, role) for metric in metrics] + [self.number(each, Role.TIMED) for each in timed]
        return Claim(
            code=code,
            text=text,
            share=None if seconds is None else self.share_of(seconds),
            seconds=seconds,
            numbers=tuple(number for number in numbers if number is not None),
            refuted_by=refuted_by,
            intervention=intervention,
            evidence=tuple(run.run_id for side in (0, 1) for run in self.runs(side, role)),
            parts=tuple(parts),
        )


def value_of(run: TrialRun, metric: str) -> float | None:
    """A metric of one launch: of the rank whose parts are shown, or of the whole."""
    row = run.shown(metric)
    return row.value if row else None
