"""Quantities as people write them, read into the base units used everywhere inside.

Times are seconds, sizes bytes, shares 0 to 1. Formatting for people is the site's business (`sitegen.format`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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


def _parse(text: str | int | float, units: dict[str, float] | dict[str, int], what: str) -> float:
    if isinstance(text, bool):
        raise ValueError(f"must be {what}, got {text}")
    if isinstance(text, int | float):
        return float(text)
    match = _NUMBER.fullmatch(text)
    if not match:
        raise ValueError(f"must be {what}, got {text!r}")
    number, unit = float(match[1]), match[2]
    if not unit:
        return number
    if unit not in units:
        raise ValueError(f"must be {what}, got the unit {unit!r} (known: {', '.join(units)})")
    return number * units[unit]


def duration(text: str | int | float) -> float:
    """Seconds from `10 min`, `500 ms` or a bare number of seconds. Raises ValueError."""
    return _parse(text, SECONDS, "a duration such as '10 min'")


def size(text: str | int | float) -> int:
    """Bytes from `2 GiB`, `500 MB` or a bare number of bytes. Raises ValueError."""
    return round(_parse(text, BYTES, "a size such as '2 GiB'"))


def share(text: str | int | float) -> float:
    """A share from `5%` or `0.05`. Raises ValueError."""
    return _parse(text, SHARES, "a share such as '5%'")


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

    @property
    def is_upper(self) -> bool:
        """True for `<=` and `<`."""
        return self.operator.startswith("<")


def limit(text: str) -> Limit:
    """A limit from `<= 500 ms`, `>= 99%` or `< 2 GiB`. Raises ValueError."""
    match = _LIMIT.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"must be a limit such as '<= 500 ms', got {text!r}")
    return Limit(match[1], _parse(match[2], {**SECONDS, **BYTES, **SHARES}, "a number with a unit of time, size or %"))
