"""Where a difference that is known at some points changes its sign, and between which bounds that lies.

Each launch (or block of two launches side by side) gives one curve over the same points; between two points a curve is
a straight line over the logarithm. The crossing is where the mean curve is zero. Its bounds are Fieller's: all places
at which a t test at 5 % does not tell the mean of the curves from zero. In contrast to the mean of the launches' own
crossings, launches that do not cross count too, and where the difference is too small for bounds, they are open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from sitegen.comparison.statistics import CONFIDENCE, t_quantile

EQUAL = 1e-12
"""Logarithms of ratios up to this are rounding."""


@dataclass(frozen=True)
class MeanCurve:
    """The mean of some curves, with the variances of that mean."""

    at: tuple[float, ...]
    """Where the points lie: logarithms, ascending, two at least."""
    mean: tuple[float, ...]
    variance: tuple[float, ...]
    shared: tuple[float, ...]
    """Covariance of the mean at each point with that at the next: one less than there are points."""
    degrees: int
    """Degrees of freedom of the variances; 0 where nothing is known of the spread."""

    def reversed(self) -> MeanCurve:
        """The same, seen from the other end."""
        return MeanCurve(
            tuple(-each for each in reversed(self.at)),
            self.mean[::-1],
            self.variance[::-1],
            self.shared[::-1],
            self.degrees,
        )


@dataclass(frozen=True)
class Zero:
    """One crossing; all as logarithms, as `MeanCurve.at`."""

    at: float
    rises: bool
    """Whether the mean is below zero before it and above zero after it."""
    low: float | None
    """None: at the lowest point the sides are still not told apart, or there is no spread to tell by."""
    high: float | None


def mean_curve(at: Sequence[float], curves: Sequence[Sequence[float]]) -> MeanCurve:
    """The mean of `curves`, each with one value for each of `at`."""
    columns = list(zip(*curves, strict=True))
    means = [fmean(column) for column in columns]
    n = len(curves)

    def covariance(i: int, j: int) -> float:
        if n < 2:
            return 0.0
        pairs = zip(columns[i], columns[j], strict=True)
        return math.fsum((a - means[i]) * (b - means[j]) for a, b in pairs) / (n - 1) / n

    variance = tuple(covariance(i, i) for i in range(len(at)))
    shared = tuple(covariance(i, i + 1) for i in range(len(at) - 1))
    spread = any(max(column) - min(column) > EQUAL for column in columns)
    return MeanCurve(tuple(at), tuple(means), variance, shared, n - 1 if spread else 0)


def difference(first: MeanCurve, second: MeanCurve) -> MeanCurve:
    """second - first, where the two were measured apart from each other.

    The side with fewer curves gives the degrees of freedom, which errs on the safe side.
    """
    spread = max(first.degrees, second.degrees)
    least = min((each.degrees for each in (first, second) if each.degrees), default=0)
    return MeanCurve(
        first.at,
        tuple(b - a for a, b in zip(first.mean, second.mean, strict=True)),
        tuple(a + b for a, b in zip(first.variance, second.variance, strict=True)),
        tuple(a + b for a, b in zip(first.shared, second.shared, strict=True)),
        least if spread else 0,
    )


def changes_sign(values: Sequence[float]) -> bool:
    """Whether a curve is above zero at one point and below it at another."""
    return max(values) > EQUAL and min(values) < -EQUAL


def zeros(curve: MeanCurve) -> tuple[Zero, ...]:
    """Every place at which the mean changes its sign, lowest first.

    Neighbours whose bounds overlap cannot be told apart: of three the middle one is kept, of two none.
    """
    found = [_bounded(curve, at, rises) for at, rises in _sign_changes(curve)]
    if not curve.degrees:
        return tuple(found)
    groups: list[list[Zero]] = []
    for zero in found:
        before = groups[-1][-1] if groups else None
        if before is not None and (before.high is None or zero.at <= before.high):
            groups[-1].append(zero)
        else:
            groups.append([zero])
    return tuple(
        Zero(group[len(group) // 2].at, group[0].rises, group[0].low, group[-1].high)
        for group in groups
        if len(group) % 2
    )


def _sign_changes(curve: MeanCurve) -> list[tuple[float, bool]]:
    """(where, whether it rises): between points of opposite sign; in the middle of points that are zero."""
    signed = [index for index, value in enumerate(curve.mean) if abs(value) > EQUAL]
    found = []
    for i, j in pairwise(signed):
        before, after = curve.mean[i], curve.mean[j]
        if (before > 0) == (after > 0):
            continue
        if j == i + 1:
            share = before / (before - after)
            at = curve.at[i] + share * (curve.at[j] - curve.at[i])
        else:
            at = (curve.at[i + 1] + curve.at[j - 1]) / 2
        found.append((at, after > 0))
    return found


def _bounded(curve: MeanCurve, at: float, rises: bool) -> Zero:
    if not curve.degrees:
        return Zero(at, rises, None, None)
    below = _edge(curve.reversed(), -at)
    return Zero(at, rises, None if below is None else -below, _edge(curve, at))


def _edge(curve: MeanCurve, start: float) -> float | None:
    """The first place from `start`, where the mean is zero, at which it is told from zero; None where there is none.

    On each piece, mean^2 - t^2 variance is a parabola, so that its edges are roots. It is written around the place from
    which it is followed: at the crossing the mean is zero, and no rounding of it widens a narrow interval.
    """
    t = t_quantile(curve.degrees, CONFIDENCE) ** 2
    for index in range(len(curve.at) - 1):
        left, right = curve.at[index], curve.at[index + 1]
        if right <= start:
            continue
        (m0, m1), (v0, v1) = curve.mean[index : index + 2], curve.variance[index : index + 2]
        shared, slope = curve.shared[index], m1 - m0
        begin = max(0.0, (start - left) / (right - left))
        mean = 0.0 if left <= start else m0
        bend = v0 - 2 * shared + v1
        tilt = 2 * (shared - v0 + begin * bend)
        variance = v0 + begin * (2 * (shared - v0) + begin * bend)
        constant = mean * mean - t * variance
        if constant > 0:
            return max(left, start)
        edge = _rising_root(slope * slope - t * bend, 2 * mean * slope - t * tilt, constant)
        if edge is not None and edge <= 1 - begin:
            return left + (begin + edge) * (right - left)
    return None


def _rising_root(a: float, b: float, c: float) -> float | None:
    """The first x >= 0 where a x^2 + b x + c becomes positive; c is not."""
    if a == 0:
        return -c / b if b > 0 else None
    inside = b * b - 4 * a * c
    if inside < 0:
        return None
    # The stable form: no two numbers of like size are subtracted.
    q = -(b + math.copysign(math.sqrt(inside), b)) / 2
    roots = [q / a, *([c / q] if q else [])]
    rising = [root for root in roots if root >= 0 and ((slope := 2 * a * root + b) > 0 or (slope == 0 and a > 0))]
    return min(rising, default=None)
