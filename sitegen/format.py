"""The one place where numbers become text for people.

Inside, times are seconds, sizes bytes, shares 0 to 1. Here they get the unit in which they are easy to read, with three
significant digits. A value that is not there is an en dash, never a zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

ABSENT = "–"
MINUS = "\N{MINUS SIGN}"
SIGNIFICANT = 3
LITTLE = 1e-3
"""Money below this is told by the million."""

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_SUFFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))


def _true_minus(text: Callable[[float | None], str]) -> Callable[[float | None], str]:
    """The same function with a true minus sign before negative values, as `difference` writes it."""

    @wraps(text)
    def signed(value: float | None) -> str:
        found = text(value)
        return found.replace("-", MINUS, 1) if found.startswith("-") else found

    return signed


@_true_minus
def number(value: float | None) -> str:
    """A plain number with three significant digits: `61.2`, `0.00123`, `12,300`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    rounded = float(f"{value:.{SIGNIFICANT}g}")
    decimals = max(0, SIGNIFICANT - 1 - math.floor(math.log10(abs(rounded))))
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:,.0f}"
    if decimals > 6 or abs(rounded) >= 1e15:
        return f"{rounded:.{SIGNIFICANT - 1}e}"
    return f"{rounded:,.{decimals}f}"


@_true_minus
def seconds(value: float | None) -> str:
    """A time given in seconds: `61.2 ms`, `3.40 s`, `12 min 5 s`, `2 h 3 min`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0 s"
    if abs(value) >= 120:
        return _clock(value)
    for index, (scale, unit) in enumerate(_SECONDS):
        rounded = float(f"{value / scale:.{SIGNIFICANT}g}")
        if abs(rounded) >= 1 or index == len(_SECONDS) - 1:
            return f"{_fixed(rounded)} {unit}"
    raise AssertionError("the last unit takes every value")


@_true_minus
def bytes_(value: float | None) -> str:
    """A size given in bytes, in binary units: `1.53 GiB`, `200 MiB`, `17 B`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    for scale, unit in _BYTES:
        rounded = float(f"{value / scale:.{SIGNIFICANT}g}")
        if abs(rounded) >= 1 and scale > 1:
            return f"{_fixed(rounded)} {unit}"
    return f"{value:,.0f} B"


@_true_minus
def share(value: float | None) -> str:
    """A share from 0 to 1 as a percentage: `12.3 %`, `5 %`, `100 %`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    percent = round(value * 100, 1)
    return f"{percent:.0f} %" if percent == round(percent) else f"{percent:.1f} %"


@_true_minus
def money(value: float | None) -> str:
    """An amount in the currency of the prices; very small ones by the million: `22.0 per million`, `0.15`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{number(value * 1e6)} per million" if 0 < abs(value) < LITTLE else number(value)


def ratio(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A ratio with two decimals, three where it is close to one: `0.70`, `1.42`, `0.997`.

    Beside an interval it gets as many decimals as the bounds.
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    return _ratio(value, _decimals(low, high, value))


@_true_minus
def times(value: float | None) -> str:
    """How many times as much: `1.42`, `1.04`, `12.3`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{value:.2f}" if abs(value) < 10 else number(value)


def value(amount: float | None, unit: str) -> str:
    """A value in a metric's base unit (`s`, `B`, `share`, `tokens/s`, `nats`, `USD`, …)."""
    if amount is None or not math.isfinite(amount):
        return ABSENT
    if unit == "s":
        return seconds(amount)
    if unit == "B":
        return bytes_(amount)
    if unit == "share":
        return share(amount)
    if unit in {"B/s", "byte/s", "bytes/s"}:
        return f"{bytes_(amount)}/s"
    if unit == "money":
        return money(amount)
    if unit in {"", "1", "count", "ratio", "level"}:
        return number(amount)
    return f"{_scaled(amount)} {unit}" if abs(amount) >= 1e6 else f"{number(amount)} {unit}"


def difference(amount: float | None, unit: str) -> str:
    """As `value`, with its sign: `+12.3 ms`, `−4.0 %`, `0 s`."""
    if amount is None or not math.isfinite(amount):
        return ABSENT
    text = value(abs(amount), unit)
    if amount == 0:
        return text
    return f"+{text}" if amount > 0 else f"{MINUS}{text}"


def interval(low: float | None, high: float | None, unit: str) -> str:
    """Two bounds in a metric's unit: `60.1 ms to 62.4 ms`."""
    if low is None or high is None:
        return ABSENT
    return f"{value(low, unit)} to {value(high, unit)}"


def ratios(low: float | None, high: float | None, center: float | None = None) -> str:
    """Two bounds of a ratio: `0.69 to 0.72`; as many decimals as it takes to tell them apart, up to five."""
    if low is None or high is None:
        return ABSENT
    decimals = _decimals(low, high, center)
    return f"{_ratio(low, decimals)} to {_ratio(high, decimals)}"


def count(amount: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: `1 launch`, `5 launches`."""
    many = plural or (f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s")
    return f"{amount:,} {noun if amount == 1 else many}"


def ordinal(place: int) -> str:
    """A place: `1st`, `2nd`, `3rd`, `11th`."""
    last = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{last}"


def _decimals(*values: float | None) -> int:
    """Decimals for ratios that stand side by side: enough for the one nearest to 1, and to tell them apart."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    least = 3 if any(abs(value - 1) < 0.095 for value in known) else 2
    bounds = {value for value in values[:2] if value is not None}
    for decimals in range(least, 5):
        if len({_ratio(value, decimals) for value in bounds}) == len(bounds):
            return decimals
    return 5 if len(bounds) > 1 else least


def _ratio(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if 0.1 <= abs(value) < 100 else number(value)


def _fixed(rounded: float) -> str:
    """Three significant digits of a number from 1 up to thousands, zeros kept: `3.40`, `61.2`, `869`."""
    if abs(rounded) < 1:
        return number(rounded)
    decimals = max(0, SIGNIFICANT - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}"


def _clock(value: float) -> str:
    sign, whole = ("-" if value < 0 else ""), round(abs(value))
    if whole < 7200:
        minutes, rest = divmod(whole, 60)
        return f"{sign}{minutes} min {rest} s" if rest else f"{sign}{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{sign}{hours:,} h {minutes} min" if minutes else f"{sign}{hours:,} h"


def _scaled(amount: float) -> str:
    for scale, suffix in _SUFFIXES:
        if abs(amount) >= scale:
            return f"{_fixed(float(f'{amount / scale:.{SIGNIFICANT}g}'))}{suffix}"
    return number(amount)
