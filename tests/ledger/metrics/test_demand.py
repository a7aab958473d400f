"""Whole machines for a stated demand and what they cost, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.benchmark import Demand
from ledger.metrics.definitions.demand import whole_machines
from tests.serving import PRICE, SERVE, benchmark, failed, make_run, request

RATE = 200 / (199 * 0.1 + 0.09)
"""Requests a second of 200 that are due each 100 ms and take 90 ms."""
DAILY = 86_400.0


def metrics(folder: Path, demand: dict[str, Any] | None, rows: list[dict[str, Any]] | None = None, **more: Any) -> dict:
    keys = benchmark(SERVE)
    keys["envelope"] |= {"demand": demand} if demand is not None else {}
    keys["stacks"]["slow"]["price"] = more.pop("price", PRICE)
    made = make_run(folder, rows or [request(number) for number in range(200)], keys, **more)
    return {row["metric"]: row for row in json.loads((made / "metrics.json").read_text())}


def test_one_machine_is_the_least(tmp_path: Path) -> None:
    found = metrics(tmp_path, {"requests_per_day": 1000})
    assert found["machines_at_demand"]["value"] == 1
    assert found["use_at_demand"]["value"] == pytest.approx(1000 / DAILY / RATE)
    assert found["cost_per_month_at_demand"]["value"] == pytest.approx(0.1 * 730)
    assert found["cost_per_accepted_result_at_demand"]["value"] == pytest.approx(0.1 * 730 / (1000 * 730 / 24))


@pytest.mark.parametrize(("more", "machines"), [(0, 1), (-0.01, 1), (0.01, 2)])
def test_exactly_one_machines_worth_and_a_little_more(tmp_path: Path, more: float, machines: int) -> None:
    found = metrics(tmp_path, {"requests_per_day": RATE * DAILY + more})
    assert found["machines_at_demand"]["value"] == machines


def test_machines_are_counted_for_the_busiest_time_and_paid_all_day(tmp_path: Path) -> None:
    found = metrics(tmp_path, {"requests_per_day": RATE * DAILY, "peak_factor": 2.5})
    assert found["machines_at_demand"]["value"] == 3
    assert found["use_at_demand"]["value"] == pytest.approx(1 / 3)
    assert found["requests_a_day_of_a_machine"]["value"] == pytest.approx(RATE * DAILY / 2.5)
    assert found["cost_per_month_at_demand"]["value"] == pytest.approx(3 * 0.1 * 730)


def test_only_accepted_results_share_the_cost(tmp_path: Path) -> None:
    rows = [request(number, accepted=number % 2 == 0) for number in range(200)]
    found = metrics(tmp_path, {"requests_per_day": 1000}, rows)
    assert found["cost_per_accepted_result_at_demand"]["value"] == pytest.approx(2 * 0.1 * 24 / 1000)


def test_tokens_are_paid_as_they_come(tmp_path: Path) -> None:
    prices = [
        {**PRICE, "amount": 2.0, "per": "million_input_tokens"},
        {**PRICE, "amount": 10.0, "per": "million_output_tokens"},
    ]
    found = metrics(tmp_path, {"requests_per_day": 1000}, price=prices)
    each = (20 * 2.0 + 5 * 10.0) / 1e6
    assert found["cost_per_month_at_demand"]["value"] == pytest.approx(each * 1000 * 730 / 24)
    assert found["cost_per_accepted_result_at_demand"]["value"] == pytest.approx(each)


def test_a_start_is_spread_over_the_horizon(tmp_path: Path) -> None:
    demand = {"requests_per_day": 1000, "horizon": "10 days"}
    found = metrics(tmp_path, demand, summary={"startup_s": 360.0})
    assert found["one_off_cost_per_accepted_result"]["value"] == pytest.approx(0.1 * 0.1 / 10_000)


@pytest.mark.parametrize(
    ("demand", "changes", "reason"),
    [
        (None, {}, "the benchmark file states no demand (envelope.demand.requests_per_day)"),
        ({"requests_per_day": 1000}, {"price": []}, "the benchmark file states no price of this stack"),
        ({"requests_per_day": 1000}, {"rows": [failed(n) for n in range(20)]}, "nothing was accepted"),
    ],
)
def test_what_is_not_known_is_absent(tmp_path: Path, demand: Any, changes: dict[str, Any], reason: str) -> None:
    found = metrics(tmp_path, demand, **changes)
    row = found["cost_per_accepted_result_at_demand"]
    assert (row["value"], row["missing_reason"]) == (None, reason)


def test_no_rounding_of_floats_buys_a_machine() -> None:
    demand = Demand(requests_per_day=0.1 * 3 * DAILY)
    assert whole_machines(demand, 0.1) == 3
    assert whole_machines(demand, 0.3) == 1
