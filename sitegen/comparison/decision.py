"""The verdict itself: comparable first, then the envelope, then the effect against the declared threshold.

A threshold t means that a difference matters when one side's value is more than (1 + t) times the other's. In ratios,
the band of what does not matter runs from 1 / (1 + t) to 1 + t. It is symmetric in logarithms, so that swapping the two
sides swaps the winner and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ledger.benchmark import Benchmark, Objective
from sitegen.comparison.effect import LEAST_LAUNCHES
from sitegen.comparison.envelope import counted, qualifies
from sitegen.comparison.meaning import metric_of
from sitegen.comparison.selection import Selection
from sitegen.comparison.verdict import (
    Decision,
    Effect,
    FieldComparison,
    LimitCheck,
    Sameness,
    Standing,
    Treatment,
)

ONLY_ONE_QUALIFIES = "only one qualifies"
NOT_OBSERVED = "treatment not observed"


@dataclass(frozen=True)
class Outcome:
    """A decision with the winner's name and, where the effect did not decide it, what did."""

    decision: Decision
    winner: str | None = None
    reason: str | None = None


def decide(
    selection: Selection,
    effect: Effect,
    limits: Iterable[LimitCheck],
    fields: Iterable[FieldComparison],
    threshold: float,
    meaningless: bool,
) -> Outcome:
    """The decision from all that was found; `meaningless` says that the objective's values cannot be ranked."""
    checks = tuple(limits)
    if meaningless or any(is_unequal(field) for field in fields):
        return Outcome(Decision.NOT_COMPARABLE)
    standings = [qualifies(side, checks) for side in selection.sides]
    names = [side.stack for side in selection.sides]
    enough = all(len(counted(side)) >= LEAST_LAUNCHES for side in selection.sides)
    if enough and standings == [Standing.FAILS, Standing.FAILS]:
        return Outcome(Decision.NONE_QUALIFIES)
    if enough and set(standings) == {Standing.FAILS, Standing.HOLDS}:
        return Outcome(Decision.WINS, names[standings.index(Standing.HOLDS)], ONLY_ONE_QUALIFIES)
    if Standing.FAILS in standings:
        return Outcome(Decision.INCONCLUSIVE)
    side = clears(effect, threshold)
    if side is not None and standings[side] is Standing.HOLDS:
        return Outcome(Decision.WINS, names[side])
    if is_inside(effect, threshold) and standings == [Standing.HOLDS, Standing.HOLDS]:
        return Outcome(Decision.EQUIVALENT)
    return Outcome(Decision.INCONCLUSIVE)


def withheld(outcome: Outcome, unobserved: bool) -> Outcome:
    """No win and no equivalence where a side did not run with what it is said to: its numbers are of something else."""
    if unobserved and outcome.decision in {Decision.WINS, Decision.EQUIVALENT}:
        return Outcome(Decision.INCONCLUSIVE, None, NOT_OBSERVED)
    return outcome


def asks_for_the_worse(objective: Objective, benchmark: Benchmark) -> bool:
    """Whether the objective ranks against the metric's own direction: more of what is better when less, or less."""
    known = metric_of(objective.metric, benchmark)
    return known is not None and known.direction == ("higher" if objective.minimise else "lower")


def is_unequal(field: FieldComparison) -> bool:
    """Whether a field that must be held differs."""
    return field.treatment is Treatment.HELD and field.sameness is Sameness.DIFFERENT


def clears(effect: Effect, threshold: float) -> int | None:
    """The side (0 baseline, 1 candidate) that the whole interval favours by more than the threshold, or None."""
    if effect.judged is None:
        return None
    if effect.judged.high < 1 / (1 + threshold):
        return 1 if effect.lower_is_better else 0
    if effect.judged.low > 1 + threshold:
        return 0 if effect.lower_is_better else 1
    return None


def is_inside(effect: Effect, threshold: float) -> bool:
    """Whether the whole interval lies within the threshold."""
    if effect.judged is None:
        return False
    return 1 / (1 + threshold) <= effect.judged.low and effect.judged.high <= 1 + threshold
