"""GuideLLM: its two latencies per token are neither ITL nor TPOT, and how requests ended is kept apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.public import Collection
from tests.collector.importers.made import codes, collection, refused


def summary(mean: float, **percentiles: float) -> dict[str, Any]:
    told = {"mean": mean, "median": mean, "std_dev": 1.0, "percentiles": percentiles}
    return {"successful": told, "errored": {**told, "mean": 0.0}, "incomplete": None, "total": told}


METRICS: dict[str, Any] = {
    "request_totals": {"successful": 440, "errored": 11, "incomplete": 4, "total": 455},
    "time_to_first_token_ms": summary(98.0, p50=98.0, p95=200.0, p99=300.0),
    "inter_token_latency_ms": summary(20.0, p99=40.0),
    "time_per_output_token_ms": summary(25.0),
    "request_latency": summary(1.5, p95=2.5),
    "requests_per_second": summary(4.0),
    "output_tokens_per_second": summary(240.0, p99=689_483.0),
    "tokens_per_second": summary(900.0),
    "request_concurrency": summary(8.0),
}


def report(**changes: Any) -> dict[str, Any]:
    strategy = {"type_": "concurrent", "streams": 8}
    config = {"strategy": strategy, "backend": {"model": "meta/llama"}}
    benchmark = {"type_": "generative_benchmark", "config": config, "duration": 110.0, "metrics": METRICS, **changes}
    return {"metadata": {"guidellm_version": "0.7.3"}, "benchmarks": [benchmark]}


def read(path: Path, content: dict[str, Any]) -> Collection:
    path.write_text(json.dumps(content))
    return collection("guidellm", path)


def test_names_are_mapped_by_their_definition(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "benchmarks.json", report()).rows
    assert row.values == {
        "request_throughput@guidellm": 4.0,
        "output_token_throughput@guidellm": 240.0,
        "total_token_throughput@guidellm": 900.0,
        "mean_concurrency@guidellm": 8.0,
        "error_rate": pytest.approx(11 / 451),
        "ttft.mean@sent": pytest.approx(0.098),
        "ttft.p50@sent": pytest.approx(0.098),
        "ttft.p95@sent": pytest.approx(0.2),
        "ttft.p99@sent": pytest.approx(0.3),
        "tpot.mean@token-weighted": pytest.approx(0.02),
        "tpot.p50@token-weighted": pytest.approx(0.02),
        "tpot.p99@token-weighted": pytest.approx(0.04),
        "latency_per_output_token.mean@guidellm": pytest.approx(0.025),
        "latency_per_output_token.p50@guidellm": pytest.approx(0.025),
        "e2e.mean@sent": 1.5,
        "e2e.p50@sent": 1.5,
        "e2e.p95@sent": 2.5,
    }
    assert (row.workload["model"], row.workload["concurrency"], row.workload["requests"]) == ("meta/llama", 8, 455)
    assert codes(row) == ["failed_requests", "few_requests", "incomplete_requests"]
    assert row.settings["guidellm_version"] == "0.7.3"


def test_the_older_layout(tmp_path: Path) -> None:
    metrics = {name: value for name, value in METRICS.items() if name != "request_totals"}
    old = report(
        config=None,
        args={"profile": {"type_": "sweep"}, "strategy": {"type_": "constant", "rate": 2.5}},
        run_stats={"requests_made": {"successful": 90, "errored": 10, "incomplete": 0, "total": 100}},
        worker={"backend_model": "qwen"},
        metrics=metrics,
    )
    (row,) = read(tmp_path / "benchmarks.json", old).rows
    assert row.values["error_rate"] == pytest.approx(0.1)
    assert (row.workload["load"], row.workload["request_rate"], row.workload["model"]) == ("open loop", 2.5, "qwen")


def test_a_benchmark_without_an_answer_is_failed(tmp_path: Path) -> None:
    counts = {"successful": 0, "errored": 20, "incomplete": 0}
    (row,) = read(tmp_path / "benchmarks.json", report(metrics={**METRICS, "request_totals": counts})).rows
    assert (row.state, row.failure) == ("failed", "all 20 requests failed")
    assert row.values == {"error_rate": 1.0}


def test_a_sweep_is_a_row_a_load(tmp_path: Path) -> None:
    content = report()
    content["benchmarks"] *= 2
    content["benchmarks"][1] = {**content["benchmarks"][0], "config": {"strategy": {"type_": "synchronous"}}}
    found = read(tmp_path / "benchmarks.json", content)
    assert [row.workload["concurrency"] for row in found.rows] == [8, 1]


def test_single_requests_are_told(tmp_path: Path) -> None:
    requests = {"successful": [{}, {}], "errored": [{}], "incomplete": []}
    (row,) = read(tmp_path / "benchmarks.json", report(requests=requests)).rows
    assert row.shows["requests"] == "3 requests with times and tokens, which may be a sample"


@pytest.mark.parametrize(
    "changes",
    [
        {"config": [1], "requests": "x"},
        {"config": {"strategy": {"streams": [4]}, "backend": 3}},
        {"metrics": {**METRICS, "request_totals": [1, 2], "request_latency": {"successful": {"percentiles": [1]}}}},
    ],
)
def test_odd_types_end_in_reasons_not_in_a_fault(tmp_path: Path, changes: dict[str, Any]) -> None:
    (row,) = read(tmp_path / "benchmarks.json", report(**changes)).rows
    assert row.values["request_throughput@guidellm"] == 4.0


def test_bad_files_are_refused_in_one_line(workspace: Path) -> None:
    Path("benchmarks.json").write_text(json.dumps(report())[:-9])
    assert "ends in the middle" in refused("auto", "benchmarks.json")
    Path("benchmarks.json").write_text('{"benchmarks": [{"metrics": {}}]}')
    assert "is no result of GuideLLM" in refused("guidellm", "benchmarks.json")
    Path("benchmarks.json").write_text('{"benchmarks": []}')
    assert "holds no result" in refused("guidellm", "benchmarks.json")
