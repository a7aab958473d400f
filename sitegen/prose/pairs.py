"""Two stacks on one metric: their order, their ratio, and what the comparison between them decided."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sitegen.comparison.verdict import Decision, Effect, Verdict
from sitegen.format import value
from sitegen.prose.amounts import FACTOR, Amount
from sitegen.prose.tables import BenchmarkTables, MetricShown

Range = tuple[float, float]

_UNDECIDED = frozenset({Decision.INCONCLUSIVE, Decision.NOT_COMPARABLE, Decision.NONE_QUALIFIES})


@dataclass(frozen=True)
class Pair:
    """The first stack against the second one."""

    known: BenchmarkTables
    first: str
    second: str
    name: str
    """Of the metric."""

    @property
    def metric(self) -> MetricShown:
        """What is known of it."""
        return self.known.metrics[self.name]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The comparisons of the two that decide by this metric."""
        return tuple(v for v in self.known.between(self.first, self.second) if v.effect.metric == self.name)

    def order(self, sign: int) -> str | None:
        """What is wrong with saying that the first value is larger (1) or smaller (-1) than the second."""
        undecided = self.undecided(sign)
        if undecided is not None:
            return undecided
        ratios = list(self._ratios())
        if not ratios or any(sign * math.log(ratio) > 0 for ratio in ratios):
            return None
        return self.in_words

    def undecided(self, sign: int) -> str | None:
        """Why a comparison of the two bears out no such order: it decided nothing, or they are equivalent."""
        found = self.verdicts
        if not found or any(not _open(each, sign if each.candidate == self.first else -sign) for each in found):
            return None
        return said(found[0])

    def lies_in(self, ranges: list[Range], approximate: bool) -> bool:
        """Whether the ratio, or a part of its 95 % interval, lies in one of the ranges; true of what is unknown."""
        ratios, bounds = list(self._ratios()), list(self._bounds(approximate))
        if not ratios:
            return True
        return any(
            any(_within(ratio, each) for ratio in ratios)
            or any(each[0] <= high and low <= each[1] for low, high in bounds)
            for each in ranges
        )

    def is_apart_by(self, amount: Amount) -> bool:
        """Whether the two values differ by an amount in the metric's unit, to its rounding."""
        firsts, seconds = (self.known.values.get((stack, self.name), ()) for stack in (self.first, self.second))
        if not firsts or not seconds:
            return True
        apart = [abs(one.value - other.value) for one in firsts for other in seconds]
        return any(reading.holds(each) for reading in amount.readings for each in apart)

    @property
    def in_words(self) -> str:
        """Both values, and the ratio with its interval where a comparison shows it."""
        first, second = (self.known.mean(stack, self.name) for stack in (self.first, self.second))
        unit = self.metric.unit
        values = f"{self.first} is {value(first, unit)} and of {self.second} {value(second, unit)}"
        text = f"{self.metric.title.lower()} of {values}"
        for verdict in self.verdicts:
            ratio, low, high = oriented(verdict.effect, verdict.candidate == self.first)
            if ratio is not None:
                text += f", ratio {self.first} / {self.second} {ratio:.3f}"
                text += f", 95 % interval {low:.3f} to {high:.3f}" if low is not None and high is not None else ""
            break
        return text

    def _ratios(self) -> Iterator[float]:
        """First over second: of the comparison, and of the means that the page of all stacks shows."""
        for verdict in self.verdicts:
            ratio, _, _ = oriented(verdict.effect, verdict.candidate == self.first)
            if ratio:
                yield ratio
        first, second = (self.known.mean(stack, self.name) for stack in (self.first, self.second))
        if first is not None and second is not None and first > 0 and second > 0:
            yield first / second

    def _bounds(self, approximate: bool) -> Iterator[Range]:
        """95 % intervals of the ratio; for rough numbers also what the two stacks' own intervals allow."""
        for verdict in self.verdicts:
            _, low, high = oriented(verdict.effect, verdict.candidate == self.first)
            if low is not None and high is not None:
                yield low, high
        if approximate:
            for one in self.known.values.get((self.first, self.name), ()):
                for other in self.known.values.get((self.second, self.name), ()):
                    if one.low and one.high and other.low and other.high and other.low > 0:
                        yield one.low / other.high, one.high / other.low


def ratios(amount: Amount, sign: int, *, plain: bool) -> list[Range]:
    """The ratios first / second that an amount may mean; none where it is no share and no factor.

    `plain` is of a value itself: `25 % less` is a ratio of 0.75. Else it is of a speed or a price too, so that `25 %
    faster` may mean 1.25 times the speed (of a time: 1 / 1.25) or three quarters of the time.
    """
    if any(reading.value < 0 for reading in amount.readings):
        return []
    if amount.unit == FACTOR:
        found = [(max(reading.low, 0.0), reading.high) for reading in amount.readings]
        return found if sign > 0 else [(_inverse(high), _inverse(low)) for low, high in found]
    if amount.unit != "share":
        return []
    added = [(1 + reading.low, 1 + reading.high) for reading in amount.readings]
    taken = [(1 - reading.high, 1 - reading.low) for reading in amount.readings]
    if plain:
        return added if sign > 0 else taken
    if sign > 0:
        return added + [(_inverse(high), _inverse(low)) for low, high in taken]
    return taken + [(_inverse(high), _inverse(low)) for low, high in added]


def oriented(effect: Effect, forward: bool) -> tuple[float | None, float | None, float | None]:
    """Ratio and interval as candidate / baseline, or the other way round."""
    if forward or effect.ratio is None:
        return effect.ratio, effect.low, effect.high
    return 1 / effect.ratio, 1 / effect.high if effect.high else None, 1 / effect.low if effect.low else None


def said(verdict: Verdict) -> str:
    """What a comparison decided, in the words of its page."""
    return f"{verdict.slug}: {verdict.decision}; {verdict.sentence.rstrip('.')}"


def _open(verdict: Verdict, sign: int) -> bool:
    """Whether a comparison leaves it open that the candidate's value is larger (1) or smaller (-1)."""
    if verdict.decision in _UNDECIDED:
        return True
    effect = verdict.effect
    if effect.low is None or effect.high is None or effect.ratio is None:
        return False
    return effect.low <= 1 <= effect.high and sign * (effect.ratio - 1) >= 0


def _within(ratio: float, found: Range) -> bool:
    return found[0] * (1 - 1e-9) <= ratio <= found[1] * (1 + 1e-9)


def _inverse(amount: float) -> float:
    return math.inf if amount <= 0 else 1 / amount
