"""How many launches a difference takes to be found, from the spread that a pilot shows. Planning, not judging."""

from __future__ import annotations

import math

from scipy.special import chdtri, nctdtr, stdtrit

POWER = 0.8
"""Chance of finding a difference that is there, from which a number of launches counts as enough."""
MOST = 1000
_STEPS = 40


def power(launches: int, spread: float, ratio: float, threshold: float, level: float = 0.95) -> float:
    """The chance that the interval of `launches` interleaved blocks clears the threshold, 0 to 1.

    `spread` is the standard deviation of a block's log ratio, `ratio` the true ratio of the two sides (either way
    round), `threshold` the least relative difference that matters, `level` the interval's confidence. Source: the
    noncentral t distribution of a paired t test.
    """
    if launches < 2:
        return 0.0
    beyond = abs(math.log(ratio)) - math.log1p(threshold)
    if spread <= 0:
        return float(beyond > 0)
    needed = float(stdtrit(launches - 1, (1 + level) / 2))
    shift = beyond * math.sqrt(launches) / spread
    return 1 - float(nctdtr(launches - 1, shift, needed))


def expected_power(
    launches: int, spread: float, pilot: int, ratio: float, threshold: float, level: float = 0.95
) -> float:
    """As `power`, where the spread is that of a pilot of `pilot` blocks and so is not known for sure.

    The mean over what the true spread may be: its square is the pilot's times pilot - 1 over a chi-square value.
    """
    degrees = pilot - 1
    shares = [(step + 0.5) / _STEPS for step in range(_STEPS)]
    spreads = [spread * math.sqrt(degrees / float(chdtri(degrees, share))) for share in shares]
    return sum(power(launches, each, ratio, threshold, level) for each in spreads) / _STEPS


def launches_for(spread: float, pilot: int, ratio: float, threshold: float, level: float = 0.95) -> int | None:
    """The fewest launches a side, at least 3, that find the difference with `POWER`; None where it takes `MOST`.

    `spread` is the standard deviation of the log ratios of `pilot` blocks.
    """
    low, high = 2, 3
    while expected_power(high, spread, pilot, ratio, threshold, level) < POWER:
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = expected_power(middle, spread, pilot, ratio, threshold, level) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high
