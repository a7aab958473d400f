"""Numbers as people write them in prose, with their units and their own rounding: `1,234.5 ms`, `1.3×`, `−12 %`.

A number stands for all values that are rounded to it: `1.23 s` for 1.225 s to 1.235 s. Where a number can be read in
two ways (`1,234` and `1.234` with either meaning of the sign, `GB` of 10^9 or 2^30 bytes), it has both readings.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ledger.quantity import BYTES, SECONDS

APPROXIMATE = 0.05
"""What `about` allows, as a share of the number."""
SIGNIFICANT = 3
"""Digits that the site prints: zeros after these may be its rounding."""

FACTOR, BARE, MONEY = "factor", "", "money"
SPACE = "[ \u00a0\u2009\u202f]"
_GROUP = "[,'’\u00a0\u2009\u202f]"
_DIGITS = "|".join(
    (
        rf"\d{{1,3}}(?:{_GROUP}\d{{3}}){{1,4}}(?:\.\d{{1,15}})?(?!\d|,\d)",  # 1,234.5
        r"\d{1,3}(?:[\u00a0\u2009\u202f]\d{3}){1,4}(?:,\d{1,15})?",  # 1 234,5 with spaces that do not break
        r"\d{1,3}(?:\.\d{3}){1,4},\d{1,15}",  # 1.234,5
        r"\d{1,3}(?:\.\d{3}){2,4}",
        r"\d{1,15}(?:[.,]\d{1,15})?",
        r"\.\d{1,15}",
    )
)
"""What is longer is no number that a person writes."""
_NUMBER = rf"[-+−]?(?:{_DIGITS})(?:[eE][-+−]?\d{{1,2}})?"
_MONEY = {"USD", "EUR", "GBP", "CHF", "JPY", "CNY", "dollars", "dollar", "euros", "euro"}
_RATES = {
    "tokens/s": ("tokens/s", "tokens/second", "tokens per second", "tokens a second", "tok/s", "t/s"),
    "1/s": (
        "requests/s", "requests per second", "requests a second", "req/s", "rps", "results/s", "results per second",
        "/s",
    ),
    "tokens/J": ("tokens/J", "tokens per joule"),
    "J": ("J", "joules"),
    "W": ("W", "watts"),
    "nats": ("nats", "nat"),
    "FLOP": ("FLOP",),
}  # fmt: skip
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_PERCENT = ("%", "percent", "per cent")
_TIMES = ("×", "x", "times", "-fold", "fold", "-times")


def _units() -> dict[str, tuple[str, tuple[float, ...]]]:
    """{unit as written: (base unit, what a number in it is times; more than one where it is used loosely)}."""
    found: dict[str, tuple[str, tuple[float, ...]]] = {name: ("s", (scale,)) for name, scale in SECONDS.items()}
    loose = {"kB": "KiB", "KB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB"}
    for name, scale in BYTES.items():
        scales = (float(scale), float(BYTES[loose[name]])) if name in loose else (float(scale),)
        found[name], found[f"{name}/s"] = ("B", scales), ("B/s", scales)
    found |= {"milliseconds": ("s", (1e-3,)), "microseconds": ("s", (1e-6,)), "bytes": ("B", (1.0,))}
    found |= {name: (base, (1.0,)) for base, names in _RATES.items() for name in names}
    found |= dict.fromkeys(_PERCENT, ("share", (0.01,)))
    found |= dict.fromkeys(_TIMES, (FACTOR, (1.0,)))
    found |= {f"{name}{end}": (MONEY, (scale,)) for name in _MONEY for end, scale in _PER.items()}
    return found | {end.strip(): (MONEY, (scale,)) for end, scale in _PER.items() if end}


_PER = {
    "": 1.0, " per million": 1e-6, " per 1M": 1e-6, " a million": 1e-6, " per thousand": 1e-3, " per 1,000": 1e-3,
    " per 1000": 1e-3,
}  # fmt: skip
_UNITS = _units()
_WORDS = sorted(_UNITS.keys() - {"x", "×"}, key=len, reverse=True)
_UNIT = "|".join(re.escape(each).replace(r"\ ", SPACE) for each in _WORDS) + rf"|[x×](?!{SPACE}?\d)"
_ROUGHLY = r"about|around|roughly|approximately|approx\.?|some|nearly|almost|close to|ca\.?|circa|~|≈"
_LEAST = r"at least|more than|over|upwards of|≥|>=|>"
_MOST = r"at most|up to|less than|under|below|≤|<=|<"
_END = rf"(?![\w]|[.,]\d|/\w|{SPACE}\d{{3}}(?!\d))"


def _one(number: str, unit: str, scale: str, scaled: str) -> str:
    """A pattern of one number, with a unit, with a scale and a unit (`12.3k tokens/s`), or bare."""
    return (
        rf"(?P<{number}>{_NUMBER})(?:{SPACE}?(?P<{unit}>{_UNIT}){_END}"
        rf"|{SPACE}?(?P<{scale}>[kKMGT]){SPACE}?(?P<{scaled}>{_UNIT}){_END}|{_END})"
    )


PATTERN = re.compile(
    rf"(?:(?<!\w)(?:(?P<roughly>{_ROUGHLY})|(?P<least>{_LEAST})|(?P<most>{_MOST})){SPACE}?)?(?P<between>\bbetween )?"
    rf"(?P<currency>[$€£])?(?<![\w.,/-])(?<!\d{SPACE}){_one('first', 'unit', 'scale', 'scaled')}"
    rf"(?:(?:(?<=min)|(?<= h)){SPACE}(?P<rest>\d{{1,2}}){SPACE}(?P<rest_unit>min|s){_END})?"
    rf"(?:{SPACE}?(?:–|—|-|to|(?(between)and)){SPACE}?[$€£]?{_one('last', 'unit2', 'scale2', 'scaled2')})?"
)
_ALONE = re.compile(
    rf"(?P<currency>[$€£])?(?<![\w.,/-])(?<!\d{SPACE}){_one('first', 'unit', 'scale', 'scaled')}(?!-\d)"
    rf"(?:(?:(?<=min)|(?<= h)){SPACE}(?P<rest>\d{{1,2}}){SPACE}(?P<rest_unit>min|s){_END})?"
)
_CLOCK = {"min": 60.0, "s": 1.0}


@dataclass(frozen=True)
class Reading:
    """One meaning of a number, in a base unit: the number itself, and what is rounded to it."""

    value: float
    low: float
    high: float

    def holds(self, amount: float) -> bool:
        """Whether an amount is rounded to it; the bounds belong to it."""
        slack = 1e-9 * max(abs(self.low), abs(self.high), abs(amount)) if math.isfinite(self.high - self.low) else 0.0
        return self.low - slack <= amount <= self.high + slack

    def near(self, amount: float) -> bool:
        """Whether an amount is rounded to it, whatever its sign."""
        return self.holds(amount) or self.holds(-amount)

    def meets(self, low: float, high: float) -> bool:
        """Whether any of it lies in an interval."""
        return self.low <= high and low <= self.high


@dataclass(frozen=True)
class Amount:
    """A number with its unit."""

    unit: str
    """A base unit (`s`, `B`, `share`, …), `factor`, `money`, or nothing."""
    readings: tuple[Reading, ...]
    approximate: bool
    """Whether it is said to be rough, a bound or a range."""
    text: str


def amount(found: re.Match[str]) -> Amount:
    """What a match of PATTERN says."""
    unit, scales = _unit_of(found, "unit", "scale", "scaled")
    if found["last"] is not None:
        return _between(found, unit, scales)
    if found["currency"]:
        unit = MONEY
    exact = [each for scale in scales for each in _readings(found["first"], scale)]
    readings = tuple(_rough(found, _clock(found, each)) for each in exact)
    approximate = any(found[name] for name in ("roughly", "least", "most"))
    return Amount(unit, readings, approximate, found[0])


def numbers(text: str) -> list[Amount]:
    """Every number of a text by itself, whatever stands around it: both ends of a range, and none as rough."""
    return [_alone(each) for each in _ALONE.finditer(text)]


def _alone(found: re.Match[str]) -> Amount:
    unit, scales = _unit_of(found, "unit", "scale", "scaled")
    readings = tuple(_clock(found, each) for scale in scales for each in _readings(found["first"], scale))
    return Amount(MONEY if found["currency"] else unit, readings, False, found[0])


def _unit_of(found: re.Match[str], unit: str, scale: str, scaled: str) -> tuple[str, tuple[float, ...]]:
    if found[scaled]:
        base, scales = _known(found[scaled])
        return base, tuple(each * _SCALES[found[scale]] for each in scales)
    return _known(found[unit]) if found[unit] else (BARE, (1.0,))


def _known(unit: str) -> tuple[str, tuple[float, ...]]:
    return _UNITS[re.sub(SPACE, " ", unit)]


def _between(found: re.Match[str], unit: str, scales: tuple[float, ...]) -> Amount:
    """A range: its first number has the unit of the last where it has none of its own."""
    other, others = _unit_of(found, "unit2", "scale2", "scaled2")
    if unit == BARE:
        unit, scales = other, others
    lows = [each for scale in scales for each in _readings(found["first"], scale)]
    highs = [each for scale in others for each in _readings(found["last"], scale)]
    pairs = [(low, high) for low in lows for high in highs if low.value <= high.value]
    readings = tuple(Reading((low.value + high.value) / 2, low.low, high.high) for low, high in pairs)
    return Amount(MONEY if found["currency"] else unit, readings, True, found[0])


def _clock(found: re.Match[str], reading: Reading) -> Reading:
    """With what follows it, as in `12 min 5 s`."""
    if found["rest"] is None:
        return reading
    step = _CLOCK[found["rest_unit"]]
    value = reading.value + step * int(found["rest"])
    return Reading(value, value - step / 2, value + step / 2)


def _rough(found: re.Match[str], reading: Reading) -> Reading:
    if found["roughly"]:
        slack = max(reading.high - reading.value, APPROXIMATE * abs(reading.value))
        return Reading(reading.value, reading.value - slack, reading.value + slack)
    if found["least"]:
        return Reading(reading.value, reading.low, math.inf)
    if found["most"]:
        return Reading(reading.value, -math.inf, reading.high)
    return reading


def _readings(text: str, scale: float) -> list[Reading]:
    """The meanings of one number: a single comma or point before three digits may group them."""
    found = []
    for plain in _plain(re.sub("[−]", "-", text)):
        mantissa, _, exponent = plain.lower().partition("e")
        value = float(plain) * scale
        half = _step(mantissa) / 2 * 10.0 ** int(exponent or 0) * scale
        found.append(Reading(value, value - half, value + half))
    return found


def _plain(text: str) -> list[str]:
    """The number as Python writes it, once for each meaning."""
    bare = re.sub("['’\u00a0\u2009\u202f]", "", text)
    if "," not in bare:
        groups = [bare.replace(".", "")]
        if bare.count(".") > 1:
            return groups
        return [bare, *(groups if re.fullmatch(r"[-+]?[1-9]\d{0,2}\.\d{3}", bare) else [])]
    if bare.rfind(",") > bare.rfind(".") >= 0:
        return [bare.replace(".", "").replace(",", ".")]
    grouped = re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:[eE][-+]?\d+)?", bare)
    readings = [bare.replace(",", "")] if grouped else []
    if bare.count(",") == 1 and "." not in bare:
        readings.append(bare.replace(",", "."))
    return readings


def _step(mantissa: str) -> float:
    """What the last digit that was written counts; zeros after the third digit of a whole number may be rounding."""
    whole, _, decimals = mantissa.lstrip("+-").partition(".")
    if decimals:
        return float(10.0 ** -len(decimals))
    zeros = len(whole) - len(whole.rstrip("0"))
    return float(10.0 ** min(zeros, max(0, len(whole) - SIGNIFICANT)))
