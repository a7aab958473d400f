"""A metric of both sides over load or length: launches' values in, curve and crossings out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ledger.metrics.registry import Missing
from ledger.run import Role
from sitegen.comparison.effect import LEAST_LAUNCHES, launch_order
from sitegen.comparison.flips.crossing import EQUAL, MeanCurve, changes_sign, difference, mean_curve, zeros
from sitegen.comparison.flips.found import Crossing, Curve, Point
from sitegen.comparison.selection import Selection
from sitegen.comparison.statistics import Interval, geometric_mean, paired_ratio, unpaired_ratio
from sitegen.format import count

Values = Mapping[float, float | Missing]
"""{load or length: value of one launch}."""
FEW = f"fewer than {LEAST_LAUNCHES} launches a side"


@dataclass(frozen=True)
class Launches:
    """Which launches are compared: blocks where the two sides took turns, else each side for itself."""

    sides: tuple[tuple[str, ...], tuple[str, ...]]
    """Run ids of baseline and candidate; those of one block stand at the same place."""
    paired: bool
    left_out: int
    """Launches without a partner."""

    @property
    def few(self) -> bool:
        """Whether they are too few for an interval."""
        return min(map(len, self.sides)) < LEAST_LAUNCHES

    @property
    def method(self) -> str:
        """How intervals are made, in words."""
        fieller = "Fieller's interval: all places at which a t test at 5 % does not tell the log ratio from zero"
        if self.paired:
            alone = f" ({count(self.left_out, 'launch')} without a partner left out)" if self.left_out else ""
            return f"{fieller}; {len(self.sides[0])} interleaved pairs of launches{alone}"
        return f"{fieller}; {len(self.sides[0])} and {len(self.sides[1])} launches, each side for itself"


def launches(selection: Selection) -> Launches:
    """The same blocks that the effect rests on."""
    baseline, candidate = selection.sides
    order = launch_order(baseline.of(Role.TIMED), candidate.of(Role.TIMED))
    done = {run.run_id for side in selection.sides for run in side.timed}
    blocks = [(a.run_id, b.run_id) for a, b in order.blocks if {a.run_id, b.run_id} <= done]
    if order.interleaved and len(blocks) >= LEAST_LAUNCHES:
        first, second = zip(*blocks, strict=True)
        return Launches((first, second), True, len(done) - 2 * len(blocks))
    own = [tuple(run.run_id for run in side.timed) for side in selection.sides]
    return Launches((own[0], own[1]), False, 0)


def fill(
    empty: Curve, stacks: tuple[str, str], runs: Launches, values: Mapping[str, Values], notes: Mapping[float, str]
) -> Curve:
    """`empty` with its points and crossings, from {run_id: its values}.

    A point takes part where every launch of both sides has a positive value there. `notes` says of a point what it
    stands for.
    """
    places = sorted({at for run in (*runs.sides[0], *runs.sides[1]) for at in values.get(run, {})})
    points = [_point(at, stacks, runs, values, notes.get(at, "")) for at in places]
    kept = [point.at for point in points if point.absent is None]
    found = replace(empty, points=tuple(points), method=runs.method)
    if len(kept) < 2:
        why = next((point.absent for point in points if point.absent), "there is no value at two points on both sides")
        return replace(found, absent=why)
    logs = [[[math.log(_number(values[run][at])) for at in kept] for run in side] for side in runs.sides]
    pairs = [[b - a for a, b in zip(*each, strict=True)] for each in zip(*logs, strict=True)] if runs.paired else []
    mean = _mean([math.log(at) for at in kept], logs, pairs)
    usable = mean if not runs.few else replace(mean, degrees=0)
    undecided = changes_sign(mean.mean) or max(map(abs, mean.mean)) <= EQUAL
    return replace(
        found,
        crossings=tuple(
            Crossing(
                at=math.exp(zero.at),
                low=None if zero.low is None else math.exp(zero.low),
                high=None if zero.high is None else math.exp(zero.high),
                below=_better(stacks, not zero.rises, empty.lower_is_better),
                above=_better(stacks, zero.rises, empty.lower_is_better),
            )
            for zero in zeros(usable)
        ),
        better=None if undecided else _better(stacks, sum(mean.mean) > 0, empty.lower_is_better),
        compared=len(pairs),
        crossing=sum(changes_sign(pair) for pair in pairs),
        no_bounds=FEW if runs.few else None if mean.degrees else "all launches are equal, so their spread is unknown",
    )


def _mean(at: list[float], logs: list[list[list[float]]], pairs: list[list[float]]) -> MeanCurve:
    if pairs:
        return mean_curve(at, pairs)
    return difference(mean_curve(at, logs[0]), mean_curve(at, logs[1]))


def _point(at: float, stacks: tuple[str, str], runs: Launches, values: Mapping[str, Values], note: str) -> Point:
    sides: list[list[float]] = []
    absent = None
    for stack, side in zip(stacks, runs.sides, strict=True):
        told = [values.get(run, {}).get(at, Missing("the launch has none there")) for run in side]
        numbers = [each for each in told if not isinstance(each, Missing)]
        missing = next((each.reason for each in told if isinstance(each, Missing)), None)
        if missing or not numbers:
            absent = absent or f"{stack}: {missing or 'no timed launch completed'}"
        elif min(numbers) <= 0:
            absent = absent or f"{stack}: a value is zero or negative, and has no logarithm"
            numbers = []
        sides.append([] if missing else numbers)
    means = [geometric_mean(numbers) if numbers else None for numbers in sides]
    if absent is not None:
        return Point(at, means[0], means[1], None, None, None, absent, note)
    found = paired_ratio(list(zip(*sides, strict=True))) if runs.paired else unpaired_ratio(sides[0], sides[1])
    bounds = found if isinstance(found, Interval) and not runs.few else None
    return Point(
        at,
        means[0],
        means[1],
        found.center,
        bounds.low if bounds else None,
        bounds.high if bounds else None,
        None,
        note,
    )


def _better(stacks: tuple[str, str], candidate_is_more: bool, lower_is_better: bool) -> str:
    return stacks[1] if candidate_is_more is not lower_is_better else stacks[0]


def _number(value: float | Missing) -> float:
    assert not isinstance(value, Missing)  # noqa: S101 (only points at which every launch has a value are kept)
    return value
