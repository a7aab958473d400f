"""CCL-Bench: cards as people wrote them, rows with the toolkit's faults, tuning histories with their failures."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from collector.importers.interface import Facts, Work
from ledger.errors import InputError
from ledger.public import TOPICS, Collection
from tests.collector.importers.made import (
    CARD,
    HISTORY,
    by_id,
    changed,
    codes,
    collection,
    row,
    write_card,
    write_table,
)

SHARED = os.environ.get("STACKPROOF_SHARED")
real = pytest.mark.skipif(SHARED is None, reason="STACKPROOF_SHARED names no folder with the public data")
TOML = "[training]\nlocal_batch_size = {local}\nseq_len = 1024\n[parallelism]\ndata_parallel_shard_degree = -1\n"


def read(root: Path) -> Collection:
    return collection("ccl-bench", root)


def test_a_row_and_its_card_are_one_row_with_values_in_base_units(tmp_path: Path) -> None:
    write_card(tmp_path, "one", CARD)
    metrics = {"avg_step_time": 1.5, "mfu": 25.0, "average_memory_bandwidth": 2.0, "scale_up_bw_utility": None}
    write_table(tmp_path, row("one", metrics))
    found = read(tmp_path)
    assert [each.name for each in found.origin.files] == [
        "trace_collection/one/one.yaml",
        "website/benchmark_data.json",
    ]
    (one,) = found.rows
    assert one.values == {"step_time@ccl-bench": 1.5, "mfu@ccl-bench": 0.25, "memcpy_bandwidth@ccl-bench": 2e9}
    assert one.missing == {"scale_up_bandwidth_gain@ccl-bench": "the source has none"}
    assert (one.workload["kind"], one.workload["precision"], one.workload["batch_size"]) == ("train", "bfloat16", 32)
    assert (one.hardware["vendor"], one.hardware["device"], one.hardware["count"]) == ("nvidia", "A100", 8)
    assert one.hardware["scaleout_bandwidth"] == 25e9
    assert (one.workload["description"], one.settings["iterations"]) == ("A workload.", 6)
    assert codes(one) == []
    assert {*one.shows, *one.cannot_show} == set(TOPICS)


def test_each_value_carries_their_definition_and_where_ours_differs(tmp_path: Path) -> None:
    write_table(tmp_path, row("one", {"mfu": 25.0, "avg_step_time": 1.0}))
    mfu = next(each for each in read(tmp_path).quantities if each.name == "mfu")
    assert mfu.definition == "Percentage of peak FLOPs used"
    assert mfu.note is not None
    assert "above 1 is not taken" in mfu.note
    assert mfu.metric == "mfu@ccl-bench"


def test_row_and_card_that_disagree_are_told_field_by_field(tmp_path: Path) -> None:
    write_card(tmp_path, "one", changed(CARD, workload__data__input_len=1024))
    write_table(tmp_path, row("one", {"mfu": 1.0}, iteration=3))
    (one,) = read(tmp_path).rows
    (problem,) = one.problems
    assert problem.code == "row_and_card_disagree"
    assert problem.what == "iteration: row 3, card 6; input_len: row nothing, card 1024"


@pytest.mark.parametrize(
    ("metrics", "metadata", "metric", "reason"),
    [
        ({"mfu": 2454.0}, {}, "mfu@ccl-bench", "2454 % cannot be true"),
        ({"mfu": -1}, {}, "mfu@ccl-bench", "stands for nothing"),
        (
            {"communication_fraction": 0.0},
            {"comm_library": "Gloo"},
            "communication_share@ccl-bench",
            "Gloo communicates",
        ),
        ({"total_communication_time": 0.0}, {"comm_library": "gloo"}, "communication_time@ccl-bench", "on the host"),
        ({"compute_comm_overlap": 82.5}, {"total_count": 1}, "overlap_share@ccl-bench", "one device"),
        ({"straggler": 0.0}, {}, "straggler_delay@ccl-bench", "stands for nothing"),
        ({"memory_transfer_overhead": 0.0}, {}, "exposed_copy_share@ccl-bench", "copies of JSON traces"),
        ({"moe_fraction": 0.0}, {"moe": True}, "moe_share@ccl-bench", "no kernel's name"),
        (
            {"total_communication_time": 3.0, "collective_vol_total_gb": 0.0},
            {},
            "collective_bytes@ccl-bench",
            "communication took 3 s",
        ),
    ],
)
def test_what_cannot_be_a_value_is_absent_with_a_reason(
    tmp_path: Path, metrics: dict[str, float], metadata: dict[str, object], metric: str, reason: str
) -> None:
    write_table(tmp_path, row("one", metrics, **metadata))
    (one,) = read(tmp_path).rows
    assert metric not in one.values
    assert reason in one.missing[metric]


def test_what_is_a_value_stays_one(tmp_path: Path) -> None:
    metrics = {"moe_fraction": 0.0, "communication_fraction": 0.0, "total_communication_time": 0.0, "straggler": 0.25}
    write_table(tmp_path, row("one", metrics))
    (one,) = read(tmp_path).rows
    assert one.values == {
        "moe_share@ccl-bench": 0.0,
        "communication_share@ccl-bench": 0.0,
        "communication_time@ccl-bench": 0.0,
        "straggler_delay@ccl-bench": 0.25,
    }


def test_bandwidth_that_is_printed_as_gb_is_gib(tmp_path: Path) -> None:
    write_table(tmp_path, row("one", {"bandwidth_utilization_allgather_group_6": 10.0}))
    (one,) = read(tmp_path).rows
    assert one.values == {"all_gather_bandwidth@ccl-bench": 10 * 2**30}


def test_exposed_communication_that_is_longer_than_its_step_is_told(tmp_path: Path) -> None:
    write_table(tmp_path, row("one", {"avg_step_time": 1.0, "total_communication_time": 2.5}))
    (one,) = read(tmp_path).rows
    assert codes(one) == ["no_card", "exceeds_step"]
    assert "2.5 s is published as exposed in a step of 1 s" in one.problems[1].what


def test_a_treatment_that_the_source_did_not_see_is_told(tmp_path: Path) -> None:
    description = "Standard workload. Kineto still showed NCCL kernels for this workload, indicating fallback."
    seen = "MSCCL++ native kernels rather than the NCCL fallback."
    for name, text in (("not", description), ("seen", seen)):
        card = changed(CARD, description=text, Model_0_executor__communication_library__name="MSCCL++ audit shim")
        write_card(tmp_path, name, card)
    found = by_id(read(tmp_path))
    (problem,) = found["not"].problems
    assert problem.code == "treatment_not_observed"
    assert problem.what.startswith("treatment not observed (stated by the source): MSCCL++ audit shim;")
    assert found["seen"].problems == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"workload__hardware__network_topo__bandwidth_gbps": [600, 25]}, "turned round"),
        ({"workload__hardware__network_topo__bandwidth_gbps": [600]}, "one number"),
        ({"workload__hardware__network_topo__bandwidth_gbps": 600}, "one number"),
        ({"workload__data__batch_size": [8, 16]}, "batch_size is a list"),
        ({"workload__data__output_len": 128}, "output_len 128 on a training card"),
        (
            {"workload__hardware__xpu_spec__type": "TPU", "Model_0_executor__protocol_selection": ["rocev2"]},
            "protocol rocev2 on a TPU card",
        ),
    ],
)
def test_untidy_cards_are_read_and_told(tmp_path: Path, change: dict[str, object], said: str) -> None:
    write_card(tmp_path, "one", changed(CARD, **change))
    (one,) = read(tmp_path).rows
    assert any(said in each.what for each in one.problems), one.problems


@pytest.mark.parametrize("nothing", ["N/A", "TBD", "", None, [None], "None"])
def test_bandwidths_that_stand_for_nothing_are_left_out(tmp_path: Path, nothing: object) -> None:
    write_card(tmp_path, "one", changed(CARD, workload__hardware__network_topo__bandwidth_gbps=[nothing, 2400]))
    (one,) = read(tmp_path).rows
    assert "scaleout_bandwidth" not in one.hardware
    assert one.hardware["scaleup_bandwidth"] == 300e9


def test_names_in_many_spellings_are_one(tmp_path: Path) -> None:
    change = {"Model_0_executor__framework__name": "torchtitan-0.1.0", "workload__data__batch_size": [32]}
    card = changed(CARD, **change, Model_0_executor__communication_library__name="mscclpp")
    card["workload"]["model"] |= card["workload"]["model"].pop("model_arch") | {"num_active_params": 5}
    card["workload"]["Model-executor"] = card.pop("Model-executor")
    write_card(tmp_path, "one", card, "one.yaml.yaml")
    (one,) = read(tmp_path).rows
    assert (one.id, one.framework, one.framework_version) == ("one", "torchtitan", "0.1.0")
    assert one.settings["communication_library"] == "MSCCL++"
    assert one.workload["batch_size"] == 32
    assert one.workload["architecture"] == {"parameters": 8030261248, "layers": 32, "active_parameters": 5}
    assert codes(one) == ["untidy_card"] * 3


def test_unknown_keys_of_a_card_are_kept(tmp_path: Path) -> None:
    card = changed(CARD, workload__data__max_0_num_0_seqs=64, collection_notes={"total_steps": 6, "empty": None})
    card["workload"]["Model-executor"] = {**card.pop("Model-executor"), "expert_parallel": {"top_k": 2}}
    write_card(tmp_path, "one", {**card, "contact": "somebody@example.org"})
    (one,) = read(tmp_path).rows
    assert one.settings["card"] == {
        "workload.data.max-num-seqs": 64,
        "collection_notes.total_steps": 6,
        "Model-executor.expert_parallel.top_k": 2,
    }


def test_a_card_that_cannot_be_read_is_told_and_the_rest_is_taken(tmp_path: Path) -> None:
    write_card(tmp_path, "broken", "version: 1\nworkload: {\n")
    write_card(tmp_path, "newer", changed(CARD, version=2))
    write_card(tmp_path, "one", CARD)
    write_table(tmp_path, row("broken", {"mfu": 10.0}))
    found = read(tmp_path)
    assert sorted(codes(found)) == ["broken_card", "unknown_version"]
    assert {each.id: each.state for each in found.rows} == {"broken": "completed", "one": "described"}
    assert "no_card" in codes(by_id(found)["broken"])


def test_definitions_of_workloads_and_the_template_are_no_cards(tmp_path: Path) -> None:
    write_card(tmp_path, "one", CARD)
    without = {key: value for key, value in CARD.items() if key != "Model-executor"}
    write_card(tmp_path, "suite", without)
    write_card(tmp_path, "workload_card_template", CARD)
    found = read(tmp_path)
    assert [each.id for each in found.rows] == ["one"]
    assert codes(found) == ["no_result"]


def test_the_launch_file_beside_a_card_tells_the_work_of_a_step(tmp_path: Path) -> None:
    for name, local in (("same", 4), ("other", 1)):
        path = write_card(tmp_path, name, CARD)
        (path.parent / "workload.toml").write_text(TOML.format(local=local))
    found = by_id(read(tmp_path))
    assert found["same"].workload["tokens_per_step"] == 32 * 1024
    assert found["same"].shows["work_per_step"] == "32 sequences, 32,768 tokens (launch file workload.toml)"
    assert codes(found["same"]) == []
    assert found["other"].workload["samples_per_step"] == 8
    assert codes(found["other"]) == ["launch_and_card_disagree"]
    assert found["same"].settings["launch_files"] == ["trace_collection/same/workload.toml"]


def test_two_launch_files_tell_nothing(tmp_path: Path) -> None:
    path = write_card(tmp_path, "one", CARD)
    for name in ("a.toml", "b.toml"):
        (path.parent / name).write_text(TOML.format(local=4))
    (one,) = read(tmp_path).rows
    assert "2 launch configurations" in one.cannot_show["work_per_step"]
    assert "samples_per_step" not in one.workload


def test_a_batch_counts_only_when_the_card_calls_it_global(tmp_path: Path) -> None:
    write_card(tmp_path, "silent", CARD)
    write_card(tmp_path, "global", changed(CARD, workload__data__batch_size_scope="global"))
    found = by_id(read(tmp_path))
    assert "work_per_step" in found["silent"].cannot_show
    assert found["global"].workload["samples_per_step"] == 32


def test_traces_beside_a_card_are_told(tmp_path: Path) -> None:
    path = write_card(tmp_path, "one", CARD)
    (path.parent / "rank0_trace.json").write_text("{}")
    write_card(tmp_path, "two", changed(CARD, trace_url="https://example.org/trace"))
    found = by_id(read(tmp_path))
    assert found["one"].shows["trace"] == "beside the card: rank0_trace.json"
    assert found["two"].shows["trace"] == "elsewhere, not fetched: https://example.org/trace"


def history(path: Path, *lines: str) -> Path:
    path.write_text(HISTORY + "".join(f"{line}\n" for line in lines))
    return path


GOOD = '0,0,"{""tp"": 4, ""dp"": 4}","{""avg_step_time"": 9.02}",9.02,success,,9.02,'
BAD = (
    '1,1,"{""tp"": 2, ""dp"": 8}",{},inf,error,"exit 1: line\ntorch.OutOfMemoryError: CUDA out of memory\n====",9.02,3'
)


def test_a_tuning_history_keeps_its_failures_and_inf_is_no_value(tmp_path: Path) -> None:
    found = collection("ccl-bench", history(tmp_path / "1_titan_best.csv", GOOD, BAD))
    good, bad = found.rows
    assert (good.id, good.framework, good.values) == ("1_titan_best/0", "torchtitan", {"step_time@ccl-bench": 9.02})
    assert good.settings["tp"] == 4
    assert (bad.state, bad.failure, bad.values) == ("failed", "torch.OutOfMemoryError: CUDA out of memory", {})
    assert bad.missing == {"step_time@ccl-bench": "the trial failed"}
    assert "does not tell the batch" in good.cannot_show["work_per_step"]


def test_the_user_can_state_the_work_that_a_history_does_not_tell(tmp_path: Path) -> None:
    path = history(tmp_path / "1_titan_best.csv", GOOD, BAD)
    work = Work("*_titan_best/*", "work.yaml:2", "its launch script", samples=32, tokens=32768)
    good, _ = collection("ccl-bench", path, Facts(work=(work,))).rows
    assert good.workload["tokens_per_step"] == 32768
    said = "32 samples and 32,768 tokens, stated by who imported it: its launch script"
    assert good.shows["work_per_step"] == said
    with pytest.raises(InputError, match="no row is named like 'x/\\*'"):
        collection("ccl-bench", path, Facts(work=(Work("x/*", "work.yaml:2", "s", samples=1),)))


def test_the_runs_on_a_card_are_trials(tmp_path: Path) -> None:
    runs = [
        {"config": {"tp": 4}, "metrics": {"avg_step_time": 0.5, "score": 0.5}, "status": "success", "error_msg": None},
        {"config": {"tp": 2}, "metrics": {}, "status": "error", "error_msg": "generate_config raised: 'name'"},
    ]
    write_card(tmp_path, "one", {**CARD, "runs": runs})
    good, bad = read(tmp_path).rows
    assert (good.id, good.values, good.workload["parallelism"]) == (
        "one/run-0",
        {"step_time@ccl-bench": 0.5},
        {"tp": 4},
    )
    assert good.workload["model"] == "llama-3.1-8b"
    assert (bad.state, bad.failure) == ("failed", "generate_config raised: 'name'")


def test_rows_that_stand_twice_are_taken_once_and_two_of_one_name_apart(tmp_path: Path) -> None:
    write_table(tmp_path, row("one", {"mfu": 1.0}), row("one", {"mfu": 1.0}), row("one", {"mfu": 2.0}))
    found = read(tmp_path)
    assert {each.id: each.values["mfu@ccl-bench"] for each in found.rows} == {"one": 0.01, "one#2": 0.02}
    assert sorted(codes(found)) == ["duplicate", "same_name"]


def test_a_hundred_thousand_trials(tmp_path: Path) -> None:
    line = '{n},0,"{{""tp"": {n}}}","{{""avg_step_time"": {n}.5}}",1,success,,1,'
    path = history(tmp_path / "long.csv", *(line.format(n=n) for n in range(100_000)))
    found = collection("ccl-bench", path)
    assert len(found.rows) == 100_000
    assert found.rows[-1].values == {"step_time@ccl-bench": 99_999.5}


@real
def test_the_public_data_gives_the_known_answers() -> None:
    assert SHARED is not None
    found = read(Path(SHARED) / "data" / "ccl-bench")
    rows = by_id(found)
    with_code = {
        code: [each.id for each in found.rows if code in codes(each)] for each in found.rows for code in codes(each)
    }
    assert codes(found).count("broken_card") == 1
    assert len(with_code["row_and_card_disagree"]) == 10
    assert len(with_code["exceeds_step"]) == 47
    assert [each.what for each in found.problems if each.code == "one_number_twice"] == [
        "tpot equals avg_step_time in 53 of 53 rows: it is no TPOT"
    ]
    assert sorted(with_code["treatment_not_observed"]) == [
        "deepseek_v3_16b_ep4_dp2_tp4_w8_batch8_seq1024-mscclpp-perlmutter",
        "deepseek_v3_16b_ep8_dp2_tp4_w8_batch8_seq1024-mscclpp-perlmutter",
        "deepseek_v3_16b_w8_batch8_seq1024-mscclpp-perlmutter",
        "llama3_8b_w8_batch32_seq1024-mscclpp-perlmutter",
    ]
    table_rows = [each for each in found.rows if each.state == "completed" and "history_file" not in each.settings]
    assert len(table_rows) == 102
    for part, best in (("titan_best", 1.499781809), ("megatron_best", 0.4427202638125)):
        trials = [each for each in found.rows if part in each.id]
        assert min(each.values["step_time@ccl-bench"] for each in trials if each.values) == best
        assert all("work_per_step" in each.cannot_show for each in trials)
    assert rows["llama3_8b_w8_batch32_seq1024-nccl-perlmutter"].workload["samples_per_step"] == 32


@real
def test_the_public_table_is_taken_number_by_number() -> None:
    assert SHARED is not None
    path = Path(SHARED) / "data" / "ccl-bench" / "website" / "benchmark_data.json"
    rows = by_id(collection("ccl-bench", path))
    for each in json.loads(path.read_text())["rows"]:
        step = each["metrics"].get("avg_step_time")
        assert rows[each["trace"].rstrip("/").split("/")[-1]].values.get("step_time@ccl-bench") == step
