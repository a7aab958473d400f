"""Where the cheaper side changes with the demand, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitegen import flips
from sitegen.comparison.verdict import Decision
from sitegen.flips import Fleet, Stretch
from tests.sitegen.comparison.made import interleaved, verdict

SLOW, FAST = Fleet("slow", 100.0, 50.0), Fleet("fast", 250.0, 50.0)


def test_at_one_price_the_side_that_carries_more_costs_less_from_the_first_jump_on() -> None:
    assert flips.stretches(SLOW, FAST, 300) == [Stretch(0, 100, None), Stretch(100, 300, "fast")]


def test_a_dearer_side_wins_only_where_the_others_number_outgrows_its_price() -> None:
    """120 a month for 250 a day, against 50 for each 100: 50 and 100 are less than 120, 150 is more."""
    dear = Fleet("dear", 250.0, 120.0)
    assert flips.stretches(SLOW, dear, 500) == [
        Stretch(0, 200, "slow"),
        Stretch(200, 250, "dear"),
        Stretch(250, 400, "slow"),
        Stretch(400, 500, "dear"),
    ]


@pytest.mark.parametrize(("demand", "machines"), [(0, 1), (1, 1), (100, 1), (101, 2), (200, 2), (201, 3)])
def test_whole_machines(demand: float, machines: int) -> None:
    assert SLOW.machines(demand) == machines


@given(st.floats(10, 1e6), st.floats(10, 1e6), st.floats(1, 1e4), st.floats(1, 1e4))
def test_stretches_cover_the_whole_range_and_swap_with_the_sides(a: float, b: float, x: float, y: float) -> None:
    one, other = Fleet("one", a, x), Fleet("other", b, y)
    end = flips.reach(one, other, min(a, b))
    found = flips.stretches(one, other, end)
    assert found[0].start == 0
    assert found[-1].end == end
    assert all(before.end == after.start for before, after in pairwise(found))
    assert all(before.cheaper != after.cheaper for before, after in pairwise(found))
    assert flips.stretches(other, one, end) == found


def test_in_words() -> None:
    assert flips.in_words(SLOW, FAST, 90) == (
        "Up to 100 requests a day both cost the same a month.",
        "From 100 requests a day on, as far as was looked (300) fast costs less a month.",
    )


def test_the_figure_draws_the_jumps() -> None:
    chart = flips.chart(SLOW, FAST, 90, "USD")
    assert chart is not None
    slow = chart.plotly["data"][0]
    assert slow["x"] == [0, 100, 100, 200, 200, 300]
    assert slow["y"] == [50, 50, 100, 100, 150, 150]


def test_the_price_at_which_the_winner_would_lose() -> None:
    found = verdict(interleaved([0.100, 0.101, 0.099], [0.050, 0.0505, 0.0495]))
    cost = replace(found.effect, metric="cost_per_accepted_result", ratio=0.5, low=0.4, high=0.625)
    won = replace(found, effect=cost, decision=Decision.WINS, winner="fast")
    assert flips.price(won) == (
        "The price of fast could be 2.00 times what it is (1.60 to 2.50) before an accepted result of slow, at its "
        "price of today, costs as much."
    )
    assert flips.price(replace(won, decision=Decision.INCONCLUSIVE)) is None
    assert flips.price(replace(won, winner="slow", effect=replace(cost, ratio=2.0, low=1.6, high=2.5))) is not None
    assert flips.price(found) is None
