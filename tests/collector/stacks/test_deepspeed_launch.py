"""Training with DeepSpeed, really run.

Its extensions are built once, which takes minutes. STACKPROOF_TEST_EXTENSIONS names a folder that keeps them from one
run of the tests to the next.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import collector
from collector.stacks.registry import ADAPTERS
from ledger.run import Reason
from tests.collector.stacks.launching import events, launch, make_trial, steps, summary
from tests.collector.stacks.test_ranked_launch import same_work

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(
        importlib.util.find_spec("deepspeed") is None, reason="needs DeepSpeed: pip install 'stackproof[deepspeed]'"
    ),
]
BUILD = Path(collector.__file__).parent / "stacks/launch/build_ops.py"
ZERO = {"data_parallel": 2, "micro_batch_size": 2}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    kept = os.environ.get("STACKPROOF_TEST_EXTENSIONS")
    return Path(kept) if kept else tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    folder = tmp_path_factory.mktemp("single")
    return launch(make_trial(folder, {}), folder)


@pytest.fixture(scope="module")
def warmup(tmp_path_factory, workspace):
    """ZeRO-3 with offloading: the launch that builds both extensions."""
    folder = tmp_path_factory.mktemp("warmup")
    settings = {**ZERO, "zero_stage": 3, "offload_optimizer": "cpu"}
    trial = make_trial(folder, settings, role="warmup", adapter="deepspeed")
    return launch(trial, folder, workspace=workspace, limit_s=900)


def test_the_warm_up_launch_does_the_same_work_and_builds_the_extensions_into_the_workspace(warmup, single, workspace):
    same_work(warmup, single)
    built = {path.name for path in (workspace / ".stackproof/cache/deepspeed").glob("*/*/*.so")}
    assert built == {"cpu_adam.so", "deepspeed_shm_comm.so"}


def test_deepspeeds_own_measurements_are_numbers_in_the_warm_up_launch(warmup):
    assert warmup.observed.absent == {}
    found = json.loads((warmup.run / "samples/deepspeed.json").read_bytes())
    gathered = found["communication"]["all_gather_into_tensor"]
    assert sum(each["count"] for each in gathered.values()) > 30
    assert [set(step) >= {"fwd", "bwd", "step"} for step in found["wall_clock_ms"]] == [True] * 30
    # Each call with its own time: all calls together cannot have taken longer than the steps and the start.
    total = sum(each["total_latency_ms"] for sizes in found["communication"].values() for each in sizes.values())
    assert 0 < total < sum(steps(warmup)["duration_ns"]) / 1e6 + 10_000
    assert found["flops_profile"]["parameters_per_rank"] == pytest.approx(summary(warmup)["parameters"], rel=0.01)
    assert found["flops_profile"]["forward_s"] > 0
    assert "Comm. Op" in (warmup.out.parent / "stdout.log").read_text()


def test_card_holds_deepspeeds_version_and_resolved_configuration(warmup):
    card = ADAPTERS["deepspeed"].card(warmup.trial, warmup.run)["Model-executor"]
    assert card["framework"]["name"] == "deepspeed"
    assert card["framework"]["version"]
    assert card["framework"]["defaults"]["zero_optimization"]["stage"] == 3
    assert card["framework"]["defaults"]["zero_optimization"]["param_persistence_threshold"] > 0
    assert card["framework"]["defaults"]["optimizer"] == "DeepSpeedCPUAdam"
    assert card["framework"]["defaults"]["gradient_clipping"] == 0
    assert card["model_plan_parallelization"]["dp_shard"] == 2
    assert card["communication_library"] == {"name": "gloo"}


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_every_stage_does_the_work_of_one_process(warmup, single, workspace, tmp_path, stage):
    role = "profiled" if stage == 2 else "timed"
    trial = make_trial(tmp_path, {**ZERO, "zero_stage": stage}, role=role, adapter="deepspeed")
    found = launch(trial, tmp_path, workspace=workspace, limit_s=120)
    same_work(found, single)
    assert len(summary(found)["peak_memory_bytes_by_rank"]) == 2
    if role == "profiled":
        for rank in (0, 1):
            marks = {
                e["name"] for e in events(found.run / f"traces/rank-{rank}.json.gz") if "ProfilerStep" in e["name"]
            }
            assert marks == {"ProfilerStep#28", "ProfilerStep#29"}


def test_mixed_precision_and_checkpoints_learn_alike(single, warmup, workspace, tmp_path):
    settings = {**ZERO, "zero_stage": 3, "activation_checkpointing": True}
    trial = make_trial(tmp_path, settings, precision="bfloat16", adapter="deepspeed")
    found = launch(trial, tmp_path, workspace=workspace, limit_s=120)
    assert steps(found)["loss"] != steps(single)["loss"]
    assert steps(found)["loss"] == pytest.approx(steps(single)["loss"], rel=5e-3)


def build(cache, *operators, **variables):
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "DS_ACCELERATOR": "cpu", **variables}
    command = [sys.executable, BUILD, cache, *operators]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_a_lock_that_a_killed_build_left_is_removed_and_one_that_is_held_is_not(warmup, workspace, tmp_path):
    cache = workspace / ".stackproof/cache/deepspeed"
    folder = Path(build(cache, "cpu_adam").stdout.strip())
    lock = folder / "cpu_adam/lock"
    with lock.open("w"):
        assert build(cache, "cpu_adam").returncode == 0
        assert lock.exists()
    found = build(cache, "cpu_adam")
    assert not lock.exists()
    assert "a build that was killed left it" in found.stderr


def test_an_extension_that_does_not_build_is_the_environments_fault(tmp_path):
    broken = tmp_path / "c++"
    broken.write_text('#!/bin/sh\ncase "$*" in *-c*) echo "no such instruction" >&2; exit 1;; esac\nexec g++ "$@"\n')
    broken.chmod(0o755)
    trial = make_trial(
        tmp_path,
        {**ZERO, "zero_stage": 1},
        adapter="deepspeed",
        environment={"variables": {"CXX": str(broken)}},
    )
    found = launch(trial, tmp_path)
    assert found.ending.exit_code != 0
    assert not found.observed.anything
    assert ADAPTERS["deepspeed"].failure_reason(found.ending) is Reason.ENVIRONMENT_FAILED
