"""Traces that were met in the wild: what each is read as, and what its integrity record says of it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger import traces
from ledger.traces.breakdown import explain
from ledger.traces.integrity import inspect, inspect_ranks
from tests.ledger.traces.builder import STREAM, annotation, event, launched, op, training, write

INT_MIN = -(2**63)


def read(tmp_path: Path, events: list[Any], name: str = "rank-0.json", **top: Any) -> traces.reading.Trace:
    return traces.read(write(tmp_path / name, events, **top))


def codes(trace: traces.reading.Trace) -> dict[str, tuple[int, bool]]:
    return {each.code: (each.count, each.gates) for each in inspect(trace).findings}


def adds_up(trace: traces.reading.Trace) -> bool:
    return all(sum(step.parts.values()) == step.duration for step in explain(trace).steps)


def test_step_annotations_that_overlap_share_no_time(tmp_path):
    steps = [annotation("ProfilerStep#1", 0, 120), annotation("ProfilerStep#2", 100, 100)]
    found = explain(read(tmp_path, [*steps, op("aten::mm", 90, 40), op("aten::mul", 150, 20)]))
    assert [step.window for step in found.steps] == [(0, 120_000), (120_000, 200_000)]
    assert [step.parts["compute"] for step in found.steps] == [30_000, 30_000]
    assert found.warnings == ("step annotations overlap: the shared time is counted to the earlier one",)


def test_a_step_annotation_within_its_like_is_that_step_once(tmp_path):
    steps = [annotation("ProfilerStep#1", 0, 100), annotation("ProfilerStep#1", 10, 20)]
    found = explain(read(tmp_path, [*steps, op("aten::mm", 5, 40)]))
    assert [step.window for step in found.steps] == [(0, 100_000)]
    assert found.warnings == ("1 step annotations repeat a number: the longest is used",)


@pytest.mark.parametrize(
    ("ts", "dur"),
    [(0, 0), (INT_MIN // 1000, 0), (f"{INT_MIN / 1000:.3f}", 0), (INT_MIN, 1), (str(INT_MIN), "0"), (0, 2**62)],
)
def test_ends_that_no_clock_shows_gate_or_are_lost(tmp_path, ts, dur):
    """Kineto writes 0 or the least integer where an activity never ended."""
    at = 5e12
    events = [annotation("ProfilerStep#1", at, 100), *(op("aten::mm", at + 9 * n, 8) for n in range(9))]
    odd = event("kernel", "never ended", ts, dur, STREAM, correlation=5)
    found = read(tmp_path, [*events, *launched("kernel", "gemm", at + 5, at + 10, 20, 1), odd])
    told = codes(found)
    assert told.get("out_of_range") == (1, True) or told.get("events_lost") == (1, True)
    assert adds_up(found)


@pytest.mark.parametrize(("stream", "is_told"), [("0x0", "0x0"), (4294967295, "4294967295"), (-1, "-1"), (None, "")])
def test_streams_of_odd_names_are_streams(tmp_path, stream, is_told):
    work = [each | ({"tid": stream} if each["cat"] == "kernel" else {}) for each in launched("kernel", "k", 5, 9, 4, 1)]
    for each in work[1:]:
        each["args"] = {**each["args"], "stream": stream}
    found = read(tmp_path, [annotation("ProfilerStep#1", 0, 100), *work])
    assert [track.thread for track in found.tracks if track.is_device] == [is_told]
    assert (explain(found).part("compute"), codes(found)) == (4_000, {})


def test_times_above_what_a_float_holds_are_exact_as_text(tmp_path):
    base = 2**53 + 1
    events = [annotation("ProfilerStep#1", base, 3), op("aten::mm", base + 1, 1)]
    text = [{**each, "ts": f"{each['ts']}.001", "dur": f"{each['dur']}"} for each in events]
    found = read(tmp_path, text)
    assert found.events.start.tolist() == [base * 1000 + 1, (base + 1) * 1000 + 1]
    assert explain(found).part("compute") == 1_000


def test_without_distributed_info_and_a_name_that_tells_there_is_no_rank(tmp_path):
    found = read(tmp_path, training(), "trace.json")
    assert (found.rank, found.facts.world_size, found.facts.has_distributed_info) == (None, None, False)
    assert codes(found) == {"no_rank": (1, False)}
    assert inspect_ranks([found]) == ()


def test_a_world_size_without_a_rank_is_no_missing_rank(tmp_path):
    found = read(tmp_path, training(), "trace.json", distributedInfo={"world_size": 2, "backend": "nccl"})
    assert (found.rank, found.facts.world_size) == (None, 2)
    assert inspect_ranks([found]) == ()


def test_kernels_that_overlap_on_one_stream_are_counted_once(tmp_path):
    """Programmatic launches begin before the kernel before them has ended."""
    work = [*launched("kernel", "gemm", 5, 10, 20, 1), *launched("kernel", "gemm", 6, 25, 20, 2)]
    found = read(tmp_path, [annotation("ProfilerStep#1", 0, 100), *work])
    assert explain(found).part("compute") == 35_000
    assert codes(found) == {"overlapping": (1, False)}


def test_a_capture_alone_is_no_run_of_its_device(tmp_path):
    calls = [event("cuda_runtime", "cudaLaunchKernel", 10 + n, 0.5, correlation=10 + n) for n in range(400)]
    work = launched("kernel", "gemm", 500, 505, 5, 1)
    found = read(tmp_path, [annotation("ProfilerStep#1", 0, 1000), *calls, *work])
    assert codes(found)["capture_only"] == (401, True)


@pytest.mark.parametrize("text", ['{"name": "package"}', "[1, 2]", '{"traceEvents": 5}', "{}", "[[]]", '"text"'])
def test_unrelated_json_is_one_line_and_exit_2(tmp_path, text):
    path = tmp_path / "some.json"
    path.write_text(text)
    command = [sys.executable, "-m", "stackproof", "trace", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr


def test_events_of_any_order_say_the_same(tmp_path):
    events = [*training(3), *launched("kernel", "gemm", 1010.5, 1012.25, 40.125, 7)]
    forward, backward = read(tmp_path, events), read(tmp_path, events[::-1], "rank-1.json")
    assert explain(forward).steps == explain(backward).steps
    assert {spot.name: spot.time for spot in explain(forward).hotspots} == {
        spot.name: spot.time for spot in explain(backward).hotspots
    }


def test_duplicates_are_counted_once_in_time_and_named(tmp_path):
    events = [annotation("ProfilerStep#1", 0, 100), *launched("kernel", "gemm", 5, 10, 20, 1)]
    found = read(tmp_path, json.loads(json.dumps([*events, *events])))
    assert explain(found).part("compute") == 20_000
    assert codes(found)["duplicated"] == (3, True)
