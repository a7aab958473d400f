"""Logs of TorchTitan and Megatron-LM: means of rates that are means of work, restarts, crashes, several ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.public import Row
from tests.collector.importers.made import codes, collection, refused

INFO = "[rank0]:[titan] 2025-06-04 08:{time} - root - INFO - {said}\n"
TITAN = "".join(
    INFO.format(time=time, said=said)
    for time, said in (
        ("51:40,000", "CUDA capacity: NVIDIA H100 80GB HBM3 with 95.04GiB memory"),
        ("51:40,100", "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]"),
        ("51:40,200", "\x1b[34mModel llama3 8B \x1b[31msize: 8,030,261,248 total parameters\x1b[39m"),
        (
            "51:41,000",
            "Training starts at step 1, with local batch size 1, global batch size 8, sequence length 1024, "
            "total steps 30 (warmup 2)",
        ),
        ("51:50,000", "\x1b[31mstep:  1  \x1b[32mloss: 12.2254  memory: 27.34GiB(28%)  tps: 375  mfu: 2.20%\x1b[39m"),
        ("51:59,000", "step: 10  loss: 10.7069  memory: 30.99GiB(32.62%)  tps: 1,000  tflops: 407.35  mfu: 40.00%"),
        ("52:19,000", "step: 30  loss:  8.9196  memory: 30.50GiB(32.62%)  tps: 2,000  tflops: 806.35  mfu: 50.00%"),
    )
)
ARGUMENTS = """\
  data_parallel_size .............................. 2
  global_batch_size ............................... 16
  num_layers ...................................... 32
  params_dtype .................................... torch.bfloat16
  pipeline_model_parallel_size .................... 2
  seq_length ...................................... 1024
  tensor_model_parallel_size ...................... 4
  world_size ...................................... 16
