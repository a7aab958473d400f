"""Training over two ranks, really run: equal work in every plan, traces of every rank, failures that end."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import collector
from collector.stacks.registry import ADAPTERS
from ledger import parquet
from ledger.run import Reason
from tests.collector.stacks.launching import events, launch, make_trial, steps, summary

pytestmark = pytest.mark.torch

SAME = 1e-5
"""Relative. The plans add the same 32-bit numbers in other orders: over 30 steps the losses differed by 2e-7 at most.

A wrong slice, scale or seed shows in the first steps as 1e-2 and more.
"""
PLANS = {
    "ddp": {"data_parallel": 2, "micro_batch_size": 2},
    "fsdp2": {"data_parallel": 2, "data_parallel_mode": "fsdp2", "activation_checkpointing": True},
    "tp": {"tensor_parallel": 2, "micro_batch_size": 4},
}


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    folder = tmp_path_factory.mktemp("single")
    return launch(make_trial(folder, {}), folder)


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    return launch(make_trial(folder, PLANS["fsdp2"], role="profiled"), folder)


def same_work(found, single):
    assert found.observed.complete, (found.observed.detail, found.ending.log_tail)
    assert steps(found)["loss"] == pytest.approx(steps(single)["loss"], rel=SAME)
    assert summary(found)["evaluation_loss"] == pytest.approx(summary(single)["evaluation_loss"], rel=SAME)
    assert summary(found)["evaluation_loss_spread"] == 0
    for same in ("parameters", "embedding_parameters", "flops_per_step"):
        assert summary(found)[same] == summary(single)[same]
    assert steps(found)["tokens"] == steps(single)["tokens"]
    assert steps(found)["phase"][:-3] == steps(single)["phase"][:-3]


@pytest.mark.parametrize("name", ["ddp", "tp"])
def test_every_plan_does_the_work_of_one_process(single, tmp_path, name):
    found = launch(make_trial(tmp_path, PLANS[name]), tmp_path)
    same_work(found, single)
    memory = summary(found)["peak_memory_bytes_by_rank"]
    assert len(memory) == 2
    assert summary(found)["peak_memory_bytes"] == max(memory)
    assert min(memory) > 50_000_000
    ranks = parquet.read(found.run / "samples/ranks.parquet").to_pydict()
    assert sorted(set(ranks["rank"])) == [0, 1]
    # In tensor parallel both ranks see the whole batch, in data parallel each its own slice.
    assert (ranks["loss"][0] == pytest.approx(ranks["loss"][1], rel=SAME)) is (name == "tp")


def test_profiled_ranks_do_the_same_work_and_each_leaves_its_trace(single, profiled):
    same_work(profiled, single)
    traces = sorted((profiled.run / "traces").iterdir())
    assert [path.name for path in traces] == ["rank-0.json.gz", "rank-1.json.gz"]
    for path in traces:
        found = events(path)
        marks = sorted(event["name"] for event in found if event["name"].startswith("ProfilerStep"))
        assert marks == ["ProfilerStep#28", "ProfilerStep#29"]
        names = {event["name"] for event in found}
        assert any(name.startswith("c10d::") for name in names)
        assert any("reduce_scatter" in name for name in names)
        assert "c10d::barrier" not in names
    assert ADAPTERS["torch"].card(profiled.trial, profiled.run)["metric_source"] == {"traces": ["json"]}


def test_card_says_how_the_work_is_split_and_what_the_ranks_talk_through(profiled):
    card = ADAPTERS["torch"].card(profiled.trial, profiled.run)["Model-executor"]
    plan = {"dp_replicate": 1, "dp_shard": 2, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "pp_mb": 1}
    assert card["model_plan_parallelization"] == plan
    assert card["communication_library"] == {"name": "gloo"}
    assert card["framework"]["defaults"]["ranks"] == 2
    assert card["framework"]["settings"]["activation_checkpointing"] is True


def test_mixed_precision_over_ranks_learns_as_one_process_does(tmp_path):
    one = launch(make_trial(tmp_path, {}, precision="bfloat16"), tmp_path / "one")
    settings = {**PLANS["fsdp2"], "activation_checkpointing": False}
    two = launch(make_trial(tmp_path, settings, precision="bfloat16"), tmp_path / "two")
    # 16-bit products are rounded at 4e-3; each rank rounds its own slice.
    assert steps(two)["loss"] == pytest.approx(steps(one)["loss"], rel=4e-3)


def changed(trial, tmp_path, before, after):
    """The trial's run.sh in a copy of its launch folder whose ranks.py reads `after` in place of `before`."""
    folder = tmp_path / "changed"
    ADAPTERS[trial.stack.adapter].write_launch(trial, folder)
    text = (folder / "ranks.py").read_text()
    assert before in text
    (folder / "ranks.py").write_text(text.replace(before, after))
    return folder / "run.sh"


