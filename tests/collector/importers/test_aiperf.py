"""AIPerf: what it calls ITL is a TPOT, units as the file states them, errors counted, single requests checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.public import Row
from tests.collector.importers.made import codes, collection, refused

SUMMARY: dict[str, Any] = {
    "schema_version": "1.0",
    "aiperf_version": "0.5.0",
    "request_throughput": {"unit": "requests/sec", "avg": 13.0},
    "request_latency": {"unit": "ms", "avg": 6550.0, "p50": 5800.0, "p99": 9381.0, "min": 4996.0, "std": 1171.0},
    "time_to_first_token": {"unit": "ms", "avg": 1588.0, "p50": 787.0},
    "inter_token_latency": {"unit": "ms", "avg": 51.7},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 1274.0},
    "output_token_throughput_per_user": {"unit": "tokens/sec/user", "avg": 19.5},
    "output_sequence_length": {"unit": "tokens", "avg": 96.85},
    "request_count": {"unit": "requests", "avg": 200.0},
    "was_cancelled": False,
    "error_summary": [{"error_details": {"code": 500}, "count": 3}, {"error_details": {"code": 499}, "count": 81}],
    "goodput": None,
    "error_request_count": None,
    "telemetry_data": {
        "endpoints": {
            "a": {
                "gpus": {"gpu_0": {"gpu_name": "NVIDIA H100 80GB HBM3"}, "gpu_1": {"gpu_name": "NVIDIA H100 80GB HBM3"}}
            }
        }
    },
    "input_config": {
        "endpoint": {"model_names": ["openai/gpt-oss-20b"], "type": "chat", "streaming": True},
        "loadgen": {"concurrency": 100},
    },
}


def read(folder: Path, **changes: Any) -> Row:
    folder.mkdir(exist_ok=True)
    (folder / "profile_export_aiperf.json").write_text(json.dumps({**SUMMARY, **changes}))
    (row,) = collection("aiperf", folder).rows
    return row


def test_names_are_mapped_by_their_definition(tmp_path: Path) -> None:
    row = read(tmp_path / "run")
    assert row.values == {
        "request_throughput@duration": 13.0,
        "output_token_throughput@duration": 1274.0,
        "interactivity.mean@aiperf": 19.5,
        "error_rate": pytest.approx(84 / 284),
        "ttft.mean@sent": pytest.approx(1.588),
        "ttft.p50@sent": pytest.approx(0.787),
        "tpot.mean": pytest.approx(0.0517),
        "e2e.mean@sent": pytest.approx(6.55),
        "e2e.p50@sent": pytest.approx(5.8),
        "e2e.p99@sent": pytest.approx(9.381),
    }
    assert (row.hardware["device"], row.hardware["count"]) == ("H100", 2)
    assert (row.workload["model"], row.workload["concurrency"]) == ("openai/gpt-oss-20b", 100)
    assert codes(row) == ["failed_requests", "few_requests"]


def test_units_are_those_that_the_file_states(tmp_path: Path) -> None:
    row = read(
        tmp_path / "run",
        time_to_first_token={"unit": "sec", "avg": 1.5},
        inter_token_latency={"unit": "us", "avg": 5e4},
    )
    assert row.values["ttft.mean@sent"] == 1.5
    assert row.values["tpot.mean"] == pytest.approx(0.05)
    row = read(tmp_path / "run", time_to_first_token={"unit": "parsecs", "avg": 1.5})
    assert "parsecs" in row.missing["ttft.mean@sent"]


def test_the_layout_with_records(tmp_path: Path) -> None:
    wrapped = {
        "aiperf_version": "0.1.0",
        "records": {key: each for key, each in SUMMARY.items() if isinstance(each, dict)},
    }
    path = tmp_path / "profile_export_aiperf.json"
    path.write_text(json.dumps(wrapped))
    (row,) = collection("aiperf", path).rows
    assert row.values["tpot.mean"] == pytest.approx(0.0517)


def line(ttft: float, error: Any = None, phase: str = "profiling") -> str:
    metrics = {"time_to_first_token": {"value": ttft, "unit": "ms"}}
    return json.dumps({"metadata": {"benchmark_phase": phase}, "metrics": metrics, "error": error}) + "\n"


def test_single_requests_are_counted_and_held_against_the_summary(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    good = line(1588.0) + line(0.0, error={"code": 500}) + line(9.0, phase="warmup")
    (folder / "profile_export.jsonl").write_text(good)
    row = read(folder)
    assert row.shows["requests"] == "2 requests, 1 of them failed (profile_export.jsonl)"
    assert "disagrees_with_its_requests" not in codes(row)
    (folder / "profile_export.jsonl").write_text(line(3000.0) + line(3001.0))
    assert "disagrees_with_its_requests" in codes(read(folder))


def test_a_cancelled_benchmark_and_one_without_an_answer(tmp_path: Path) -> None:
    assert "cancelled" in codes(read(tmp_path / "run", was_cancelled=True))
    row = read(tmp_path / "run", request_count={"unit": "requests", "avg": 0.0})
    assert (row.state, row.failure) == ("failed", "all 84 requests failed")


@pytest.mark.parametrize(
    "changes",
    [
        {"error_summary": ["x", {"count": "y"}], "input_config": [], "telemetry_data": {"endpoints": [1]}},
        {"input_config": {"endpoint": {"model_names": "x"}, "loadgen": {"concurrency": [1, 2]}}},
        {"time_to_first_token": {"unit": ["ms"], "avg": None}, "error_request_count": {"avg": "TBD"}},
    ],
)
def test_odd_types_end_in_reasons_not_in_a_fault(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert read(tmp_path / "run", **changes).values["request_throughput@duration"] == 13.0


def test_bad_files_are_refused_in_one_line(workspace: Path) -> None:
    Path("profile_export_aiperf.json").write_text(json.dumps(SUMMARY)[:-9])
    assert "ends in the middle" in refused("auto", "profile_export_aiperf.json")
    Path("profile_export_aiperf.json").write_text('{"hello": 1}')
    assert "is no AIPerf summary" in refused("aiperf", "profile_export_aiperf.json")
    Path("run").mkdir()
    assert "holds no AIPerf summary" in refused("aiperf", "run")
    Path("run/profile_export_aiperf.json").write_text(json.dumps(SUMMARY))
    Path("run/profile_export.jsonl").write_text(line(1.0) + line(2.0)[:-9])
    assert "value 2: ends in the middle" in refused("auto", "run")
