"""Numbers as published files hold them: text with a unit, percent, and the many ways to write that there is none."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from ledger import quantity

NOTHING = frozenset({"", "n/a", "na", "tbd", "none", "null", "unknown", "-", "nan"})
"""Texts that stand for no value, in lower case."""
_MOST = 2**53
"""No count of anything is larger, and no whole number beyond it is told apart from the next."""
_TEXT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµ%][\w%/]*)?\s*")


@dataclass(frozen=True)
class Absent:
    """Why there is no value."""

    reason: str


def is_nothing(value: Any) -> bool:
    """Whether a published field stands for nothing: null, `""`, `[null]`, `N/A`, `TBD`, NaN, an empty object."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    if isinstance(value, str):
        return value.strip().lower() in NOTHING
    parts = value.values() if isinstance(value, dict) else value
    return isinstance(value, list | dict) and all(is_nothing(each) for each in parts)


def known(value: Any) -> Any:
    """`value`, None where it stands for nothing; texts without white space around them."""
    if is_nothing(value):
        return None
    return value.strip() if isinstance(value, str) else value


def text(value: Any) -> str | None:
    """A name or version; None where there is none, or where something stands that is no single value."""
    value = known(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def number(raw: Any, unit: str, base: str, *, signed: bool = False) -> float | Absent:
    """A published number, written in `unit`, in the base unit. A unit in its own text counts before `unit`.

    A negative number is no value unless `signed`: -1 is how many tools write that there is none.
    """
    if is_nothing(raw):
        return Absent("the source has none" if raw is None else f"the source has none ({quantity.shown(raw)})")
    written = raw
    if isinstance(raw, str):
        match = _TEXT.fullmatch(raw)
        if match is None:
            return Absent(f"{quantity.shown(raw)} is not a number")
        written, unit = float(match[1]), match[2] or unit
    if isinstance(written, bool) or not isinstance(written, int | float):
        return Absent(f"{quantity.shown(raw)} is not a number")
    if isinstance(written, int) and abs(written) > 10**300:
        return Absent(f"{quantity.shown(raw)} is not a number")
    if not math.isfinite(written):
        return Absent(f"the source has none ({quantity.shown(raw)})")
    if written < 0 and not signed:
        return Absent(f"{written:g} there stands for nothing" if written == -1 else f"{written:g}: cannot be negative")
    try:
        found = float(written) * factor(unit, base)
    except ValueError as error:
        return Absent(f"{quantity.shown(raw)}: {error}")
    if not math.isfinite(found):
        return Absent(f"{quantity.shown(raw)} is not a number")
    if base == "share" and found > 1:
        return Absent(f"{100 * found:g} % cannot be true: its inputs are wrong")
    return found


def factor(written: str, base: str) -> float:
    """What a number in the unit `written` is times, to be one in `base`; rates (`GB/s`) too. Raises ValueError."""
    if written == base:
        return 1.0
    if written.endswith("/s") and base.endswith("/s"):
        return quantity.factor(written[:-2], base[:-2])
    return quantity.factor(written, base)


def whole(value: Any) -> int | None:
    """A count from a number or its text; None where there is none, or where a list has several."""
    if isinstance(value, list):
        return whole(value[0]) if len(value) == 1 else None
    found = number(value, "", "")
    return round(found) if isinstance(found, float) and found == round(found) and found < _MOST else None
