import gzip
import json
from pathlib import Path

import pytest

from collector.stacks.registry import ADAPTERS
from ledger import parquet
from tests.collector.stacks.launching import make_trial


def line(step, **changes):
    row = {
        "step": step,
        "phase": "measured",
        "start_ns": step,
        "duration_ns": 5,
        "samples": 8,
        "tokens": 128,
        "loss": 2.0,
    }
    return json.dumps({**row, **changes})


def write(out: Path, lines, summary='{"evaluation_loss": 1.5}', trace=None):
    out.mkdir()
    (out / "steps.jsonl").write_text("\n".join(lines))
    if summary is not None:
        (out / "summary.json").write_text(summary)
    if trace is not None:
        (out / "rank-0.json.gz").write_bytes(trace)


@pytest.fixture
def collect(tmp_path):
    def run(role="timed"):
        trial = make_trial(tmp_path / "benchmark", {}, role=role)
        return ADAPTERS["torch"].collect(trial, tmp_path / "out", tmp_path / "run"), tmp_path / "run"

    return run


def test_whole_output_is_complete(tmp_path, collect):
    write(tmp_path / "out", [line(step) for step in range(30)])
    observed, run = collect()
    assert observed.complete
    assert observed.absent == {}
    assert parquet.read(run / "samples/steps.parquet")["loss"].to_pylist() == [2.0] * 30


@pytest.mark.parametrize(
    ("broken", "detail"),
    [
        ('{"step": 1, "pha', "1 of 30 steps are whole, 1 lines are not"),
        ("[1]", "1 lines are not"),
        (line(1, duration_ns=-5), "1 lines are not"),
        (line(1, duration_ns=True), "1 lines are not"),
        (line(1, phase="other"), "1 lines are not"),
        ("[" * 100_000, "1 lines are not"),
        ("\x00\xff", "1 lines are not"),
    ],
)
def test_a_line_that_is_no_step_is_left_out_and_counted(tmp_path, collect, broken, detail):
    write(tmp_path / "out", [line(0), broken])
    observed, run = collect()
    assert not observed.complete
    assert detail in observed.detail
    assert parquet.read(run / "samples/steps.parquet").num_rows == 1


def test_a_killed_trial_keeps_the_steps_it_wrote(tmp_path, collect):
    write(tmp_path / "out", [line(step) for step in range(7)], summary=None)
    observed, run = collect()
    assert "7 of 30 steps were written" in observed.detail
    assert "no summary.json" in observed.detail
    assert parquet.read(run / "samples/steps.parquet").num_rows == 7


def test_nothing_written_is_not_an_error(tmp_path, collect):
    (tmp_path / "out").mkdir()
    observed, run = collect("profiled")
    assert not observed.complete
    assert "the profiler wrote no trace" in observed.detail
    assert not run.exists()


def test_a_number_that_is_none_is_absent_with_its_reason(tmp_path, collect):
    lines = [line(step) for step in range(29)] + [line(29, loss=float("nan"))]
    write(
        tmp_path / "out",
        lines,
        summary='{"evaluation_loss": NaN, "parameters": 5, "defaults": {"a": Infinity, "b": 1}}',
    )
    observed, run = collect()
    assert observed.complete
    assert observed.absent == {
        "evaluation_loss": "it was not a finite number",
        "loss": "1 of 30 steps have no finite loss",
    }
    assert json.loads((run / "samples/summary.json").read_bytes()) == {"defaults": {"b": 1}, "parameters": 5}
    assert parquet.read(run / "samples/steps.parquet")["loss"].to_pylist()[-1] is None


@pytest.mark.parametrize("summary", ["", "[1]", '{"evaluation_loss"'])
def test_a_broken_summary_is_told(tmp_path, collect, summary):
    write(tmp_path / "out", [line(step) for step in range(30)], summary=summary)
    observed, run = collect()
    assert observed.detail.startswith("summary.json is not")
    assert not (run / "samples/summary.json").exists()


def test_a_trace_is_moved_and_one_that_is_cut_off_is_told(tmp_path, collect):
    whole = gzip.compress(json.dumps({"traceEvents": [{"ph": "X", "name": "é" * 500}]}).encode())
    for name, trace in (
        ("whole", whole),
        ("gz cut off", whole[:-20]),
        ("json cut off", gzip.compress(b'{"traceEvents": [{"ph"')),
        ("no trace", gzip.compress(b'{"other": 1}')),
        ("no gz", b"hello"),
    ):
        trial = make_trial(tmp_path / "benchmark", {}, role="profiled")
        folder = tmp_path / name
        folder.mkdir()
        write(folder / "out", [line(step) for step in range(30)], trace=trace)
        observed = ADAPTERS["torch"].collect(trial, folder / "out", folder / "run")
        assert (folder / "run/traces/rank-0.json.gz").read_bytes() == trace
        assert observed.complete is (name == "whole")
        assert observed.complete or observed.detail.startswith("the trace is not whole")
