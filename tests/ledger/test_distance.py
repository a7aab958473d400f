"""Distances between samples: worked out by hand, and the laws that every distance keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.distance import kolmogorov_smirnov, wasserstein

SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("first", "second", "moved", "apart"),
    [
        ([1, 2, 3], [1, 2, 3], 0.0, 0.0),
        ([0], [5], 5.0, 1.0),
        ([0, 1, 3], [5, 6, 8], 5.0, 1.0),
        ([0, 0, 1, 1], [0, 1], 0.0, 0.0),
        ([0, 10], [0, 0], 5.0, 0.5),
        ([1, 2, 3, 4], [2, 3, 4, 5], 1.0, 0.25),
        ([0, 0, 0, 4], [0, 4, 4, 4], 2.0, 0.5),
    ],
)
def test_by_hand(first: list[float], second: list[float], moved: float, apart: float) -> None:
    assert wasserstein(first, second) == pytest.approx(moved)
    assert kolmogorov_smirnov(first, second) == pytest.approx(apart)


@given(SAMPLES, SAMPLES)
def test_symmetric_and_never_less_than_the_means_difference(first: list[float], second: list[float]) -> None:
    found = wasserstein(first, second)
    assert found == pytest.approx(wasserstein(second, first), rel=1e-9, abs=1e-6)
    assert found >= abs(np.mean(first) - np.mean(second)) - 1e-6
    assert 0 <= kolmogorov_smirnov(first, second) <= 1


@given(SAMPLES, st.floats(-1e3, 1e3))
def test_a_shift_moves_by_itself(values: list[float], by: float) -> None:
    assert wasserstein(values, [each + by for each in values]) == pytest.approx(abs(by), rel=1e-6, abs=1e-6)


def test_a_sample_without_values_has_no_distance() -> None:
    with pytest.raises(ValueError, match="without values"):
        wasserstein([], [1])
