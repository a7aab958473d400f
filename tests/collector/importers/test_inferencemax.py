"""InferenceMAX: seconds, whole devices, interactivity, disaggregated runs, and what does not fit together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.public import Row
from tests.collector.conftest import run_cli
from tests.collector.importers.made import by_id, codes, collection, refused

SINGLE: dict[str, Any] = {
    "hw": "mi300x",
    "conc": 64,
    "image": "rocm/vllm:1",
    "model": "amd/Llama-3.1-70B-FP8",
    "infmax_model_prefix": "llama70b",
    "framework": "vllm",
    "precision": "fp8",
    "spec_decoding": "none",
    "disagg": False,
    "isl": 1024,
    "osl": 1024,
    "is_multinode": False,
    "tp": 4,
    "pp": 2,
    "ep": 1,
    "dp_attention": "false",
    "tput_per_gpu": 260.4,
    "output_tput_per_gpu": 130.2,
    "input_tput_per_gpu": 130.2,
    "mean_ttft": 2.84,
    "mean_tpot": 0.12,
    "mean_intvty": 1 / 0.12,
    "std_intvty": 295.9,
    "p99_tpot": 0.128,
    "mean_itl": 0.121,
    "median_e2el": 120.0,
}
SPLIT: dict[str, Any] = {
    **{key: value for key, value in SINGLE.items() if key not in ("tp", "pp", "ep", "dp_attention")},
    "hw": "cluster:gb200-nv",
    "framework": "dynamo-trt",
    "disagg": True,
    "is_multinode": True,
    "prefill_tp": 4,
    "decode_tp": 8,
    "num_prefill_gpu": 8,
    "num_decode_gpu": 24,
}


def read(path: Path, content: Any) -> list[Row]:
    path.write_text(json.dumps(content))
    return list(collection("inferencemax", path).rows)


def test_one_configuration(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "agg_x.json", SINGLE)
    assert row.values == {
        "total_token_throughput_per_device@inferencemax": 260.4,
        "output_token_throughput_per_device@inferencemax": 130.2,
        "input_token_throughput_per_device@inferencemax": 130.2,
        "ttft.mean@sent": 2.84,
        "tpot.mean": 0.12,
        "tpot.p99": 0.128,
        "interactivity.mean@inferencemax": 1 / 0.12,
        "inter_chunk_gap.mean": 0.121,
        "e2e.p50@sent": 120.0,
    }
    assert row.id == "llama70b-fp8-vllm-mi300x-tp4-ep1-conc64-1024x1024"
    assert (row.hardware["vendor"], row.hardware["device"], row.hardware["count"]) == ("amd", "MI300X", 8)
    assert (row.workload["concurrency"], row.workload["input_length"]) == (64, 1024)
    assert row.framework == "vllm"


def test_a_disaggregated_run_tells_what_it_divides_by(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "agg_x.json", SPLIT)
    assert row.hardware["count"] == 32
    assert row.hardware["device"] == "GB200"
    assert row.workload["parallelism"] == {"prefill_tp": 4, "decode_tp": 8}
    assert codes(row) == ["disaggregated"]


def test_times_in_milliseconds_are_not_taken_for_seconds(tmp_path: Path) -> None:
    (row,) = read(tmp_path / "agg_x.json", {**SINGLE, "mean_tpot": 120.0, "mean_ttft": 2840.0})
    assert "mixed_units" in codes(row)
    assert "ttft.mean@sent" not in row.values
    assert "its unit is not certain" in row.missing["tpot.mean"]
    assert row.values["total_token_throughput_per_device@inferencemax"] == 260.4


def test_power_that_the_source_calls_not_valid_is_not_taken(tmp_path: Path) -> None:
    power = {"avg_power_w": 600.0, "joules_per_output_token": 9.6}
    (row,) = read(tmp_path / "agg_x.json", {**SINGLE, **power, "power_valid": 1})
    assert row.values["energy_per_output_token@inferencemax"] == 9.6
    (row,) = read(tmp_path / "agg_x.json", {**SINGLE, **power, "power_valid": 0})
    assert "not valid" in row.missing["average_power_per_device@inferencemax"]


def test_a_list_of_results_and_entries_of_other_kinds(tmp_path: Path) -> None:
    path = tmp_path / "agg_bmk.json"
    agentic = {"hw": "b300", "conc": 4, "request_metrics": {"latency": {}}}
    path.write_text(json.dumps([SINGLE, {**SINGLE, "conc": 32}, SINGLE, agentic]))
    found = collection("inferencemax", path)
    assert [row.workload["concurrency"] for row in found.rows] == [64, 32]
    assert sorted(codes(found)) == ["duplicate", "other_format"]
    assert "1 of 4 entries" in next(each.what for each in found.problems if each.code == "other_format")


def test_a_folder_of_results(workspace: Path) -> None:
    folder = workspace / "results"
    folder.mkdir()
    (folder / "agg_a.json").write_text(json.dumps(SINGLE))
    (folder / "agg_b.json").write_text(json.dumps(SPLIT))
    (folder / "run_stats.json").write_text('{"success": 1.0}')
    code, out, _ = run_cli("import", "auto", "results")
    assert code == 0
    assert "inferencemax (agg_a.json is a result of InferenceMAX)" in out
    assert len(by_id(collection("inferencemax", folder))) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"tp": "four", "isl": None, "conc": "N/A", "model": None, "framework": None, "precision": ""},
        {"hw": None, "mean_tpot": "0.12 s", "mean_ttft": -1, "image": ["a"]},
        {"mean_intvty": float("inf"), "power_valid": "no", "tput_per_gpu": "TBD"},
    ],
)
def test_odd_types_end_in_reasons_not_in_a_fault(tmp_path: Path, changes: dict[str, Any]) -> None:
    (row,) = read(tmp_path / "agg_x.json", {**SINGLE, **changes})
    assert row.values["output_token_throughput_per_device@inferencemax"] == 130.2


def test_bad_files_are_refused_in_one_line(workspace: Path) -> None:
    Path("agg_a.json").write_text('{"hello": 1}')
    assert "holds no result of a fixed load" in refused("inferencemax", "agg_a.json")
    Path("agg_a.json").write_text(json.dumps(SINGLE)[:-7])
    assert "ends in the middle" in refused("auto", "agg_a.json")
