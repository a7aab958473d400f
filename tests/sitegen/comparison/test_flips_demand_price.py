"""Where the cheaper side changes with the demand and with the price, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitegen.comparison.flips import demand, price, words
from sitegen.comparison.flips.found import AtDemand, Fleet, Stretch
from sitegen.pages.flips import charts
from tests.serving import PRICE, SERVE, benchmark
from tests.sitegen.comparison.made import declared, interleaved, selection, verdict

SLOW, FAST = Fleet("slow", 100.0, 50.0), Fleet("fast", 250.0, 50.0)


def followed(one: Fleet, other: Fleet, stated: float) -> AtDemand:
    found = demand.stretches(one, other, demand.reach(one, other, stated))
    return AtDemand(stated, 1.0, 86_400.0, "USD", False, (), (one, other), found)


def test_at_one_price_the_side_that_carries_more_costs_less_from_the_first_jump_on() -> None:
    assert demand.stretches(SLOW, FAST, 300) == (Stretch(0, 100, None), Stretch(100, 300, "fast"))


def test_a_dearer_side_wins_only_where_the_others_number_outgrows_its_price() -> None:
    """120 a month for 250 a day, against 50 for each 100: 50 and 100 are less than 120, 150 is more."""
    dear = Fleet("dear", 250.0, 120.0)
    assert demand.stretches(SLOW, dear, 500) == (
        Stretch(0, 200, "slow"),
        Stretch(200, 250, "dear"),
        Stretch(250, 400, "slow"),
        Stretch(400, 500, "dear"),
    )


@pytest.mark.parametrize(("asked", "machines"), [(0, 1), (1, 1), (100, 1), (101, 2), (200, 2), (201, 3)])
def test_whole_machines(asked: float, machines: int) -> None:
    assert SLOW.machines(asked) == machines


@given(st.floats(10, 1e6), st.floats(10, 1e6), st.floats(1, 1e4), st.floats(1, 1e4))
def test_stretches_cover_the_whole_range_and_swap_with_the_sides(a: float, b: float, x: float, y: float) -> None:
    one, other = Fleet("one", a, x), Fleet("other", b, y)
    end = demand.reach(one, other, min(a, b))
    found = demand.stretches(one, other, end)
    assert found[0].start == 0
    assert found[-1].end == end
    assert all(before.end == after.start for before, after in pairwise(found))
    assert all(before.cheaper != after.cheaper for before, after in pairwise(found))
    assert demand.stretches(other, one, end) == found


def test_in_words() -> None:
    assert words.demand(followed(SLOW, FAST, 90)) == (
        "Up to 100 requests a day both cost the same a month.",
        "From 100 requests a day on, as far as was looked (300) fast costs less a month.",
    )


def test_the_figure_draws_the_jumps() -> None:
    found = verdict([])
    drawn = charts(replace(found, flips=replace(found.flips, demand=followed(SLOW, FAST, 90))))["demand"]
    assert drawn is not None
    slow = drawn.plotly["data"][0]
    assert slow["x"] == [0, 100, 100, 200, 200, 300]
    assert slow["y"] == [50, 50, 100, 100, 150, 150]


KEYS = benchmark(SERVE)


def test_the_price_at_which_the_cheaper_side_costs_as_much() -> None:
    runs = interleaved([0.100, 0.101, 0.099], [0.050, 0.0505, 0.0495])
    chosen, file = selection(runs), declared(**KEYS).benchmark
    cost = replace(verdict(runs).effect, metric="cost_per_accepted_result", ratio=0.5, low=0.4, high=0.625, absent=None)
    found = price.flip(chosen, file, cost)
    assert found is not None
    assert (found.cheaper, found.dearer) == ("fast", "slow")
    assert (found.factor, found.low, found.high) == pytest.approx((2.0, 1.6, 2.5))
    assert (found.amount, found.amount_low, found.amount_high) == pytest.approx((0.2, 0.16, 0.25))
    assert (found.currency, found.per) == ("USD", "node_hour")
    assert words.price(found) == (
        "The price of fast could be 2.00 times what it is (1.60 to 2.50), 0.200 USD a node hour (0.160 to 0.250), "
        "before an accepted result of slow, at its price of today, costs as much."
    )
    other = price.flip(chosen, file, replace(cost, ratio=2.0, low=1.6, high=2.5))
    assert other is not None
    assert (other.cheaper, other.factor, other.low, other.high) == ("slow", 2.0, 1.6, 2.5)


def test_a_price_that_chance_may_have_made_says_so() -> None:
    runs = interleaved([0.1] * 3, [0.1] * 3)
    cost = replace(verdict(runs).effect, ratio=0.9, low=0.8, high=1.05, absent=None)
    found = price.flip(selection(runs), declared(**KEYS).benchmark, cost)
    assert found is not None
    assert found.low == pytest.approx(1 / 1.05)
    assert "which side is cheaper is not told from chance" in words.price(found)
    alone = price.flip(selection(runs), declared(**KEYS).benchmark, replace(cost, low=None, high=None, absent="why"))
    assert alone is not None
    assert words.price(alone).endswith("costs as much. No interval: why.")


def test_charges_by_more_than_one_thing_have_a_factor_and_no_price() -> None:
    keys = benchmark(SERVE)
    keys["stacks"]["fast"]["price"] = [
        {**PRICE, "per": "million_input_tokens"},
        {**PRICE, "per": "million_output_tokens"},
    ]
    runs = interleaved([0.1] * 3, [0.05] * 3)
    cost = replace(verdict(runs).effect, ratio=0.5, low=0.4, high=0.625, absent=None)
    found = price.flip(selection(runs), declared(**keys).benchmark, cost)
    assert found is not None
    assert (found.factor, found.amount, found.per) == (2.0, None, None)


def test_an_objective_without_a_price_has_no_price_to_turn_round_at() -> None:
    found = verdict(interleaved([0.1, 0.11, 0.1], [0.05, 0.051, 0.05])).flips
    assert found.price is None
    assert found.price_absent == "the objective is step_time, in which no price takes part"
    assert found.load_absent == "a train workload has no levels of load"
    assert found.length_absent == "every step of a run is of the one declared length (sequence_length 16)"


def test_a_metric_of_the_file_s_own_that_is_called_a_cost_rests_on_no_price() -> None:
    metric = {"unit": "s", "direction": "lower", "definition": "What a pass takes."}
    work = {"kind": "command", "task": "Sort.", "metrics": {"pass_cost": metric}}
    priced = {**KEYS, "envelope": {**KEYS["envelope"], "objective": {"minimise": "cost_per_accepted_result"}}}
    named = {"workload": work, "envelope": {"limits": {}, "objective": {"minimise": "pass_cost"}}}
    for changes, said in ((priced, True), (named, False)):
        digest = declared(**changes).benchmark.workload_digest
        runs = [replace(run, workload_digest=digest) for run in interleaved([0.1, 0.11, 0.1], [0.05, 0.051, 0.05])]
        codes = {note.code for note in verdict(runs, **changes).downgrades}
        assert "few_launches" in codes
        assert ("self_reported_price" in codes) is said
