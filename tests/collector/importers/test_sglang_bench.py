"""SGLang's bench_serving: appended runs, failures that only detail tells, ITL of two versions, answers cut short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.public import Row
from tests.collector.importers.made import codes, collection, refused

RUN: dict[str, Any] = {
    "tag": None,
    "backend": "sglang",
    "dataset_name": "random",
    "request_rate": 4.0,
    "max_concurrency": None,
    "random_input_len": 1024,
    "random_output_len": 64,
    "random_range_ratio": 1.0,
    "duration": 100.0,
    "completed": 400,
    "total_input_tokens": 409600,
    "total_output_tokens": 25600,
    "total_output_tokens_retokenized": 25500,
    "request_throughput": 4.0,
    "input_throughput": 4096.0,
    "output_throughput": 256.0,
    "mean_e2e_latency_ms": 2098.0,
    "median_e2e_latency_ms": 2000.0,
    "mean_ttft_ms": 207.0,
    "p99_ttft_ms": 900.0,
    "mean_tpot_ms": 17.6,
    "median_tpot_ms": -0.0,
    "mean_itl_ms": 17.7,
    "p95_itl_ms": 28.3,
    "concurrency": 8.4,
    "accept_length": None,
}


def read(path: Path, *changes: dict[str, Any]) -> list[Row]:
    path.write_text("".join(json.dumps({**RUN, **each}) + "\n" for each in changes or ({},)))
    return list(collection("sglang-bench", path).rows)


def test_names_are_mapped_by_their_definition(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "online.jsonl")
    assert row.values == {
        "request_throughput@duration": 4.0,
        "output_token_throughput@duration": 256.0,
        "mean_concurrency@sglang-bench": 8.4,
        "ttft.mean@sent": pytest.approx(0.207),
        "ttft.p99@sent": pytest.approx(0.9),
        "tpot.mean": pytest.approx(0.0176),
        "inter_chunk_gap.mean@sglang-bench": pytest.approx(0.0177),
        "inter_chunk_gap.p95@sglang-bench": pytest.approx(0.0283),
        "e2e.mean@sent": pytest.approx(2.098),
        "e2e.p50@sent": pytest.approx(2.0),
    }
    assert "not streamed" in row.missing["tpot.p50"]
    assert "counts no failed requests" in row.missing["error_rate"]
    assert (row.workload["load"], row.workload["request_rate"], row.framework) == ("open loop", 4.0, None)


def test_each_appended_run_is_a_row(tmp_path: Path) -> None:
    rows = read(tmp_path / "online.jsonl", {}, {"request_rate": 8.0}, {"request_rate": "inf"})
    assert [row.id for row in rows] == ["online/1", "online/2", "online/3"]
    assert [row.workload["load"] for row in rows] == ["open loop", "open loop", "all at once"]


def test_detail_tells_failures_and_proves_tokens(tmp_path: Path) -> None:
    detail = {"ttfts": [0.207, 0.0], "itls": [[0.01], []], "output_lens": [2, 0], "errors": ["", "boom"]}
    (row,) = read(tmp_path / "a.jsonl", {**detail, "completed": 1})
    assert row.values["error_rate"] == 0.5
    assert row.values["itl.mean"] == pytest.approx(0.0177)
    assert "failed_requests" in codes(row)
    assert row.shows["requests"].startswith("2 requests")


def test_a_run_without_an_answer_is_failed(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.jsonl", {"completed": 0, "mean_ttft_ms": 0.0})
    assert (row.state, row.values) == ("failed", {})


def test_the_server_tells_what_it_is(tmp_path: Path) -> None:
    server = {"version": "0.5.10", "model_path": "meta/llama", "tp_size": 4, "dp_size": 1}
    (row,) = read(tmp_path / "a.jsonl", {"server_info": server})
    assert (row.framework, row.framework_version, row.workload["model"]) == ("sglang", "0.5.10", "meta/llama")
    assert row.workload["parallelism"] == {"tp": 4, "dp": 1}
    assert "server_info" not in row.settings


def test_answers_of_another_length_are_told(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "a.jsonl", {"total_output_tokens_retokenized": 12_000})
    assert "output_length" in codes(row)


def test_bad_files_are_refused_in_one_line(workspace: Path) -> None:
    Path("a.jsonl").write_text(json.dumps(RUN) + "\n" + json.dumps(RUN)[:-20])
    assert "value 2: ends in the middle" in refused("auto", "a.jsonl")
    Path("a.jsonl").write_text(json.dumps(RUN) + '\n{"hello": 1}\n')
    assert "is no result of bench_serving" in refused("auto", "a.jsonl")
    Path("a.jsonl").write_text(json.dumps({**RUN, "ttfts": [1], "errors": []}))
    assert "differ in length" in refused("auto", "a.jsonl")


def test_twenty_thousand_runs(tmp_path: Path) -> None:
    line = json.dumps(RUN)
    path = tmp_path / "many.jsonl"
    path.write_text("".join(line.replace("4.0,", f"{number}.5,", 1) + "\n" for number in range(1, 20_001)))
    found = collection("sglang-bench", path)
    assert len(found.rows) == 20_000
    assert found.rows[-1].workload["request_rate"] == 20_000.5
