"""Power of a planned number of launches: limits that are known, and what simulation gives."""

from __future__ import annotations

import math
import random
from statistics import fmean, stdev

import pytest
from scipy.special import stdtrit

from ledger.power import POWER, expected_power, launches_for, power


def test_a_difference_at_the_threshold_is_found_as_often_as_by_chance() -> None:
    assert power(5, 0.03, 1.05, 0.05) == pytest.approx(0.025)


def test_no_spread_finds_what_is_beyond_the_threshold_and_nothing_else() -> None:
    assert power(3, 0.0, 1.2, 0.05) == 1
    assert power(3, 0.0, 1.02, 0.05) == 0
    assert power(1, 0.0, 1.2, 0.05) == 0


def test_either_side_may_be_the_slower_one() -> None:
    assert power(5, 0.03, 1.2, 0.05) == pytest.approx(power(5, 0.03, 1 / 1.2, 0.05))


def test_more_launches_find_more() -> None:
    chances = [power(n, 0.04, 1.1, 0.05) for n in range(2, 30)]
    assert chances == sorted(chances)


def test_as_simulated() -> None:
    """2,000 paired t tests with a spread of 4 %, of a true difference of 10 % against a threshold of 5 %."""
    chance, n = random.Random(1), 6  # noqa: S311 (no secret is made)
    needed = float(stdtrit(n - 1, 0.975))
    hits = 0
    for _ in range(2000):
        logs = [chance.gauss(math.log(1.1), 0.04) for _ in range(n)]
        hits += fmean(logs) - needed * stdev(logs) / math.sqrt(n) > math.log(1.05)
    assert hits / 2000 == pytest.approx(power(n, 0.04, 1.1, 0.05), abs=0.035)


def test_a_pilot_that_may_err_asks_for_more_launches_than_a_spread_that_is_known() -> None:
    known = next(n for n in range(3, 100) if power(n, 0.04, 1.1, 0.05) >= POWER)
    few, many = launches_for(0.04, 4, 1.1, 0.05), launches_for(0.04, 200, 1.1, 0.05)
    assert few is not None
    assert many is not None
    assert few > many >= known
    assert many - known <= 1
    assert expected_power(few, 0.04, 4, 1.1, 0.05) >= POWER > expected_power(few - 1, 0.04, 4, 1.1, 0.05)


def test_what_no_number_of_launches_finds() -> None:
    assert launches_for(0.5, 5, 1.0501, 0.05) is None
