"""`vllm bench`: names mapped by definition, failed requests, sweeps, appended files, and what detail proves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import InputError
from ledger.public import Row
from tests.collector.importers.made import by_id, codes, collection, refused

SHARED = os.environ.get("STACKPROOF_SHARED")
real = pytest.mark.skipif(SHARED is None, reason="STACKPROOF_SHARED names no folder with the public data")
SERVE: dict[str, Any] = {
    "date": "20261130-205917",
    "endpoint_type": "openai",
    "backend": "openai",
    "label": None,
    "model_id": "tiny",
    "tokenizer_id": "tiny",
    "num_prompts": 300,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 8,
    "duration": 10.0,
    "completed": 300,
    "failed": 0,
    "total_input_tokens": 3000,
    "total_output_tokens": 600,
    "request_throughput": 30.0,
    "request_goodput": None,
    "output_throughput": 60.0,
    "total_token_throughput": 360.0,
    "mean_ttft_ms": 98.0,
    "median_ttft_ms": 76.0,
    "p99_ttft_ms": 240.0,
    "mean_tpot_ms": 15.0,
    "mean_itl_ms": 14.0,
    "p95_e2el_ms": 2252.0,
}


def read(path: Path, **changes: Any) -> Row:
    path.write_text(json.dumps({**SERVE, **changes}))
    (row,) = collection("vllm-bench", path).rows
    return row


def test_names_are_mapped_by_their_definition(tmp_path: Path) -> None:
    row = read(tmp_path / "a.json")
    assert row.values == {
        "request_throughput@duration": 30.0,
        "output_token_throughput@duration": 60.0,
        "total_token_throughput@duration": 360.0,
        "error_rate": 0.0,
        "ttft.mean@sent": pytest.approx(0.098),
        "ttft.p50@sent": pytest.approx(0.076),
        "ttft.p99@sent": pytest.approx(0.24),
        "tpot.mean": pytest.approx(0.015),
        "inter_chunk_gap.mean": pytest.approx(0.014),
        "e2e.p95@sent": pytest.approx(2.252),
    }
    assert row.missing == {"goodput@vllm-bench": "no limits were given to the client"}
    assert (row.workload["load"], row.workload["concurrency"]) == ("closed loop", 8)
    assert "request_rate" not in row.workload
    assert [each.what for each in row.problems] == ["percentiles from 300 requests: p99 needs 1,000"]


def test_itl_is_one_only_where_each_chunk_is_proven_to_be_a_token(tmp_path: Path) -> None:
    detail = {"ttfts": [0.098] * 3, "itls": [[0.1], [0.1], []], "output_lens": [2, 2, 0], "errors": ["", "", "boom"]}
    row = read(tmp_path / "a.json", **detail)
    assert row.values["itl.mean"] == pytest.approx(0.014)
    assert row.shows["requests"] == "3 requests with output_lens, ttfts, itls, errors"
    row = read(tmp_path / "a.json", **{**detail, "output_lens": [4, 2, 0]})
    assert "itl.mean" not in row.values
    assert row.values["inter_chunk_gap.mean"] == pytest.approx(0.014)


def test_requests_that_do_not_give_the_stated_mean_are_told(tmp_path: Path) -> None:
    row = read(tmp_path / "a.json", ttfts=[0.196, 0.0], itls=[[], []], output_lens=[1, 0], errors=["", "boom"])
    assert "disagrees_with_its_requests" in codes(row)
    row = read(tmp_path / "a.json", ttfts=[0.098, 0.0], itls=[[], []], output_lens=[1, 0], errors=["", "boom"])
    assert "disagrees_with_its_requests" not in codes(row)


def test_a_run_in_which_everything_failed_has_no_values(tmp_path: Path) -> None:
    row = read(tmp_path / "a.json", completed=0, failed=300, mean_ttft_ms=0.0, request_throughput=0.0)
    assert (row.state, row.failure) == ("failed", "all 300 requests failed")
    assert row.values == {"error_rate": 1.0}
    assert row.missing["ttft.mean@sent"] == "no request was answered"


def test_failures_that_an_older_version_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({key: value for key, value in {**SERVE, "completed": 240}.items() if key != "failed"}))
    (row,) = collection("vllm-bench", path).rows
    assert row.values["error_rate"] == pytest.approx(0.2)
    assert "60 of 300 requests failed" in [each.what for each in row.problems]


def test_a_latency_of_nothing_is_no_latency(tmp_path: Path) -> None:
    row = read(tmp_path / "a.json", mean_ttft_ms=0.0, mean_tpot_ms="15.5 ms", mean_itl_ms=float("nan"))
    assert "not streamed" in row.missing["ttft.mean@sent"]
    assert row.values["tpot.mean"] == pytest.approx(0.0155)
    assert "inter_chunk_gap.mean" in row.missing


def test_the_colon_of_a_fork_and_an_open_loop_that_is_held_back(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    content = {key: value for key, value in SERVE.items() if key != "request_goodput"}
    path.write_text(json.dumps({**content, "request_goodput:": 25.0, "request_rate": 4.0}))
    (row,) = collection("vllm-bench", path).rows
    assert row.values["goodput@vllm-bench"] == 25.0
    assert (row.workload["load"], row.workload["request_rate"]) == ("open loop", 4.0)
    assert "two_loads" in codes(row)


def test_appended_runs_are_a_row_each(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(SERVE) + "\n" + json.dumps({**SERVE, "request_throughput": 31.0}))
    found = by_id(collection("vllm-bench", path))
    assert [row.values["request_throughput@duration"] for row in found.values()] == [30.0, 31.0]
    assert list(found) == ["a", "a#2"]
    path.write_text(json.dumps(SERVE) + "\n" + json.dumps(SERVE)[:-30])
    with pytest.raises(InputError, match="ends in the middle"):
        collection("vllm-bench", path)


def test_a_sweep_keeps_failures_and_takes_each_run_once(tmp_path: Path) -> None:
    folder = tmp_path / "20260101_000000" / "BENCH--max_concurrency=8"
    folder.mkdir(parents=True)
    runs = [{**SERVE, "run_number": number, "request_throughput": 30.0 + number} for number in range(2)]
    for number, run in enumerate(runs):
        (folder / f"run={number}.json").write_text(json.dumps(run))
    (folder / "summary.json").write_text(json.dumps(runs))
    (folder / "warmup.json").write_text(json.dumps(SERVE))
    (tmp_path / "20260101_000000" / "summary.csv").write_text("a,b\n1,2\n")
    failure = {
        "run_number": 2,
        "error_type": "RuntimeError",
        "error": "server\ndied",
        "serve_overrides": {"max_num_seqs": 4},
        "bench_overrides": {"max_concurrency": 8},
    }
    (folder / "run=2.failure.json").write_text(json.dumps(failure))
    found = collection("vllm-bench", tmp_path)
    assert [row.state for row in found.rows] == ["completed", "completed", "failed"]
    assert found.rows[0].shows["repeats"] == "one of 2 runs with these settings"
    assert (found.rows[2].failure, found.rows[2].settings["max_num_seqs"]) == ("RuntimeError: server died", 4)
    assert codes(found) == ["left_out", "left_out"]


def test_offline_results(tmp_path: Path) -> None:
    (tmp_path / "throughput.json").write_text(
        json.dumps(
            {
                "elapsed_time": 2.0,
                "num_requests": 32,
                "total_num_tokens": 3080,
                "requests_per_second": 16.0,
                "tokens_per_second": 1540.0,
            }
        )
    )
    (tmp_path / "latency.json").write_text(
        json.dumps({"avg_latency": 0.5, "latencies": [0.4, 0.6], "percentiles": {"10": 0.41, "50": 0.5, "99": 0.6}})
    )
    found = by_id(collection("vllm-bench", tmp_path))
    assert found["throughput"].values == {
        "offline_request_throughput@vllm-bench": 16.0,
        "offline_token_throughput@vllm-bench": 1540.0,
    }
    assert found["latency"].values == {
        "batch_latency.mean@vllm-bench": 0.5,
        "batch_latency.p50@vllm-bench": 0.5,
        "batch_latency.p99@vllm-bench": 0.6,
    }
    assert found["latency"].shows["repeats"] == "2 iterations in one launch"


@pytest.mark.parametrize(
    "changes",
    [
        {"completed": "many", "failed": None},
        {
            "input_lens": [[1], {}],
            "output_lens": [None, "x"],
            "itls": [None, 1],
            "errors": [None, 1],
            "ttfts": ["x", []],
        },
        {"request_rate": {"a": 1}, "max_concurrency": [8, 16], "mean_ttft_ms": [1], "num_prompts": -1},
        {"model_id": None, "backend": 7, "label": {"nested": []}},
    ],
)
def test_odd_types_end_in_reasons_not_in_a_fault(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert read(tmp_path / "a.json", **changes).values["request_throughput@duration"] == 30.0


def test_bad_files_are_refused_in_one_line(workspace: Path) -> None:
    Path("a.json").write_text(json.dumps({**SERVE, "ttfts": [1.0], "errors": ["", ""]}))
    assert "its lists of requests differ in length" in refused("auto", "a.json")
    Path("a.json").write_text('{"hello": 1}')
    assert "is no result of vllm bench" in refused("vllm-bench", "a.json")
    Path("a.json").write_text(json.dumps(SERVE)[:-5])
    assert "ends in the middle" in refused("auto", "a.json")
    Path("empty").mkdir()
    assert "holds no result" in refused("vllm-bench", "empty")


@real
def test_real_results_give_their_own_numbers() -> None:
    assert SHARED is not None
    folder = Path(SHARED) / "data" / "cpu"
    found = by_id(collection("vllm-bench", folder))
    served = json.loads((folder / "serve_a.json").read_text())
    assert found["serve_a"].values["tpot.mean"] == served["mean_tpot_ms"] / 1000
    assert found["serve_a"].values["itl.mean"] == served["mean_itl_ms"] / 1000
    assert "disagrees_with_its_requests" not in [code for row in found.values() for code in codes(row)]
    assert "inter_chunk_gap.mean" in found["serve_llamacpp"].values
