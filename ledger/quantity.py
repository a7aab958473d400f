"""Quantities as people write them, read into the base units used everywhere inside.

Times are seconds, sizes bytes, shares 0 to 1. Formatting for people is the site's business (`sitegen.format`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
BYTES = {
    "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
SHARES = {"%": 0.01}

_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµ%/]*)\s*")
_LIMIT = re.compile(r"\s*(<=|>=|<|>)\s*(.+)")


def _parse(value: Any, units: dict[str, float] | dict[str, int], what: str) -> float:
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        unit = match[2]
        if unit and unit not in units:
            raise ValueError(f"must be {what}, got the unit {unit!r} (known: {', '.join(units)})")
        number = float(match[1]) * (units[unit] if unit else 1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < _ABSURD else math.inf
    else:
        raise ValueError(f"must be {what}, got {shown(value)}")
    if not math.isfinite(number):
        raise ValueError(f"must be {what}, and finite, got {shown(value)}")
    return number


_ABSURD = 1e300
"""What is larger, such as an integer of thousands of digits, is no number here."""


def shown(value: Any) -> str:
    """A value as an error message quotes it: as YAML writes it, and not too long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more than 40 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def duration(text: Any) -> float:
    """Seconds from `10 min`, `500 ms` or a bare number of seconds. Raises ValueError."""
    return _parse(text, SECONDS, "a duration such as '10 min'")


def size(text: Any) -> int:
    """Bytes from `2 GiB`, `500 MB` or a bare number of bytes. Raises ValueError."""
    return round(_parse(text, BYTES, "a size such as '2 GiB'"))


def share(text: Any) -> float:
    """A share from `5%` or `0.05`. Raises ValueError."""
    return _parse(text, SHARES, "a share such as '5%'")


def number(text: Any) -> float:
    """A finite number; YAML reads `1e-3` as text, so that text which is a number is one too. Raises ValueError."""
    return _parse(text, {}, "a number")


def whole(value: Any) -> int:
    """A whole number, and neither text nor true. Raises ValueError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"must be a whole number, got {shown(value)}")
    return value


def factor(written: str, unit: str) -> float:
    """What a number in the unit `written` is times, to be one in the base unit `unit`. Raises ValueError."""
    if written == unit:
        return 1.0
    known: dict[str, dict[str, float]] = {"s": SECONDS, "B": {**BYTES}, "share": SHARES}
    if written not in known.get(unit, {}):
        others = ", ".join(known.get(unit, {})) or unit
        raise ValueError(f"must be a unit of {unit} ({others}), got {shown(written)}")
    return float(known[unit][written])


@dataclass(frozen=True)
class Limit:
    """One side of an envelope: a metric's value must be `<=`, `<`, `>=` or `>` this bound, in base units."""

    operator: str
    bound: float

    def allows(self, value: float) -> bool:
        """Whether `value` is inside the limit."""
        return {
            "<=": value <= self.bound,
            "<": value < self.bound,
            ">=": value >= self.bound,
            ">": value > self.bound,
        }[self.operator]

    def excess(self, value: float) -> float:
        """How far `value` is outside, as a share of the bound (of 1 for a bound of 0); 0 inside."""
        return 0.0 if self.allows(value) else max(abs(value - self.bound) / (abs(self.bound) or 1.0), 1e-9)

    @property
    def is_upper(self) -> bool:
        """True for `<=` and `<`."""
        return self.operator.startswith("<")


def limit(text: Any) -> Limit:
    """A limit from `<= 500 ms`, `>= 99%` or `< 2 GiB`. Raises ValueError."""
    match = _LIMIT.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"must be a limit such as '<= 500 ms', got {shown(text)}")
    return Limit(match[1], _parse(match[2], {**SECONDS, **BYTES, **SHARES}, "a number with a unit of time, size or %"))


def base_unit(limit_text: str) -> str | None:
    """The base unit (`s`, `B`, `share`) that a limit is written in; None for a bare number."""
    match = _NUMBER.fullmatch(limit_text.lstrip(" <>="))
    written = match[2] if match else ""
    known = {"s": set(SECONDS), "B": set(BYTES), "share": set(SHARES)}
    return next((base for base, units in known.items() if written in units), None)
