"""The integrity record: what each code finds, what gates, and that a healthy trace has nothing to say."""

import os
from pathlib import Path
from typing import Any

import pytest

from ledger import traces
from ledger.traces.breakdown import explain
from ledger.traces.integrity import DEFINITIONS, Finding, inspect, inspect_ranks, rank_record
from tests.ledger.traces.builder import STREAM, annotation, event, launched, op, training, write

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data"
STEP = annotation("ProfilerStep#1", 0, 10_000)


def _together(traces):
    return inspect_ranks([rank_record(each) for each in traces])


def trace(tmp_path: Path, events: list[Any], rank: int = 0, size: int | None = None) -> traces.reading.Trace:
    info = {"rank": rank, **({"world_size": size} if size else {})}
    return traces.read(write(tmp_path / f"rank-{rank}.json", events, distributedInfo=info))


def found(tmp_path: Path, events: list[Any]) -> dict[str, Finding]:
    record = inspect(trace(tmp_path, [STEP, *events]))
    assert record.usable == (record.reason is None) == (not any(each.gates for each in record.findings))
    return {each.code: each for each in record.findings}


def kernels(*times: tuple[float, float], name: str = "k") -> list[dict[str, Any]]:
    """Launched kernels on one stream, each from start to end."""
    pairs = (
        launched("kernel", name, start - 5, start, end - start, place) for place, (start, end) in enumerate(times, 1)
    )
    return [each for pair in pairs for each in pair]


def test_a_healthy_trace_has_nothing_to_say(tmp_path):
    assert inspect(trace(tmp_path, training())).findings == ()
    assert found(tmp_path, kernels((10, 20), (20, 30), (31, 40))) == {}


def test_every_code_is_explained(tmp_path):
    events = [*kernels((10, 40), (20, 30), (45, 45)), event("kernel", "alone", 60, 5, STREAM, correlation=99)]
    for code in found(tmp_path, events):
        assert DEFINITIONS[code].endswith(".")


def test_work_that_overlaps_on_its_stream_is_told_from_work_that_is_overrun(tmp_path):
    some = found(tmp_path, kernels((10, 25), (20, 30)))
    assert {code: each.count for code, each in some.items()} == {"overlapping": 1}
    assert not some["overlapping"].gates
    some = found(tmp_path, kernels((10, 90), (20, 30), (40, 50), (80, 95)))
    assert {code: each.count for code, each in some.items()} == {"overlapping": 1, "overrunning": 2}


def test_work_on_two_streams_may_overlap(tmp_path):
    events = kernels((10, 30))
    events += [each | ({"tid": 8} if each["cat"] == "kernel" else {}) for each in kernels((5, 9), (15, 25))[2:]]
    assert found(tmp_path, events) == {}


def test_work_that_stands_there_twice_gates_above_one_percent(tmp_path):
    some = found(tmp_path, [*kernels((10, 20), (30, 40)), kernels((10, 20))[1]])
    assert (some["duplicated"].count, some["duplicated"].gates) == (1, True)
    many = kernels(*((100 + 10 * place, 105 + 10 * place) for place in range(200)))
    some = found(tmp_path, [*many, many[1]])
    assert (some["duplicated"].count, some["duplicated"].gates) == (1, False)


def test_order_and_empty_durations_are_told(tmp_path):
    events = kernels((10, 20), (30, 40), (50, 50))
    some = found(tmp_path, [*events[2:], *events[:2]])
    assert {code: each.count for code, each in some.items()} == {"out_of_order": 1, "zero_duration": 1}


def test_work_without_a_launch_and_launches_without_work(tmp_path):
    some = found(tmp_path, [*kernels((10, 20)), event("kernel", "alone", 60, 5, STREAM, correlation=99)])
    assert (some["no_launch"].count, some["no_launch"].gates) == (1, False)
    calls = [
        event("cuda_runtime", "cudaLaunchKernel", 1000 + place, 0.5, correlation=1000 + place) for place in range(20)
    ]
    many = kernels(*((100 + 10 * place, 105 + 10 * place) for place in range(200)))
    some = found(tmp_path, [*many, *calls])
    assert (some["launch_without_work"].count, some["launch_without_work"].gates) == (20, True)
    some = found(tmp_path, [*many, *calls[:5]])
    assert not some["launch_without_work"].gates
    memory = event("cuda_runtime", "cudaMemcpyAsync", 50, 1, correlation=77)
    assert "launch_without_work" not in found(tmp_path, [*many, memory])


def test_a_capture_is_not_taken_for_a_run(tmp_path):
    calls = [event("cuda_runtime", "cudaLaunchKernel", place, 0.5, correlation=place) for place in range(1, 1000)]
    some = found(tmp_path, [*calls, *kernels((2000, 2001))[1:]])
    assert some["capture_only"].gates


def test_graphs_whose_replay_is_not_there(tmp_path):
    graphs = [event("cuda_runtime", "cudaGraphLaunch", 100 * place, 5, correlation=500 + place) for place in (1, 2)]
    work = [
        event("kernel", "k", 110, 20, STREAM, correlation=501),
        event("kernel", "k", 130, 20, STREAM, correlation=501),
    ]
    assert found(tmp_path, [*graphs, *work])["replay_suspected"].count == 1
    assert "replay_suspected" not in found(tmp_path, [graphs[0], *work])


