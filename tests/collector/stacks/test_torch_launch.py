"""The launched script, really run."""

import gzip
import json
import math
import shutil
from dataclasses import replace
from itertools import pairwise

import pytest

from collector.stacks.registry import ADAPTERS
from ledger import parquet
from ledger.run import Reason
from tests.collector.stacks.launching import launch, make_trial

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def eager(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eager")
    return launch(make_trial(folder, {"micro_batch_size": 4}), folder)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    return launch(make_trial(folder, {"micro_batch_size": 4}, role="profiled"), folder)


def steps(launched):
    return parquet.read(launched.run / "samples/steps.parquet").to_pydict()


def summary(launched):
    return json.loads((launched.run / "samples/summary.json").read_bytes())


def test_every_step_is_recorded_in_order(eager):
    assert (eager.ending.exit_code, eager.observed.complete, eager.observed.absent) == (0, True, {})
    found = steps(eager)
    assert found["step"] == list(range(30))
    assert found["phase"] == ["warmup"] * 2 + ["measured"] * 28
    assert set(found["samples"]) == {8}
    assert set(found["tokens"]) == {128}
    ends = [start + duration for start, duration in zip(found["start_ns"], found["duration_ns"], strict=True)]
    assert all(end <= start for end, start in zip(ends, found["start_ns"][1:], strict=False))


def test_the_model_learns_and_cannot_beat_the_chain(eager):
    found = summary(eager)
    assert found["first_loss"] == pytest.approx(math.log(64), abs=0.2)
    assert found["lowest_possible_loss"] < found["evaluation_loss"] < 3.0


def test_summary_holds_work_and_what_torch_uses(eager):
    found = summary(eager)
    layer = 4 * 16 * 16 + 3 * 16 * 32 + 2 * 16
    parameters = layer + 2 * 64 * 16 + 16
    assert found["parameters"] == parameters
    assert found["flops_per_step"] == 8 * 16 * (6 * (parameters - 64 * 16) + 12 * 1 * 16 * 16)
    assert found["defaults"]["threads"] == 1
    assert found["peak_memory_bytes"] > 50_000_000


def test_card_says_what_was_trained(eager):
    card = ADAPTERS["torch"].card(eager.trial, eager.run)
    assert card["workload"]["model"]["model_arch"]["num_params"] == summary(eager)["parameters"]
    assert card["workload"]["model"]["precision"] == "fp32"
    assert card["workload"]["model"]["epochs"] == 1
    assert card["workload"]["work_per_step"] == {"samples": 8, "tokens": 128}
    assert card["workload"]["acceptance"]["rule"] == "<= 3"
    framework = card["Model-executor"]["framework"]
    assert framework["version"] == summary(eager)["torch_version"]
    assert framework["settings"]["micro_batch_size"] == 4
    assert card["metric_source"] == {"traces": []}
    assert "hardware" not in card["workload"]


def test_runs_again_elsewhere_from_the_folder_alone(eager, tmp_path):
    shutil.copytree(eager.run / "launch", tmp_path / "a place with spaces/launch")
    again = launch(eager.trial, tmp_path / "again", tmp_path / "a place with spaces/launch/run.sh")
    assert steps(again)["loss"] == steps(eager)["loss"]


def test_repeats_differ_by_seed_and_share_the_evaluation_data(eager, tmp_path):
    other = launch(make_trial(tmp_path, {"micro_batch_size": 4}, repeat=2), tmp_path)
    assert steps(other)["loss"][0] != steps(eager)["loss"][0]
    assert ADAPTERS["torch"].digests(other.trial) == ADAPTERS["torch"].digests(eager.trial)


def test_micro_batches_and_attention_do_not_change_the_work(eager, tmp_path):
    other = launch(make_trial(tmp_path, {"attention": "math"}), tmp_path)
    assert steps(other)["loss"] == pytest.approx(steps(eager)["loss"], rel=1e-4)


def test_bfloat16_learns_too(eager, tmp_path):
    trial = make_trial(tmp_path, {"micro_batch_size": 4})
    model = trial.benchmark.workload.model.model_copy(update={"precision": "bfloat16"})
    workload = trial.benchmark.workload.model_copy(update={"model": model})
    changed = trial.benchmark.model_copy(update={"workload": workload})
    found = launch(replace(trial, benchmark=changed), tmp_path)
    assert found.observed.complete
    assert steps(found)["loss"] != steps(eager)["loss"]
    assert steps(found)["loss"] == pytest.approx(steps(eager)["loss"], abs=0.1)


def test_trace_holds_the_profiled_steps_with_shapes_and_memory(profiled):
    assert profiled.observed.complete, profiled.observed.detail
    assert steps(profiled)["phase"] == ["warmup"] * 2 + ["measured"] * 25 + ["warmup"] + ["profiled"] * 2
    events = json.loads(gzip.decompress((profiled.run / "traces/rank-0.json.gz").read_bytes()))["traceEvents"]
    marks = sorted(event["name"] for event in events if event["name"].startswith("ProfilerStep"))
    assert marks == ["ProfilerStep#28", "ProfilerStep#29"]
    assert any(event["name"].startswith("enumerate(DataLoader)") for event in events)
    assert any(event["name"] == "[memory]" for event in events)
    products = [event for event in events if event["name"] == "aten::mm"]
    assert all(event["args"]["Input Dims"] for event in products)
    assert ADAPTERS["torch"].card(profiled.trial, profiled.run)["metric_source"] == {"traces": ["json"]}


def test_counted_flops_agree_with_the_formula(profiled):
    found = summary(profiled)
    assert found["counted_flops_per_step"] == pytest.approx(found["flops_per_step"], rel=0.05)
    assert sum(found["counted_flops_by_operator"].values()) == found["counted_flops_per_step"]


def test_breaking_the_memory_limit_is_out_of_memory(tmp_path):
    found = launch(make_trial(tmp_path, {}, memory_limit="40 MiB"), tmp_path)
    assert found.ending.exit_code != 0
    assert not found.observed.complete
    assert ADAPTERS["torch"].failure_reason(found.ending) is Reason.OUT_OF_MEMORY


def test_other_data_than_planned_is_an_error(eager, tmp_path):
    folder = tmp_path / "launch"
    shutil.copytree(eager.run / "launch", folder)
    config = json.loads((folder / "trial.json").read_text())
    config["dataset"]["seed"] += 1
    (folder / "trial.json").write_text(json.dumps(config))
    found = launch(eager.trial, tmp_path / "again", folder / "run.sh")
    assert found.ending.exit_code == 1
    assert "the data set's digest is" in found.ending.log_tail[0]


@pytest.mark.faults
def test_compiled_training_has_the_same_loss_and_a_warm_cache_hits(eager, tmp_path):
    cold = launch(make_trial(tmp_path, {"micro_batch_size": 4, "compile": True}, role="warmup"), tmp_path / "cold")
    assert cold.observed.complete, cold.ending.log_tail
    assert steps(cold)["loss"] == pytest.approx(steps(eager)["loss"], rel=1e-3)
    assert summary(cold)["compile_cache_misses"] > 0
    trial = make_trial(tmp_path, {"micro_batch_size": 4, "compile": True})
    (tmp_path / "warm").mkdir()
    shutil.copytree(tmp_path / "cold/workspace", tmp_path / "warm/workspace")
    warm = launch(trial, tmp_path / "warm")
    assert summary(warm)["compile_cache_misses"] == 0
    assert steps(warm)["loss"] == steps(cold)["loss"]


def test_losses_fall_on_the_whole(eager):
    found = steps(eager)["loss"]
    thirds = [sum(found[start : start + 10]) for start in (0, 10, 20)]
    assert all(later < earlier for earlier, later in pairwise(thirds))
