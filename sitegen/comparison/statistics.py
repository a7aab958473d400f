"""Intervals, as pure functions of numbers. The unit of replication is the launch; every interval is two-sided.

Shown is always the 95 % interval. Launches that are added until something is found would find it by chance more often
than in 5 % of cases, so that a verdict is read off an interval of a higher level, which `look_level` gives: each look
spends its share of the 5 %, whatever the looks before it found.

Only quantiles come from scipy (`scipy.special`, which loads quickly); the formulas are the textbook ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy.special import ndtri, stdtrit

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""Values that differ by less, as a share of themselves, are equal."""


@dataclass(frozen=True)
class Interval:
    """A point estimate between its bounds."""

    center: float
    low: float
    high: float


@dataclass(frozen=True)
class NoInterval:
    """Why there is none; `center` is the point estimate where there is at least that."""

    reason: str
    center: float | None = None


def look_level(now: float, before: float = 0.0) -> float:
    """The confidence of the interval that a look is judged by.

    `now` and `before` are the launches made at this look and at the one before, as shares of the most that may be made.
    The error of 5 % is spent as ln(1 + (e - 1) t) by the share t (Lan and DeMets' form of Pocock's boundary), and what
    the looks spend is added up as if they had nothing to do with each other, which errs on the safe side.
    """
    spent = _spent(now) - _spent(before)
    return 1 - (1 - CONFIDENCE) * max(spent, 0.0)


def _spent(share: float) -> float:
    return math.log1p((math.e - 1) * min(max(share, 0.0), 1.0))


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | NoInterval:
    """Student's t interval for the mean of `values`."""
    if not values:
        return NoInterval("no value")
    center = fmean(values)
    if len(values) < 2:
        return NoInterval("one value has no spread", center)
    variance = _variance(values, center)
    if variance == 0:
        return NoInterval("all values are equal, so their spread is unknown", center)
    half = t_quantile(len(values) - 1, confidence) * math.sqrt(variance / len(values))
    return Interval(center, center - half, center + half)


def welch_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE
) -> Interval | NoInterval:
    """Welch's t interval for mean(second) - mean(first), with Satterthwaite's degrees of freedom."""
    if not first or not second:
        return NoInterval("a side has no value")
    center = fmean(second) - fmean(first)
    if len(first) < 2 or len(second) < 2:
        return NoInterval("one value has no spread", center)
    a, b = (_variance(values, fmean(values)) / len(values) for values in (first, second))
    if a + b == 0:
        return NoInterval("all values of each side are equal, so their spread is unknown", center)
    # As shares of the sum: the textbook form underflows to 0/0 for variances below 1e-154.
    p, q = a / (a + b), b / (a + b)
    degrees = 1 / (p * p / (len(first) - 1) + q * q / (len(second) - 1))
    half = t_quantile(degrees, confidence) * math.sqrt(a + b)
    return Interval(center, center - half, center + half)


def wilson_interval(successes: float, attempts: int) -> Interval | NoInterval:
    """Wilson's score interval for a proportion; `center` is the plain proportion."""
    if attempts == 0:
        return NoInterval("nothing was attempted")
    z = float(ndtri((1 + CONFIDENCE) / 2))
    share = successes / attempts
    spread = 1 + z * z / attempts
    middle = (share + z * z / (2 * attempts)) / spread
    half = z / spread * math.sqrt(share * (1 - share) / attempts + z * z / (4 * attempts * attempts))
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == attempts else middle + half
    return Interval(share, low, high)


def paired_ratio(blocks: Sequence[tuple[float, float]], confidence: float = CONFIDENCE) -> Interval | NoInterval:
    """Ratio second / first with a t interval on the log ratios of the blocks. Every value must be positive."""
    return _exponential(t_interval([math.log(second) - math.log(first) for first, second in blocks], confidence))