"""
ITERATION = (
    " [2025-04-13 23:41:12] iteration {step:8d}/      30 | consumed samples:          160 | "
    "elapsed time per iteration (ms): {ms} | throughput per GPU (TFLOP/s/GPU): {flops} | learning rate: 0.000000E+00 | "
    "global batch size:    16 | lm loss: {loss} | loss scale: 1.0 | number of skipped iterations:   0 | "
    "number of nan iterations:   0 |\n"
)
ITERATIONS = "".join(
    ITERATION.format(step=step, ms=ms, flops=flops, loss=loss)
    for step, ms, flops, loss in (
        (10, 9147.6, 10.0, "1.100000E+01"),
        (20, 1000.0, 100.0, "1.000000E+01"),
        (30, 3000.0, 50.0, "9.000000E+00"),
    )
)
MEGATRON = ARGUMENTS + ITERATIONS


def read(path: Path, text: str, name: str) -> Row:
    path.write_text(text)
    (row,) = collection(name, path).rows
    return row


def titan(tmp_path: Path, text: str = TITAN) -> Row:
    return read(tmp_path / "titan.log", text, "torchtitan-log")


def megatron(tmp_path: Path, text: str = MEGATRON) -> Row:
    return read(tmp_path / "megatron.log", text, "megatron-log")


def test_a_torchtitan_log(tmp_path: Path) -> None:
    row = titan(tmp_path)
    assert row.values == {
        "step_time@torchtitan-log": 1.0,
        "tokens_per_second_per_device@torchtitan-log": pytest.approx(29 / (9 / 1000 + 20 / 2000)),
        "mfu@torchtitan-log": pytest.approx(0.29 / (9 / 40 + 20 / 50)),
        "training_loss.last@torchtitan-log": 8.9196,
        "peak_memory@torchtitan-log": pytest.approx(30.99 * 2**30),
        "tokens_per_second@torchtitan-log": 8192.0,
    }
    assert (row.workload["model"], row.workload["tokens_per_step"]) == ("llama3 8B", 8192)
    assert row.workload["parallelism"] == {"dp_shard": 4, "tp": 2}
    assert (row.hardware["device"], row.hardware["count"]) == ("H100", 8)
    assert (row.state, codes(row)) == ("completed", [])


def test_a_megatron_log(tmp_path: Path) -> None:
    row = megatron(tmp_path)
    assert row.values == {
        "step_time@megatron-log": 2.0,
        "flops_per_device@megatron-log": pytest.approx(20 / (10 / 100 + 10 / 50) * 1e12),
        "training_loss.last@megatron-log": 9.0,
        "tokens_per_second@megatron-log": 8192.0,
    }
    assert row.workload["parallelism"] == {"tp": 4, "pp": 2, "dp": 2}
    assert (row.hardware["count"], row.workload["precision"]) == (16, "bfloat16")
    assert row.shows["work_per_step"] == "16 sequences, 16,384 tokens (the log)"


def test_other_ranks_do_not_count_twice(tmp_path: Path) -> None:
    lines = TITAN.splitlines(keepends=True)
    both = "".join(line + line.replace("[rank0]", "[rank1]").replace("1,000", "9,000") for line in lines)
    assert titan(tmp_path, both).values == titan(tmp_path).values


def test_of_several_launches_the_last_is_taken(tmp_path: Path) -> None:
    row = titan(tmp_path, TITAN.replace("1,000", "7,000") + TITAN)
    assert row.values == titan(tmp_path).values
    assert codes(row) == ["several_launches"]


@pytest.mark.parametrize("end", ["torch.OutOfMemoryError: CUDA out of memory.", "RuntimeError: boom"])
def test_a_run_that_crashed_is_failed_and_has_no_values(tmp_path: Path, end: str) -> None:
    trace = f"Traceback (most recent call last):\n  File x\n{end}\n"
    for row in (titan(tmp_path, TITAN + trace), megatron(tmp_path, MEGATRON + trace)):
        assert (row.state, row.failure, row.values) == ("failed", end, {})


def test_an_error_before_the_first_step_is_no_failure(tmp_path: Path) -> None:
    row = titan(tmp_path, "ImportError: optional module not found, going on\n" + TITAN)
    assert row.state == "completed"


def test_a_log_that_ends_early_says_so(tmp_path: Path) -> None:
    row = titan(tmp_path, TITAN.replace("total steps 30", "total steps 1000"))
    assert [each.what for each in row.problems] == ["the log ends at step 30 of 1000"]
    row = megatron(tmp_path, MEGATRON.replace("/      30", "/     500"))
    assert codes(row) == ["incomplete"]


def test_one_line_gives_no_time(tmp_path: Path) -> None:
    row = titan(tmp_path, "".join(TITAN.splitlines(keepends=True)[:5]))
    assert "no two lines" in row.missing["step_time@torchtitan-log"]
    assert row.values["training_loss.last@torchtitan-log"] == 12.2254


def test_what_is_no_number_is_absent(tmp_path: Path) -> None:
    row = titan(tmp_path, TITAN.replace("8.9196", "nan"))
    assert "training_loss.last@torchtitan-log" in row.missing
    row = megatron(tmp_path, MEGATRON.replace("9.000000E+00", "nan"))
    assert "training_loss.last@megatron-log" in row.missing


def test_a_log_without_arguments_tells_no_work(tmp_path: Path) -> None:
    row = megatron(tmp_path, ITERATIONS)
    assert "work_per_step" in row.cannot_show
    assert "tokens_per_second@megatron-log" in row.missing


def test_skipped_iterations_and_a_batch_that_grows_are_told(tmp_path: Path) -> None:
    grown = MEGATRON.replace("global batch size:    16 | lm loss: 9", "global batch size:    32 | lm loss: 9")
    row = megatron(
        tmp_path, grown.replace("skipped iterations:   0 | number of nan", "skipped iterations:   9 | number of nan")
    )
    assert codes(row) == ["changing_batch", "skipped_iterations"]
    assert "samples_per_step" not in row.workload


def test_a_folder_of_logs_and_bad_files(workspace: Path) -> None:
    Path("logs").mkdir()
    Path("logs/a.log").write_text(TITAN)
    Path("logs/b.log").write_text("nothing here\n")
    found = collection("torchtitan-log", Path("logs"))
    assert ([row.id for row in found.rows], codes(found)) == (["a"], ["other_format"])
    assert "is of no known format" in refused("auto", "logs/b.log")
    assert "has no step as TorchTitan logs it" in refused("torchtitan-log", "logs/b.log")
    assert "has no iteration as Megatron-LM logs it" in refused("megatron-log", "logs/b.log")
