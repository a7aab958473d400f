"""What the ranks of a job left behind."""

import gzip
import json

import pytest

from collector.stacks.registry import ADAPTERS
from ledger import parquet
from tests.collector.stacks.launching import make_trial

FSDP = {"data_parallel": 2, "data_parallel_mode": "fsdp2"}
ZERO = {"zero_stage": 1, "data_parallel": 2}
PROFILE = """
Profile Summary at step 3:
params per GPU:                                                         7.25 K
fwd MACs per GPU:                                                       229.38 KMACs
fwd flops per GPU:                                                      460.8 K
fwd latency:                                                            2.35 ms
bwd FLOPS per GPU = 2 * fwd flops per GPU / bwd latency:                140.07 MFLOPS
step latency:                                                           1.2 s
iter latency:                                                           soon
depth 0:
    fwd latency - {'Llama': '1.8 Gs'}
"""


def line(step, rank, **changes):
    row = {"step": step, "phase": "measured", "start_ns": 1000 + 10 * step, "duration_ns": 5 + rank, "loss": 2.0 + rank}
    return json.dumps({**row, **changes})


def collect(tmp_path, lines_by_rank, role="timed", adapter="torch", settings=FSDP, files=()):
    out = tmp_path / "out"
    (out / "ranks").mkdir(parents=True)
    for rank, lines in enumerate(lines_by_rank):
        (out / f"steps-rank-{rank}.jsonl").write_text("\n".join(lines))
        (out / "summary.json").write_text('{"evaluation_loss": 1.5}')
    for name, content in dict(files).items():
        (out / name).write_bytes(content)
    trial = make_trial(tmp_path / "benchmark", settings, role=role, adapter=adapter)
    return ADAPTERS[adapter].collect(trial, out, tmp_path / "run")


def whole(rank):
    return [line(step, rank) for step in range(30)]


def test_steps_are_of_the_whole_job_and_each_ranks_own_are_kept(tmp_path):
    observed = collect(tmp_path, [whole(0), whole(1)])
    assert observed.complete, observed.detail
    steps = parquet.read(tmp_path / "run/samples/steps.parquet").to_pydict()
    assert (steps["duration_ns"], steps["loss"]) == ([6] * 30, [2.5] * 30)
    assert (set(steps["samples"]), set(steps["tokens"])) == ({8}, {128})
    ranks = parquet.read(tmp_path / "run/samples/ranks.parquet").to_pydict()
    assert ranks["rank"] == [0, 1] * 30
    assert ranks["duration_ns"] == [5, 6] * 30


def test_a_rank_that_was_killed_leaves_the_steps_that_all_finished(tmp_path):
    observed = collect(tmp_path, [whole(0), whole(1)[:7]])
    assert observed.detail == "7 of 30 steps were written by all 2 ranks"
    assert parquet.read(tmp_path / "run/samples/steps.parquet").num_rows == 7


def test_a_cut_off_line_is_told(tmp_path):
    observed = collect(tmp_path, [whole(0), [*whole(1)[:7], '{"step": 7, "ph']])
    assert observed.detail == "7 of 30 steps are whole on all 2 ranks, 1 lines are not"


def test_logs_of_the_launcher_alone_are_no_output(tmp_path):
    observed = collect(tmp_path, [])
    assert (observed.complete, observed.anything) == (False, False)


def test_every_rank_must_leave_its_trace(tmp_path):
    trace = gzip.compress(b'{"traceEvents": []}')
    observed = collect(tmp_path, [whole(0), whole(1)], "profiled", files={"rank-0.json.gz": trace})
    assert observed.detail == "the profiler wrote no trace of rank 1"
    files = {"rank-0.json.gz": trace, "rank-1.json.gz": trace[:-9]}
    observed = collect(tmp_path / "cut", [whole(0), whole(1)], "profiled", files=files)
    assert observed.detail.startswith("the trace of rank 1 is not whole")


def test_what_deepspeed_measured_itself_becomes_numbers(tmp_path):
    communication = {"all_reduce": {"1024": {"count": 3}}}
    files = {
        "deepspeed.json": json.dumps({"communication": communication, "wall_clock_ms": [{"fwd": 1.5}]}).encode(),
        "flops-profile.txt": PROFILE.encode(),
    }
    observed = collect(tmp_path, [whole(0), whole(1)], "warmup", "deepspeed", ZERO, files)
    assert (observed.complete, observed.absent) == (True, {})
    found = json.loads((tmp_path / "run/samples/deepspeed.json").read_bytes())
    assert found["communication"] == communication
    assert found["flops_profile"] == {
        "parameters_per_rank": 7250,
        "forward_macs_per_rank": pytest.approx(229380),
        "forward_flops_per_rank": 460800,
        "forward_s": pytest.approx(0.00235),
        "optimizer_s": 1.2,
    }
    assert (tmp_path / "run/logs/deepspeed-flops-profile.log").read_text() == PROFILE


@pytest.mark.parametrize("broken", [b"", b"[1]", b"{", b"[" * 100_000, b"\xff\x00"])
def test_what_deepspeed_did_not_measure_is_absent_with_its_reason(tmp_path, broken):
    files = {"deepspeed.json": broken, "flops-profile.txt": broken}
    observed = collect(tmp_path, [whole(0), whole(1)], "warmup", "deepspeed", ZERO, files)
    assert observed.complete
    assert set(observed.absent) == {"deepspeed", "deepspeed_flops_profile"}
    assert not (tmp_path / "run/samples/deepspeed.json").exists()


def test_only_the_warm_up_launch_has_deepspeeds_own_measurements(tmp_path):
    assert collect(tmp_path, [whole(0), whole(1)], "timed", "deepspeed", ZERO).absent == {}
