"""How far two samples of one quantity are apart: as distributions, not only in their means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def wasserstein(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float:
    """The first Wasserstein (earth mover's) distance, in the quantity's own unit.

    It is the area between the two cumulative distributions: the least mean distance by which values of one sample must
    be moved so that they lie as the other's. Raises ValueError for an empty sample.
    """
    places, a, b = _cumulative(first, second)
    return float((np.abs(a - b)[:-1] * np.diff(places)).sum())


def kolmogorov_smirnov(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float:
    """The two-sample Kolmogorov-Smirnov statistic: the widest gap between the cumulative distributions, 0 to 1.

    Raises ValueError for an empty sample.
    """
    _, a, b = _cumulative(first, second)
    return float(np.abs(a - b).max())


def _cumulative(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> tuple[Floats, Floats, Floats]:
    """All values in order, and the share of each sample that lies at or below each of them."""
    samples = [np.sort(np.asarray(each, dtype=np.float64)) for each in (first, second)]
    if not all(len(each) for each in samples):
        raise ValueError("a sample without values has no distribution")
    places = np.sort(np.concatenate(samples))
    a, b = (np.searchsorted(each, places, side="right") / len(each) for each in samples)
    return places, a, b
