"""Where mean curves cross zero and between which bounds: exact crossings, open bounds, symmetry, and coverage."""

from __future__ import annotations

import math
import random
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from sitegen.comparison.flips.crossing import Zero, changes_sign, difference, mean_curve, zeros
from tests.performance.crossing_simulation import AT, covered

X = [0.0, 1.0, 2.0, 3.0]


def told(at: float, curves: list[list[float]]) -> bool:
    """Whether a t test at 5 % tells the mean of the curves at a place from zero: the definition, done plainly."""
    values = []
    for curve in curves:
        index = min(int(at), len(X) - 2)
        values.append(curve[index] + (at - index) * (curve[index + 1] - curve[index]))
    t = abs(fmean(values)) / (stdev(values) / math.sqrt(len(values)))
    return t > stdtrit(len(values) - 1, 0.975)


def test_a_planted_crossing_is_found_exactly() -> None:
    """The lines x - 1.5 + e with e = -0.1, 0, 0.1: the mean crosses at 1.5, its standard error is 0.1 / sqrt(3)."""
    curves = [[x - 1.5 + e for x in X] for e in (-0.1, 0.0, 0.1)]
    (zero,) = zeros(mean_curve(X, curves))
    half = stdtrit(2, 0.975) * 0.1 / math.sqrt(3)
    assert (zero.at, zero.low, zero.high) == pytest.approx((1.5, 1.5 - half, 1.5 + half))
    assert zero.rises


def test_bounds_reach_over_points_and_are_where_the_t_test_changes_its_mind() -> None:
    curves = [[-1.0, -0.2, 0.3, 0.9], [-0.7, -0.4, 0.1, 1.1], [-1.2, 0.1, 0.6, 0.8], [-0.9, -0.1, -0.1, 1.3]]
    (zero,) = zeros(mean_curve(X, curves))
    assert zero.low is not None
    assert zero.high is not None
    assert 0 < zero.low < 1 < zero.at < 2 < zero.high < 3
    assert told(zero.low - 1e-6, curves)
    assert not told(zero.low + 1e-6, curves)
    assert not told(zero.high - 1e-6, curves)
    assert told(zero.high + 1e-6, curves)


def test_parallel_curves_do_not_cross() -> None:
    assert zeros(mean_curve(X, [[0.3 + e] * 4 for e in (-0.1, 0, 0.1)])) == ()


def test_a_launch_without_a_crossing_counts_for_the_bounds() -> None:
    """Four lines cross at 1; one that stays below zero pulls the mean's crossing up and opens the upper bound."""
    crossing = [[x - 1.0 + e for x in X] for e in (-0.01, 0.0, 0.01, 0.02)]
    without = [-4.0, -3.5, -3.0, -2.5]
    alone, joined = zeros(mean_curve(X, crossing))[0], zeros(mean_curve(X, [*crossing, without]))[0]
    assert alone.high is not None
    assert joined.at > alone.at
    assert joined.high is None
    assert not changes_sign(without)
    assert all(changes_sign(curve) for curve in crossing)


def test_where_the_sides_are_nowhere_told_apart_both_bounds_are_open() -> None:
    (zero,) = zeros(mean_curve(X, [[-0.1, 0.0, 0.1, 0.1], [2.0, 2.0, 2.0, 2.0], [-2.1, -2.1, -2.0, -1.9]]))
    assert (zero.low, zero.high) == (None, None)


def test_three_crossings_close_together_are_one_and_two_are_none() -> None:
    noise = (-1.0, 0.0, 1.0)
    three = [[-50.0 + e, 0.1 + e, -0.1 + e, 50.0 + e] for e in noise]
    (zero,) = zeros(mean_curve(X, three))
    assert 1 < zero.at < 2
    assert zero.rises
    assert zeros(mean_curve(X, [[50.0 + e, -0.1 + e, 50.0 + e, 50.0 + e] for e in noise])) == ()
    two = zeros(mean_curve(X, [[50.0 + e / 10, -30.0 + e / 10, 50.0 + e / 10, 50.0 + e / 10] for e in noise]))
    assert [each.rises for each in two] == [False, True]


def test_no_spread_gives_no_bounds() -> None:
    assert zeros(mean_curve(X, [[-1.0, 1.0, 1.0, 1.0]] * 3)) == (Zero(0.5, True, None, None),)
    assert zeros(mean_curve(X, [[-1.0, 1.0, 1.0, 1.0]])) == (Zero(0.5, True, None, None),)


@pytest.mark.parametrize("spread", [1e-11, 1e-10, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("at", [0.1, 1 / 3, 0.5, 0.7, 1.0, 1.9])
def test_almost_no_spread_gives_almost_no_width(spread: float, at: float) -> None:
    """As clocks give that count whole nanoseconds: rounding must not move a bound to the next point."""
    curves = [[x - at + e for x in X] for e in (-spread, 0.0, spread)]
    (zero,) = zeros(mean_curve(X, curves))
    half = stdtrit(2, 0.975) * spread / math.sqrt(3)
    assert (zero.low, zero.high) == pytest.approx((at - half, at + half), abs=1e-9)


def test_launches_that_agree_only_where_they_cross() -> None:
    """All are zero at 1: away from it they differ by less than the mean (told at once), or by more (never told)."""
    fans = [[slope * (x - 1) for x in X] for slope in (0.9, 1.0, 1.1)]
    assert zeros(mean_curve(X, fans)) == (Zero(1.0, True, 1.0, 1.0),)
    wide = [[slope * (x - 1) for x in X] for slope in (-2.0, 1.0, 4.0)]
    assert zeros(mean_curve(X, wide)) == (Zero(1.0, True, None, None),)


def test_points_that_are_equal_on_both_sides_are_crossed_in_their_middle() -> None:
    assert zeros(mean_curve(X, [[-1.0, 0.0, 0.0, 1.0]])) == (Zero(1.5, True, None, None),)
    assert zeros(mean_curve(X, [[1.0, 0.0, 0.0, 1.0]])) == ()


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(2, 8))
def test_swapped_sides_and_a_reversed_axis_give_the_same_places(seed: int, launches: int, points: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (no secret is made)
    at = [float(n) for n in range(points)]
    first, second = ([[chance.gauss(0, 1) for _ in at] for _ in range(launches)] for _ in range(2))
    found = zeros(difference(mean_curve(at, first), mean_curve(at, second)))
    swapped = zeros(difference(mean_curve(at, second), mean_curve(at, first)))
    for each, other in zip(found, swapped, strict=True):
        assert (other.at, other.low, other.high) == pytest.approx((each.at, each.low, each.high))
    assert [each.rises for each in swapped] == [not each.rises for each in found]
    for each in found:
        assert each.low is None or each.low <= each.at
        assert each.high is None or each.at <= each.high
    mirrored = zeros(difference(mean_curve(at, first), mean_curve(at, second)).reversed())
    assert [-each.at for each in mirrored[::-1]] == pytest.approx([each.at for each in found])


@pytest.mark.parametrize("paired", [True, False])
def test_bounds_hold_the_planted_crossing_in_95_of_100_comparisons(paired: bool) -> None:
    """A fixed seed, so that it gives the same each time; 1,000 comparisons have a standard error of 0.7 points."""
    chance = random.Random(20261207)  # noqa: S311 (no secret is made)
    share = sum(covered(chance, paired=paired) for _ in range(1000)) / 1000
    assert 0.93 <= share <= (0.97 if paired else 1.0)
    assert len(AT) > 2
