"""Numbers as published files hold them, and everything that stands for none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.importers.values import Absent, is_nothing, number, whole


@pytest.mark.parametrize(
    ("raw", "written", "base", "value"),
    [
        (94.645, "ms", "s", 0.094645),
        ("94.645 ms", "s", "s", 0.094645),
        ("94.645ms", "s", "s", 0.094645),
        ("1.5", "s", "s", 1.5),
        (7.1997, "%", "share", 0.071997),
        ("7.1997%", "share", "share", 0.071997),
        (17.6175, "GB/s", "B/s", 17.6175e9),
        (1, "GiB/s", "B/s", 2**30),
        ("2 GiB", "GB", "B", 2 * 2**30),
        (0, "s", "s", 0.0),
        (100, "%", "share", 1.0),
    ],
)
def test_numbers_come_in_base_units(raw: object, written: str, base: str, value: float) -> None:
    assert number(raw, written, base) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "raw",
    [None, "", " ", "N/A", "n/a", "TBD", "None", "NaN", math.nan, math.inf, -math.inf, -1, -1.0, "-1", [], [None], {}],
)
def test_what_stands_for_nothing_is_absent(raw: object) -> None:
    assert isinstance(number(raw, "s", "s"), Absent)


@pytest.mark.parametrize(
    ("raw", "written", "base", "said"),
    [
        (True, "s", "s", "true is not a number"),
        ("fast", "s", "s", "'fast' is not a number"),
        ("5 furlongs", "s", "s", "furlongs"),
        ("5 GB", "s", "s", "'GB'"),
        (245.4, "%", "share", "245.4 % cannot be true"),
        (-3, "s", "s", "cannot be negative"),
        ("1,234", "s", "s", "'1,234' is not a number"),
        (10**400, "s", "s", "not a number"),
        ([1, 2], "s", "s", "not a number"),
    ],
)
def test_what_is_no_number_says_why(raw: object, written: str, base: str, said: str) -> None:
    found = number(raw, written, base)
    assert isinstance(found, Absent)
    assert said in found.reason


def test_a_difference_may_be_negative() -> None:
    assert number(-2, "%", "share", signed=True) == pytest.approx(-0.02)


@pytest.mark.parametrize(("raw", "value"), [(8, 8), ("8", 8), ([8], 8), ([8, 16], None), (8.5, None), ("", None)])
def test_counts(raw: object, value: int | None) -> None:
    assert whole(raw) == value


@pytest.mark.parametrize("raw", [{"a": None}, [None, ""], ["None"]])
def test_what_holds_only_nothing_is_nothing(raw: object) -> None:
    assert is_nothing(raw)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.floats())))
def test_whatever_is_published_gives_a_finite_number_or_a_reason(raw: object) -> None:
    found = number(raw, "ms", "s")
    assert isinstance(found, Absent) or (math.isfinite(found) and found >= 0)
