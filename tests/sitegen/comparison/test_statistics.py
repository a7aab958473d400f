"""Intervals against hand-computed values and scipy.stats."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sitegen.comparison.statistics import (
    Interval,
    NoInterval,
    geometric_mean,
    paired_ratio,
    paired_ratio_of_means,
    ratio_of_differences,
    t_interval,
    unpaired_ratio,
    welch_interval,
    wilson_interval,
)

VALUES = st.lists(st.floats(0.001, 1000), min_size=2, max_size=12)
DISTINCT = st.lists(st.integers(1, 10_000), min_size=2, max_size=12, unique=True)


def _same(found: Interval | NoInterval, center: float, low: float, high: float) -> None:
    assert isinstance(found, Interval)
    assert (found.center, found.low, found.high) == pytest.approx((center, low, high), rel=1e-6)


def test_t_interval_of_a_textbook_sample():
    # mean 3, sd 1.5811, t(0.975, 4) = 2.776445: half width 1.963243
    _same(t_interval([1, 2, 3, 4, 5]), 3, 3 - 1.963243, 3 + 1.963243)


@given(DISTINCT, DISTINCT)
def test_welch_agrees_with_scipy(first: list[int], second: list[int]):
    expected = stats.ttest_ind(second, first, equal_var=False).confidence_interval()
    found = welch_interval(first, second)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("successes", "attempts"), [(5, 5), (0, 5), (3, 7), (99, 100)])
def test_wilson_agrees_with_scipy(successes: int, attempts: int):
    expected = stats.binomtest(successes, attempts).proportion_ci(method="wilson")
    _same(wilson_interval(successes, attempts), successes / attempts, expected.low, expected.high)


def test_five_of_five_launches_do_not_show_99_percent():
    found = wilson_interval(5, 5)
    assert isinstance(found, Interval)
    assert found.low == pytest.approx(0.5655, abs=1e-4)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=3, max_size=8))
def test_the_bounds_of_a_ratio_of_means_are_where_a_t_test_turns(pairs: list[tuple[float, float]]):
    """Fieller: a ratio r is inside when the mean of first - r * second may be zero."""
    found = paired_ratio_of_means(pairs)
    if isinstance(found, NoInterval):
        return
    for bound in (found.low, found.high):
        shifted = [first - bound * second for first, second in pairs]
        assert stats.ttest_1samp(shifted, 0).pvalue == pytest.approx(0.05, rel=1e-3)


def test_pairs_of_one_ratio_have_no_interval():
    found = paired_ratio_of_means([(1.0, 1.0), (2.0, 2.0), (2.0, 2.0)])
    assert found == NoInterval("all pairs have one ratio, so its spread is unknown", 1.0)
    assert isinstance(paired_ratio_of_means([(0.3, 0.1), (0.6, 0.2)]), NoInterval)


def test_a_ratio_of_differences_divides_two_instruments_by_hand():
    # Differences 4 and 8 with variances of the means 1/3 + 1/3 each; t(0.975, 2) = 4.302653, its square 18.51282.
    found = ratio_of_differences(([9, 10, 11], [5, 6, 7]), ([17, 18, 19], [9, 10, 11]))
    a, b, c = 64 - 18.51282 * 2 / 3, 32.0, 16 - 18.51282 * 2 / 3
    half = math.sqrt(b * b - a * c)
    _same(found, 0.5, (b - half) / a, (b + half) / a)


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([], "no value"),
        ([(1.0, 2.0)], "one pair has no spread"),
        ([(1.0, 2.0)] * 4, "all values are equal"),
        ([(1.0, 1.0), (1.1, -1.0), (0.9, 0.1)], "may be zero"),
        ([(1.0, 0.0), (2.0, 0.0)], "may be zero"),
    ],
)
def test_a_ratio_of_means_without_bounds_says_why(pairs: list[tuple[float, float]], why: str):
    found = paired_ratio_of_means(pairs)
    assert isinstance(found, NoInterval)
    assert why in found.reason


def test_a_paired_ratio_is_the_interval_of_log_ratios():
    blocks = [(1.0, 0.5), (2.0, 1.1), (4.0, 1.9)]
    logs = [math.log(b / a) for a, b in blocks]
    inside = stats.ttest_1samp(logs, 0).confidence_interval()
    center = geometric_mean([b for _, b in blocks]) / geometric_mean([a for a, _ in blocks])
    _same(paired_ratio(blocks), center, math.exp(inside.low), math.exp(inside.high))


@given(VALUES, VALUES)
def test_swapping_sides_inverts_the_ratio_and_its_bounds(first: list[float], second: list[float]):
    there, back = unpaired_ratio(first, second), unpaired_ratio(second, first)
    assert type(there) is type(back)
    if isinstance(there, Interval) and isinstance(back, Interval):
        assert (there.center, there.low, there.high) == pytest.approx((1 / back.center, 1 / back.high, 1 / back.low))


def test_equal_values_have_no_interval_and_say_so():
    assert t_interval([0.1, 0.1, 0.1]) == NoInterval(
        "all values are equal, so their spread is unknown", pytest.approx(0.1)
    )


def test_tiny_variances_do_not_underflow():
    assert isinstance(welch_interval([0, 1e-160, 2e-160], [0, 1e-160, 3e-160]), Interval)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_too_few_values_have_no_interval(values: list[float]):
    assert isinstance(t_interval(values), NoInterval)
