"""Numbers as people write them: separators, units, rounding, ranges, roughness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitegen import format
from sitegen.prose.amounts import PATTERN, Amount, amount, numbers


def only(text: str) -> Amount:
    (found,) = PATTERN.finditer(text)
    return amount(found)


@pytest.mark.parametrize(
    ("text", "unit", "low", "high"),
    [
        ("1.23 s", "s", 1.225, 1.235),
        ("1,234.5 ms", "s", 1.23445, 1.23455),
        ("1.234,5 ms", "s", 1.23445, 1.23455),
        ("1\u202f234,5 ms", "s", 1.23445, 1.23455),
        ("1,23 s", "s", 1.225, 1.235),
        ("1.2e-3 s", "s", 0.00115, 0.00125),
        ("12 min 5 s", "s", 724.5, 725.5),
        ("2 min 50 s", "s", 169.5, 170.5),
        ("1.3×", "factor", 1.25, 1.35),
        ("1.3x", "factor", 1.25, 1.35),
        ("1.3 times", "factor", 1.25, 1.35),
        ("−12 %", "share", -0.125, -0.115),
        ("-12%", "share", -0.125, -0.115),
        ("12 per cent", "share", 0.115, 0.125),
        ("1.53 GiB", "B", 1.525 * 2**30, 1.535 * 2**30),
        ("200 MiB/s", "B/s", 199.5 * 2**20, 200.5 * 2**20),
        ("12.3k tokens/s", "tokens/s", 12_250, 12_350),
        ("1.23M tokens/s", "tokens/s", 1_225_000, 1_235_000),
        ("$0.002", "money", 0.0015, 0.0025),
        ("0.002 USD", "money", 0.0015, 0.0025),
        ("22.0 per million", "money", 21.95e-6, 22.05e-6),
        ("about 2 s", "s", 1.5, 2.5),
        ("~100 ms", "s", 0.095, 0.105),
        ("20-30 %", "share", 0.195, 0.305),
        ("between 20 and 30 %", "share", 0.195, 0.305),
        ("60.1 ms to 62.4 ms", "s", 0.06005, 0.06245),
        ("at least 25 %", "share", 0.245, float("inf")),
        ("up to 25 %", "share", float("-inf"), 0.255),
        ("12,300", "", 12_250, 12_350),
    ],
)
def test_a_number_stands_for_what_is_rounded_to_it(text: str, unit: str, low: float, high: float) -> None:
    found = only(text)
    assert found.unit == unit
    assert (found.readings[0].low, found.readings[0].high) == pytest.approx((low, high))


def test_what_can_be_read_in_two_ways_has_both_readings() -> None:
    assert [each.value for each in only("1,234 ms").readings] == pytest.approx([1.234, 0.001234])
    assert [each.value for each in only("1.234 ms").readings] == pytest.approx([0.001234, 1.234])
    assert [each.value for each in only("0.123 s").readings] == pytest.approx([0.123])
    assert [each.value for each in only("2 GB").readings] == pytest.approx([2e9, 2 * 2**30])


@pytest.mark.parametrize("text", ["zero-2", "v1.2.3", "a/5", "2026-11-30", "float32", "3.11.7", "q4_0", "1 234 ms"])
def test_what_belongs_to_a_word_a_date_or_a_version_is_no_number(text: str) -> None:
    assert numbers(text) == []


@given(st.floats(1e-9, 1e12), st.sampled_from(["s", "B", "B/s", "share", "tokens/s", "money", ""]))
def test_what_the_site_prints_is_read_as_what_it_was_printed_from(value: float, unit: str) -> None:
    found = numbers(format.value(value, unit))
    assert len(found) == 1
    assert any(reading.holds(value) for reading in found[0].readings)
