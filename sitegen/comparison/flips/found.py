"""What was found about where the order of two sides turns round: a part of the verdict, which decides nothing.

Times are seconds, sizes bytes, shares 0 to 1. A value that is not there is None beside the reason for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ALIKE = 1e-9
"""Relative difference of two amounts of money, or of two numbers of machines, that is rounding."""


@dataclass(frozen=True)
class Crossing:
    """Where the side that is better changes."""

    at: float
    low: float | None
    """Lower bound of the 95 % interval; None where it is open: the sides are not told apart at the lowest point."""
    high: float | None
    below: str
    """The stack that is better below."""
    above: str


@dataclass(frozen=True)
class Point:
    """Both sides at one load or at one length."""

    at: float
    baseline: float | None
    """Geometric mean over the launches; None where a launch lacks a value."""
    candidate: float | None
    ratio: float | None
    """Candidate / baseline, with its 95 % interval; None where the point is no part of the curve."""
    low: float | None
    high: float | None
    absent: str | None = None
    """Why the point is no part of the curve."""
    note: str = ""
    """What the point stands for: `4 to 9 tokens, 21 requests a launch at the least`."""


@dataclass(frozen=True)
class Curve:
    """One metric of both sides over load or length, and where it crosses."""

    metric: str
    title: str
    unit: str
    lower_is_better: bool
    over: str
    """`load`, `input` or `output`."""
    over_unit: str
    """`requests/s`, `tokens`."""
    points: tuple[Point, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    better: str | None = None
    """The stack that is better at every point; None where that changes, or where both are equal everywhere."""
    compared: int = 0
    """Pairs of launches side by side; 0 where launches were not interleaved."""
    crossing: int = 0
    """Those in which the order changes between the points."""
    threshold: float | None = None
    """The smallest relative difference that was declared to matter: of the objective; None for any other metric."""
    method: str = ""
    """How bounds were made, in words."""
    no_bounds: str | None = None
    """Why crossings have no bounds."""
    absent: str | None = None
    """Why there is no curve."""


@dataclass(frozen=True)
class Held:
    """The highest load up to which one side holds the limits that a load can break."""

    stack: str
    unit: str
    """`requests/s`, `requests in flight`, `times production's rate`."""
    load: float | None
    """Geometric mean over launches; None where a launch broke no limit at what was driven, or held none."""
    low: float | None
    """95 % interval."""
    high: float | None
    least: float | None
    """What each launch held: the lowest of them."""
    most: float | None
    """The highest level that was driven."""
    launches: int
    held_all: int
    """Launches that held every driven level."""
    held_none: int
    """Launches that did not even hold the lowest."""
    breaks: str | None
    """What broke first, in most launches: a metric, or `achieved_load`."""
    basis: str
    absent: str | None = None


@dataclass(frozen=True)
class PriceFlip:
    """How much dearer the side that is cheaper by the result could become until both cost the same."""

    cheaper: str
    dearer: str
    factor: float
    """Times its price of today."""
    low: float | None
    high: float | None
    amount: float | None
    """That price; None where more than one thing is charged for."""
    amount_low: float | None
    amount_high: float | None
    currency: str | None
    per: str | None
    """What the price is for: `node_hour`."""
    absent: str | None = None
    """Why there is no interval."""


@dataclass(frozen=True)
class Amount:
    """One metric of one side at the stated demand: lowest and highest of its timed launches."""

    low: float | None
    high: float | None
    missing: str | None


@dataclass(frozen=True)
class DemandRow:
    """One metric of both sides at the stated demand."""

    metric: str
    title: str
    unit: str
    baseline: Amount
    candidate: Amount


@dataclass(frozen=True)
class Fleet:
    """What one side's machines carry and cost."""

    stack: str
    carries: float
    """Requests a day of one machine, its slowest launch taken."""
    monthly: float
    """Price of one machine's month."""

    def machines(self, demand: float) -> int:
        """Whole machines for a demand in requests a day, at least one."""
        return max(1, math.ceil(demand / self.carries - ALIKE))

    def cost(self, demand: float) -> float:
        """A month of them."""
        return self.machines(demand) * self.monthly


@dataclass(frozen=True)
class Stretch:
    """Demands, in requests a day, between which the same side costs less, or neither does."""

    start: float
    end: float
    cheaper: str | None


@dataclass(frozen=True)
class AtDemand:
    """What the demand that the benchmark states costs on each side, in whole machines."""

    requests_per_day: float
    peak_factor: float
    horizon_s: float
    currency: str
    sweeps: bool
    """Whether levels of load were driven, so that a machine's capacity is known."""
    rows: tuple[DemandRow, ...]
    fleets: tuple[Fleet, ...]
    """Baseline and candidate; empty where a machine is not paid by the hour alone, or a value is not there."""
    stretches: tuple[Stretch, ...]
    """From no demand to the highest that was looked at, without a gap."""


@dataclass(frozen=True)
class Flips:
    """Where the order of the two sides turns round, by load, length, price and demand."""

    load: tuple[Curve, ...] = ()
    load_absent: str | None = None
    """Why nothing is told by load."""
    held: tuple[Held, ...] = ()
    length: tuple[Curve, ...] = ()
    length_absent: str | None = None
    price: PriceFlip | None = None
    price_absent: str | None = None
    demand: AtDemand | None = None
