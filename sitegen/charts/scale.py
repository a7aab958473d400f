"""Axes: the unit that a range is shown in, round tick values, and the way from a value to a coordinate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sitegen.format import LITTLE

_STEPS = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "share": ((0.01, "%"),),
    "Hz": ((1e9, "GHz"), (1e6, "MHz"), (1.0, "Hz")),
}


@dataclass(frozen=True)
class Unit:
    """How an axis counts: values are divided by `factor` and labelled `name`."""

    factor: float
    name: str

    def __call__(self, value: float) -> float:
        """The value in this unit, rounded to what a drawing needs."""
        return float(f"{value / self.factor:.6g}")


@dataclass(frozen=True)
class Axis:
    """A line from coordinate `start` to `end` for values from `low` to `high`, with round ticks inside."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The coordinate of `value`, to a tenth of a unit."""
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(coordinate, label) of each round value in the range."""
        step = _round_step((self.high - self.low) / 5)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(self.at(number * step), f"{number * step:,.{decimals}f}") for number in range(first, last + 1)]


def unit_for(values: Iterable[float], unit: str) -> Unit:
    """The unit in which the largest of `values` reads well."""
    largest = max((abs(value) for value in values), default=0.0)
    if unit == "money":
        return Unit(1e-6, "per million") if 0 < largest < LITTLE else Unit(1.0, "the prices' currency")
    steps = _STEPS.get(unit, ((1.0, unit),))
    return next((Unit(factor, name) for factor, name in steps if largest >= factor), Unit(*steps[-1]))


def padded(values: list[float], share: float = 0.12) -> tuple[float, float]:
    """The range of `values` with some air on both sides; never empty."""
    low, high = min(values), max(values)
    air = (high - low) * share or abs(high) * 0.05 or 1.0
    return low - air, high + air


def _round_step(rough: float) -> float:
    power = float(10 ** math.floor(math.log10(rough)))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
