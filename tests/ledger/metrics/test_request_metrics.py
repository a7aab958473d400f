"""Serving, quality and cost from requests: known right values, and what is absent and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.metrics import load_levels
from ledger.metrics.registry import Missing
from tests.serving import SERVE, TASKS, attempt, benchmark, failed, make_run, request


def metrics(tmp_path: Path, rows: list[dict[str, Any]], keys: dict[str, Any] | None = None, **more: Any) -> dict:
    folder = make_run(tmp_path, rows, keys or benchmark(SERVE), **more)
    return {row["metric"]: row for row in json.loads((folder / "metrics.json").read_text())}


def many(count: int = 200, **changes: Any) -> list[dict[str, Any]]:
    return [request(number, **changes) for number in range(count)]


def test_latencies_run_from_the_scheduled_time_in_an_open_loop(tmp_path):
    found = metrics(tmp_path, many())
    expected = {"ttft": 0.050, "e2e": 0.090, "tpot": 0.010, "itl": 0.010}
    for family, seconds in expected.items():
        for statistic in ("mean", "p50", "p95"):
            assert found[f"{family}.{statistic}"]["value"] == pytest.approx(seconds), (family, statistic)
    span = 199 * 0.1 + 0.09
    assert found["request_throughput"]["value"] == pytest.approx(200 / span)
    assert found["output_token_throughput"]["value"] == pytest.approx(1000 / span)
    assert found["goodput"]["value"] == pytest.approx(200 / span)
    assert found["achieved_load"]["value"] == 1
    assert found["error_rate"]["value"] == 0
    assert found["request_reliability"]["value"] == 1


def test_latencies_run_from_the_send_time_in_a_closed_loop(tmp_path):
    found = metrics(tmp_path, many(scheduled_ns=None))
    assert found["ttft.mean"]["value"] == pytest.approx(0.049)
    assert found["achieved_load"]["missing_reason"] == "a closed loop offers no load by a clock"


def test_a_wait_before_the_send_counts(tmp_path):
    """Coordinated omission: a client that waits for a slow answer must not hide the wait of the next request."""
    rows = [request(n, sent_ns=n * 10**8 + 10**9, first_token_ns=n * 10**8 + 1_010_000_000,
                    ended_ns=n * 10**8 + 1_050_000_000) for n in range(20)]  # fmt: skip
    assert metrics(tmp_path, rows)["ttft.p50"]["value"] == pytest.approx(1.01)


@pytest.mark.parametrize(("count", "present"), [(19, ()), (20, ("p50",)), (199, ("p50",)), (200, ("p50", "p95"))])
def test_a_percentile_needs_ten_requests_beyond_it(tmp_path, count, present):
    found = metrics(tmp_path, many(count))
    for name in ("p50", "p95", "p99"):
        row = found[f"e2e.{name}"]
        assert (row["value"] is not None) is (name in present)
    assert "p99 needs 1,000 requests" in found["e2e.p99"]["missing_reason"]


def test_failed_requests_have_no_latency_and_are_not_accepted(tmp_path):
    found = metrics(tmp_path, [*many(15), *(failed(n) for n in range(15, 20))])
    assert found["error_rate"]["value"] == 0.25
    assert found["acceptance_rate"]["value"] == 0.75
    assert found["e2e.mean"]["value"] == pytest.approx(0.09)
    assert found["e2e.p50"]["value"] is None


def test_where_every_request_failed_there_is_no_latency(tmp_path):
    found = metrics(tmp_path, [failed(n) for n in range(30)])
    assert found["ttft.mean"]["value"] is None
    assert found["error_rate"]["value"] == 1
    assert found["cost_per_accepted_result"]["missing_reason"] == "nothing was accepted"


def test_warm_up_and_other_levels_are_left_out(tmp_path):
    slow = {"first_token_ns": 10**10, "ended_ns": 2 * 10**10}
    found = metrics(
        tmp_path, [*many(20, phase="warmup", **slow), *many(20), *many(20, phase="sweep", level=20.0, **slow)]
    )
    assert found["e2e.mean"]["value"] == pytest.approx(0.09)


def test_tpot_is_absent_for_one_token_and_itl_where_chunks_hold_several(tmp_path):
    found = metrics(tmp_path, many(20, output_tokens=1, chunk_gaps_ns=[]))
    assert found["tpot.mean"]["value"] is None
    found = metrics(tmp_path / "b", many(20, one_token_a_chunk=False))
    assert found["itl.mean"]["missing_reason"] == "the chunks are not proven to be single tokens"
    assert found["inter_chunk_gap.mean"]["value"] == pytest.approx(0.01)


def test_repeats_of_one_item_are_averaged(tmp_path):
    rows = [request(0, item="a"), request(1, item="a", accepted=False), request(2, item="b"), request(3, item="b")]
    assert metrics(tmp_path, rows)["acceptance_rate"]["value"] == 0.75


def test_what_cannot_be_judged_is_no_refusal(tmp_path):
    rows = [request(0), request(1, accepted=None)]
    assert metrics(tmp_path, rows)["acceptance_rate"]["value"] == 1
    found = metrics(tmp_path / "b", [request(0, accepted=None), request(1, accepted=None)])
    for name in ("acceptance_rate", "accepted_throughput", "cost_per_accepted_result", "goodput"):
        assert found[name]["missing_reason"] == "no result could be judged"


def test_cost_is_the_price_of_the_time_over_what_was_accepted(tmp_path):
    rows = many(100, accepted=False) + [request(n) for n in range(100, 200)]
    found = metrics(tmp_path, rows)
    hours = (199 * 0.1 + 0.09) / 3600
    assert found["cost_per_accepted_result"]["value"] == pytest.approx(0.1 * hours / 100)


def test_tokens_are_paid_for_whatever_came_of_them(tmp_path):
    prices = [{**PRICE_OF, "per": f"million_{kind}_tokens", "amount": amount} for kind, amount in PER_MILLION.items()]
    keys = benchmark(SERVE)
    keys["stacks"]["slow"]["price"] = prices
    found = metrics(tmp_path, many(100, cached_tokens=10) + many(100, cached_tokens=10, accepted=False), keys)
    total = 200 * (10 * 1.0 + 10 * 0.1 + 5 * 4.0) / 1e6
    assert found["cost_per_accepted_result"]["value"] == pytest.approx(total / 100)


PRICE_OF = {"currency": "USD", "source": "list price", "as_of": "2026-11-01"}
PER_MILLION = {"input": 1.0, "cached": 0.1, "output": 4.0}


def test_capacity_is_the_highest_level_at_which_all_limits_hold(tmp_path):
    swept = {**SERVE, "load": {**SERVE["load"], "sweep": [5.0, 20.0, 40.0]}}
    keys = benchmark(swept, {"ttft.p50": "<= 100 ms", "error_rate": "<= 10%"})
    slow = {"first_token_ns": 60 * 10**9, "ended_ns": 61 * 10**9}
    rows = [
        *many(50),
        *many(50, phase="sweep", level=5.0),
        *many(50, phase="sweep", level=20.0, accepted=False),
        *many(50, phase="sweep", level=40.0, **slow),
    ]
    found = metrics(tmp_path, rows, keys)
    assert found["capacity"]["value"] == 20
    assert found["cost_per_accepted_result"]["missing_reason"] == "nothing was accepted"
    rows[0:50] = many(50, error="HTTP 500", accepted=False)
    found = metrics(tmp_path / "b", rows, keys)
    assert found["capacity"]["value"] == 5
    assert found["cost_per_accepted_result"]["value"] == pytest.approx(0.1 * (49 * 0.1 + 0.09) / 3600 / 50)


def test_no_level_that_holds_says_what_breaks(tmp_path):
    keys = benchmark(SERVE, {"ttft.p50": "<= 10 ms"})
    reason = metrics(tmp_path, many(50), keys)["capacity"]["missing_reason"]
    assert reason == "no driven level holds the envelope: at 10, ttft.p50 is 0.05, and the limit is <= 0.01"


def test_a_server_that_falls_behind_is_saturated(tmp_path):
    rows = [request(n, first_token_ns=n * 2 * 10**8 + 5 * 10**7, ended_ns=n * 2 * 10**8 + 9 * 10**7) for n in range(50)]
    found = metrics(tmp_path, rows)
    assert found["achieved_load"]["value"] == pytest.approx(0.5, abs=0.01)
    assert "of the offered load was carried" in found["capacity"]["missing_reason"]


def test_goodput_asks_for_every_latency_limit_and_acceptance(tmp_path):
    keys = benchmark(SERVE, {"ttft.p95": "<= 100 ms", "e2e.p50": "<= 1 s"})
    rows = [*many(10), *(request(n, first_token_ns=n * 10**8 + 2 * 10**8) for n in range(10, 20)), failed(20)]
    rows += [request(n, accepted=False) for n in range(21, 25)]
    assert metrics(tmp_path, rows, keys)["goodput"]["value"] == pytest.approx(10 / (24 * 0.1 + 0.09))


def test_tasks_pay_for_the_harness_and_not_for_the_judge(tmp_path):
    rows = [attempt("a", 10, True, 0), attempt("b", 20, False, 1, sent_ns=50 * 10**9, ended_ns=70 * 10**9)]
    found = metrics(tmp_path, rows, benchmark(TASKS))
    assert found["accepted_throughput"]["value"] == pytest.approx(1 / 30)
    assert found["cost_per_accepted_result"]["value"] == pytest.approx(0.1 * 30 / 3600)
    assert "ttft.mean" not in found
    assert found["startup_time"]["missing_reason"] == "no server was started for this launch"


def test_training_metrics_are_not_asked_of_a_server(tmp_path):
    assert "step_time" not in metrics(tmp_path, many(5))


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=300))
def test_statistics_lie_among_the_values(values):
    for name in ("mean", "p50", "p95", "p99"):
        found = load_levels.statistic(np.array(values), name)
        assert isinstance(found, Missing) or min(values) - 1e-9 <= found <= max(values) + 1e-9
