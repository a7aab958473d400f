"""Tables made from an explained trace: what they hold is what the explanation says."""

import pyarrow.parquet as pq
from click.testing import CliRunner

from ledger import traces
from ledger.commands.trace import command
from ledger.traces.breakdown import explain
from ledger.traces.exporting import flows, kernels, steps
from tests.ledger.traces.builder import STREAM, annotation, event, launched, training, write

EVENTS = [
    annotation("ProfilerStep#4", 0, 100),
    *launched("kernel", "sgemm_128", 10, 12, 40, 1),
    *launched("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 60, 61, 5, 2),
    event("kernel", "alone", 70, 5, STREAM, correlation=9),
    annotation("ProfilerStep#5", 100, 50),
    *launched("kernel", "sgemm_128", 90, 110, 20, 3),
]


def test_work_of_the_device_has_its_class_its_launch_and_its_step(tmp_path):
    trace = traces.read(write(tmp_path / "t.json", EVENTS))
    rows = kernels(trace, explain(trace)).to_pylist()
    assert [(row["name"], row["kind"], row["class"], row["launch_ns"]) for row in rows] == [
        ("sgemm_128", "kernel", "gemm", 10_000),
        ("Memcpy HtoD (Pinned -> Device)", "memcpy", "copy", 60_000),
        ("alone", "kernel", "other", None),
        ("sgemm_128", "kernel", "gemm", 90_000),
    ]
    assert (rows[0]["stream"], rows[0]["bytes"], rows[0]["duration_ns"]) == ("7", None, 40_000)


def test_flows_lead_from_calls_to_work(tmp_path):
    trace = traces.read(write(tmp_path / "t.json", EVENTS))
    found = flows(trace).to_pylist()
    assert [(row["correlation"], row["call_start_ns"], row["work_start_ns"]) for row in found] == [
        (1, 10_000, 12_000), (2, 60_000, 61_000), (3, 90_000, 110_000),
    ]  # fmt: skip
    assert {row["call"] for row in found} == {"cudaLaunchKernel"}


def test_steps_add_up(tmp_path):
    explained = explain(traces.read(write(tmp_path / "t.json", training())))
    for row, step in zip(steps(explained).to_pylist(), explained.steps, strict=True):
        assert sum(row[f"{name}_ns"] for name in step.parts) == row["end_ns"] - row["start_ns"]


def test_a_host_alone_has_no_work_of_a_device(tmp_path):
    trace = traces.read(write(tmp_path / "t.json", training()))
    assert (kernels(trace, explain(trace)).num_rows, flows(trace).num_rows) == (0, 0)


def test_the_command_writes_all_of_them(tmp_path):
    path = write(tmp_path / "rank-0.json.gz", EVENTS)
    done = CliRunner().invoke(command, [str(path), "--tables", str(tmp_path / "tables")])
    assert done.exit_code == 0
    names = {file.name for file in (tmp_path / "tables/rank-0").glob("*.parquet")}
    assert names == {"events-0.parquet", "kernels.parquet", "flows.parquet", "steps.parquet", "collectives.parquet"}
    assert pq.read_table(tmp_path / "tables/rank-0/kernels.parquet").num_rows == 4