def test_an_abort_on_the_way_out_does_not_hide_its_cause():
    from collector.stacks.launch import launch_ranks

    cause = ["Traceback (most recent call last):", "RuntimeError: DefaultCPUAllocator: not enough memory"]
    dump = ["terminate called after throwing an instance of 'c10::Error'", "Fatal Python error: Aborted", "Thread 0x1"]
    assert launch_ranks.before_abort([*cause, *dump]) == cause
    assert launch_ranks.before_abort(dump) == dump
    assert launch_ranks.before_abort(cause) == cause


IN_A_STEP = "            loss = trainer.step("
ON_RANK_1 = "            if place.rank == 1 and step == 3: {}\n" + IN_A_STEP


@pytest.mark.parametrize(
    ("does", "reason", "words"),
    [
        ("torch.empty(2**60)", Reason.OUT_OF_MEMORY, "DefaultCPUAllocator"),
        ("os.kill(os.getpid(), 9)", None, "rank 1 was ended by SIGKILL"),
        ("raise ZeroDivisionError('by rank 1')", None, "rank 1 ended with exit code 1: ZeroDivisionError: by rank 1"),
    ],
)
def test_a_rank_that_fails_ends_the_others_and_is_named_last(tmp_path, does, reason, words):
    trial = make_trial(tmp_path, PLANS["ddp"])
    found = launch(trial, tmp_path, changed(trial, tmp_path, IN_A_STEP, ON_RANK_1.format(does)), limit_s=60)
    assert found.ending.exit_code == 1
    log = (found.out.parent / "stderr.log").read_text().splitlines()
    assert words in log[-1]
    assert ADAPTERS["torch"].failure_reason(found.ending) is reason
    assert found.observed.detail.startswith("3 of 30 steps were written by all 2 ranks")


def test_breaking_the_memory_limit_is_out_of_memory_over_ranks_too(tmp_path):
    found = launch(make_trial(tmp_path, PLANS["ddp"], memory_limit="40 MiB"), tmp_path)
    assert found.ending.exit_code != 0
    assert ADAPTERS["torch"].failure_reason(found.ending) is Reason.OUT_OF_MEMORY


def test_a_rank_that_hangs_is_ended_with_all_the_others(tmp_path):
    trial = make_trial(tmp_path, PLANS["ddp"])
    script = changed(trial, tmp_path, IN_A_STEP, ON_RANK_1.format("time.sleep(3600)"))
    (tmp_path / "out").mkdir()
    supervisor = Path(collector.__file__).parent / "supervisor.py"
    variables = {"STACKPROOF_OUT": str(tmp_path / "out"), "STACKPROOF_WORKSPACE": str(tmp_path)}
    variables |= {"STACKPROOF_PYTHON": sys.executable, "PATH": "/usr/bin:/bin"}
    command = [sys.executable, supervisor, tmp_path / "result.json", "20", "sh", script]
    subprocess.run(command, env=variables, timeout=120)
    assert json.loads((tmp_path / "result.json").read_bytes())["timed_out"]
    assert (tmp_path / "out/steps-rank-0.jsonl").read_text().count("\n") == 3
    assert not [each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in str(each.info["cmdline"])]


@pytest.mark.faults
def test_blocks_compile_under_fully_shard(single, tmp_path):
    settings = {**PLANS["fsdp2"], "compile": True}
    found = launch(make_trial(tmp_path, settings, role="warmup"), tmp_path)
    same_work(found, single)
    assert summary(found)["compiled_graphs"] > 0


@pytest.mark.faults
def test_code_that_does_not_compile_is_the_environments_fault(tmp_path):
    broken = tmp_path / "c++"
    broken.write_text(
        '#!/bin/sh\ncase "$*" in *-c*|*-shared*) echo "no such instruction" >&2; exit 1;; esac\nexec g++ "$@"\n'
    )
    broken.chmod(0o755)
    settings = {"data_parallel": 2, "compile": True}
    trial = make_trial(tmp_path, settings, role="warmup", environment={"variables": {"CXX": str(broken)}})
    found = launch(trial, tmp_path)
    assert found.ending.exit_code == 1
    assert ADAPTERS["torch"].failure_reason(found.ending) is Reason.ENVIRONMENT_FAILED