def unpaired_ratio(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE
) -> Interval | NoInterval:
    """Ratio of geometric means second / first with Welch's interval on logarithms. Every value must be positive."""
    return _exponential(welch_interval([math.log(v) for v in first], [math.log(v) for v in second], confidence))


def paired_ratio_of_means(pairs: Sequence[tuple[float, float]]) -> Interval | NoInterval:
    """mean(first) / mean(second) with Fieller's 95 % interval; the two values of a pair were measured together."""
    if not pairs:
        return NoInterval("no value")
    top, bottom = [first for first, _ in pairs], [second for _, second in pairs]
    n, means = len(pairs), (fmean(top), fmean(bottom))
    if n < 2:
        return _ratio_alone(*means, "one pair has no spread")
    together = math.fsum((a - means[0]) * (b - means[1]) for a, b in pairs) / (n - 1) / n
    return _fieller(*means, _variance(top, means[0]) / n, together, _variance(bottom, means[1]) / n, n - 1)


def ratio_of_differences(
    top: tuple[Sequence[float], Sequence[float]], bottom: tuple[Sequence[float], Sequence[float]]
) -> Interval | NoInterval:
    """(mean(top[0]) - mean(top[1])) / the same of `bottom`, with Fieller's 95 % interval.

    The four groups are taken as measured apart from each other; the smallest gives the degrees of freedom, which errs
    on the safe side.
    """
    groups = (*top, *bottom)
    if not all(groups):
        return NoInterval("a side has no value")
    differences = fmean(top[0]) - fmean(top[1]), fmean(bottom[0]) - fmean(bottom[1])
    least = min(map(len, groups))
    if least < 2:
        return _ratio_alone(*differences, "one value has no spread")
    spread = [math.fsum(_variance(each, fmean(each)) / len(each) for each in pair) for pair in (top, bottom)]
    return _fieller(*differences, spread[0], 0.0, spread[1], least - 1)


def _ratio_alone(top: float, bottom: float, why: str) -> NoInterval:
    return NoInterval(why, top / bottom if bottom else None)


def _fieller(
    top: float, bottom: float, top_variance: float, covariance: float, bottom_variance: float, degrees: float
) -> Interval | NoInterval:
    """Bounds of top / bottom: all ratios r for which top - r bottom may be zero. Variances are those of the means."""
    if top_variance == bottom_variance == 0:
        return _ratio_alone(top, bottom, "all values are equal, so their spread is unknown")
    t = t_quantile(degrees, CONFIDENCE) ** 2
    a, b, c = bottom**2 - t * bottom_variance, top * bottom - t * covariance, top**2 - t * top_variance
    if a <= 0:
        return _ratio_alone(top, bottom, "the difference to divide by may be zero")
    squared = b * b - a * c
    if squared <= ROUNDING * b * b:
        return _ratio_alone(top, bottom, "all pairs have one ratio, so its spread is unknown")
    half = math.sqrt(squared)
    return Interval(top / bottom, (b - half) / a, (b + half) / a)


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean of positive values."""
    return math.exp(fmean(math.log(value) for value in values))


def _exponential(found: Interval | NoInterval) -> Interval | NoInterval:
    if isinstance(found, NoInterval):
        return NoInterval(found.reason, None if found.center is None else _exp(found.center))
    low, high = _exp(found.low), _exp(found.high)
    if not (math.isfinite(high) and low > 0):
        return NoInterval("the values spread too far for a ratio to have bounds", _exp(found.center))
    return Interval(_exp(found.center), low, high)


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def _variance(values: Sequence[float], center: float) -> float:
    """Sample variance; 0 when the values differ by no more than rounding does."""
    if max(values) - min(values) <= ROUNDING * max(abs(value) for value in values):
        return 0.0
    return math.fsum((value - center) ** 2 for value in values) / (len(values) - 1)


def t_quantile(degrees: float, confidence: float) -> float:
    """Student's t for a two-sided interval of this confidence."""
    return float(stdtrit(degrees, (1 + confidence) / 2))
