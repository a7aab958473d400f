"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from sitegen import format


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0612, "61.2 ms"),
        (0.9996, "1.00 s"),
        (0.0009996, "1.00 ms"),
        (3.4, "3.40 s"),
        (119.0, "119 s"),
        (725, "12 min 5 s"),
        (7200, "2 h"),
        (7380, "2 h 3 min"),
        (12.3e-6, "12.3 µs"),
        (5e-9, "5.00 ns"),
        (0.2e-9, "0.200 ns"),
        (0, "0 s"),
        (-0.004, "−4.00 ms"),
        (-7380, "−2 h 3 min"),
    ],
)
def test_seconds(seconds: float, text: str):
    assert format.seconds(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (17, "17 B"),
        (1536, "1.50 KiB"),
        (200 * 2**20, "200 MiB"),
        (1.5 * 2**30, "1.50 GiB"),
        (2**40, "1.00 TiB"),
        (-1536, "−1.50 KiB"),
    ],
)
def test_bytes(size: float, text: str):
    assert format.bytes_(size) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.05, "5 %"), (0.1234, "12.3 %"), (1, "100 %"), (0, "0 %"), (-0.261, "−26.1 %")]
)
def test_shares(value: float, text: str):
    assert format.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.7, "0.70"), (1.4204, "1.42"), (0.9971, "0.997"), (1.05, "1.050"), (0.0123, "0.0123")]
)
def test_ratios(value: float, text: str):
    assert format.ratio(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3, "3"),
        (40573, "40,573"),
        (0.00123, "0.00123"),
        (12345.6, "12,300"),
        (9.999, "10.0"),
        (1e-9, "1.00e-09"),
    ],
)
def test_numbers(value: float, text: str):
    assert format.number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.1, "s", "100 ms"),
        (1024, "B", "1.00 KiB"),
        (0.5, "share", "50 %"),
        (2.5, "nats", "2.50 nats"),
        (5230.4, "tokens/s", "5,230 tokens/s"),
        (3.2e12, "FLOP/s", "3.20T FLOP/s"),
        (2**30, "B/s", "1.00 GiB/s"),
        (4, "count", "4"),
    ],
)
def test_values_by_unit(value: float, unit: str, text: str):
    assert format.value(value, unit) == text


@pytest.mark.parametrize(
    "text",
    [format.seconds, format.bytes_, format.share, format.ratio, format.times, format.number],
)
@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_absent_is_never_a_number(text, value):
    assert text(value) == format.ABSENT
    assert format.value(value, "s") == format.difference(value, "s") == format.ABSENT


def test_differences_carry_their_sign():
    assert format.difference(0.0123, "s") == "+12.3 ms"
    assert format.difference(-0.04, "share") == "\N{MINUS SIGN}4 %"
    assert format.difference(0, "s") == "0 s"


def test_bounds_can_be_told_apart():
    assert format.ratios(0.69, 0.72) == "0.69 to 0.72"
    assert format.ratios(0.7031, 0.7042) == "0.703 to 0.704"
    assert format.ratios(0.70311, 0.70312) == "0.70311 to 0.70312"
    assert format.ratios(0.9, 0.939) == "0.900 to 0.939"
    assert format.ratios(None, 1) == format.interval(None, 1, "s") == format.ABSENT
    assert format.interval(0.06, 0.0624, "s") == "60.0 ms to 62.4 ms"


def test_a_ratio_has_as_many_decimals_as_its_bounds():
    assert (format.ratio(0.85, 0.8, 0.91), format.ratios(0.8, 0.91, 0.85)) == ("0.850", "0.800 to 0.910")
    assert (format.ratio(0.9181, 0.7, 0.8), format.ratios(0.7, 0.8, 0.9181)) == ("0.918", "0.700 to 0.800")


def test_counts_agree_in_number():
    assert [format.count(n, "launch") for n in (0, 1, 5)] == ["0 launches", "1 launch", "5 launches"]
    assert format.count(2, "run") == "2 runs"
    assert format.times(1.4234) == "1.42"
    assert format.times(12.34) == "12.3"