def test_replays_with_a_single_kernel_where_others_have_many(tmp_path):
    graphs = [event("cuda_runtime", "cudaGraphLaunch", 1000 * each, 5, correlation=each) for each in range(1, 5)]
    work = [
        event("kernel", "k", 1000 * each + 10 + 5 * node, 4, STREAM, correlation=each)
        for each in range(1, 5)
        for node in range(30)
    ]
    assert found(tmp_path, [*graphs, *work]) == {}
    some = found(tmp_path, [*graphs, *work[:-29]])
    assert (some["replay_suspected"].count, some["replay_suspected"].gates) == (1, True)
    assert found(tmp_path, [*graphs, *work[::30]]) == {}  # recorded whole, one piece each


def test_launches_without_any_work_are_not_taken_for_a_host_alone(tmp_path):
    call = event("cuda_runtime", "cudaLaunchKernel", 5, 0.5, correlation=1)
    some = found(tmp_path, [op("aten::mm", 4, 9), call])
    assert (some["capture_only"].gates, some["capture_only"].text) == (
        True,
        "0 pieces of device work were recorded beside 1 launch",
    )


def test_launches_into_a_capture_have_no_work_of_their_own(tmp_path):
    many = kernels(*((100 + 10 * place, 105 + 10 * place) for place in range(200)))
    calls = [event("cuda_runtime", "cudaLaunchKernel", 5000 + each, 0.5, correlation=1000 + each) for each in range(20)]
    begin = event("cuda_runtime", "cudaStreamBeginCapture", 4999, 1, correlation=900)
    end = event("cuda_runtime", "cudaStreamEndCapture_v10000", 5019.8, 1, correlation=901)
    assert found(tmp_path, [*many, begin, *calls, end]) == {}
    assert found(tmp_path, [*many, begin, *calls[:15], {**end, "ts": 5014.8}, *calls[15:]]).keys() == {
        "launch_without_work"
    }


def test_host_events_that_stand_there_twice(tmp_path):
    assert found(tmp_path, training(2)) == {}
    some = found(tmp_path, [*training(2), *training(2)])
    assert (some["duplicated"].count, some["duplicated"].gates) == (len(training(2)), True)
    nested = [op("aten::to", 1, 5, **{"External id": 1}), op("aten::to", 1, 5, **{"External id": 2})]
    assert found(tmp_path, nested) == {}


def test_several_ranks_in_one_file_gate(tmp_path):
    other = [{**each, "pid": 2} for each in training()]
    some = found(tmp_path, [*training(), *other])
    assert (some["several_ranks"].count, some["several_ranks"].gates) == (2, True)
    stray = [{**op("aten::mm", 5, 1), "pid": 2}]
    assert "several_ranks" not in found(tmp_path, [*training(30), *stray])


def test_nothing_is_said_twice(tmp_path):
    damaged = [*training(), {"ph": "X", "cat": "cpu_op", "name": "x", "ts": "soon", "dur": 1}]
    one = trace(tmp_path, damaged)
    assert explain(one).warnings == ()
    assert [each.code for each in inspect(one).findings] == ["events_lost"]


def test_times_out_of_range_gate(tmp_path):
    far = event("kernel", "k", 9e12, 1, STREAM, correlation=3)
    some = found(tmp_path, [*kernels((10, 20), (30, 40)), far])
    assert (some["out_of_range"].count, some["out_of_range"].gates) == (1, True)
    zero = [op("aten::mm", 5e12 + place, 1) for place in range(9)]
    assert inspect(trace(tmp_path, [op("odd", 0, 0), *zero])).reason


def test_losing_more_than_one_percent_gates(tmp_path):
    lost = {"ph": "X", "cat": "cpu_op", "name": "x", "ts": "soon", "dur": 1}
    few, many = trace(tmp_path, [*training(50), lost]), trace(tmp_path, [*training(2), lost])
    assert (inspect(few).usable, inspect(many).usable) == (True, False)
    assert inspect(many).reason == "1 event was left out: each has no start that can be read"


def test_ranks_that_are_missing_twice_or_of_another_run(tmp_path):
    two = [trace(tmp_path, training(), rank, size=4) for rank in (0, 2)]
    (missing,) = _together(two)
    assert (missing.code, missing.count, missing.gates) == ("ranks_missing", 2, False)
    codes = {each.code for each in _together([two[0], two[0]])}
    assert codes == {"ranks_duplicated", "ranks_missing"}
    other = trace(tmp_path, training(), 1, size=8)
    assert [each.code for each in _together([two[0], other])] == ["world_sizes_differ"]
    assert _together([trace(tmp_path, training(), rank, size=2) for rank in (0, 1)]) == ()


def test_clocks_that_are_shifted(tmp_path):
    late = [each | {"ts": each["ts"] + 5000} for each in training()]
    (finding,) = _together([trace(tmp_path, training(), 0), trace(tmp_path, late, 1)])
    assert (finding.code, finding.gates) == ("clocks_shifted", False)
    little = [each | {"ts": each["ts"] + 3} for each in training()]
    assert _together([trace(tmp_path, training(), 0), trace(tmp_path, little, 1)]) == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_no_real_trace_is_kept_from_explaining():
    for path in sorted([*SHARED.glob("traces/*/*.json.gz"), *SHARED.glob("cpu/traces/*.gz")]):
        assert inspect(traces.read(path)).reason is None, path.name
