"""Values that no profiler should write and some do: each leaves the other events alone, and none becomes another."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.errors import InputError
from ledger.traces.breakdown import explain
from ledger.traces.integrity import inspect
from ledger.traces.trace import Trace
from tests.ledger.traces.builder import annotation, event, launched, op, training

EVENTS = training(2)
ALLOCATION = {
    "ph": "i", "name": "[memory]", "ts": 1005, "pid": 1, "tid": 1,
    "args": {"Bytes": 512, "Total Allocated": 1024, "Total Reserved": 2048, "Device Type": 1, "Device Id": 0},
}  # fmt: skip
COLLECTIVE = event(
    "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 1020, 20, 9, correlation=9,
    **{"Collective name": "allreduce", "In msg nelems": 100, "Group size": 2, "Seq": 1, "dtype": "Float"},
)  # fmt: skip


def read_text(tmp_path: Path, text: str | bytes) -> Trace:
    path = tmp_path / "rank-0.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return traces.read(path)


def beside(tmp_path: Path, text: str | bytes) -> Trace:
    """A trace of EVENTS and of one more event, given as JSON text."""
    before = json.dumps({"traceEvents": EVENTS}).encode()[: -len(b"]}")]
    return read_text(tmp_path, before + b", " + (text.encode() if isinstance(text, str) else text) + b"]}")


def raw(**values: str) -> str:
    """An operator whose fields are JSON text."""
    fields = {"ph": '"X"', "cat": '"cpu_op"', "name": '"odd"', "pid": "1", "tid": "1", "ts": "1001", "dur": "2"}
    return "{" + ", ".join(f'"{key}": {value}' for key, value in (fields | values).items()) + "}"


def deep(opening: str, closing: str, times: int = 200_000) -> str:
    return opening * times + closing * times


IMPOSSIBLE_TIMES = [
    *("1e16", "1e19", "-9200000000000000.5", "9300000000000000.5", "-9223372036854775808", "-9223372036854775.808"),
    *("12345678901234567890123.123", "1e30", "NaN", "-Infinity", "null", "[1]", '"²"', '"soon"', '"1e999999"'),
    '"1e9999999999999999999"',
]  # fmt: skip


@pytest.mark.parametrize("value", IMPOSSIBLE_TIMES)
def test_a_time_that_no_clock_shows_is_lost_and_never_becomes_another(tmp_path, value):
    found = beside(tmp_path, raw(ts=value))
    assert len(found.events) == len(EVENTS)
    assert found.facts.lost == {"has no start that can be read": 1}
    assert found.facts.salvaged == 0  # one event, one finding
    (finding,) = inspect(found).findings
    assert finding.text == "1 event was left out: each has no start that can be read"


@pytest.mark.parametrize("value", IMPOSSIBLE_TIMES)
def test_neither_does_a_duration(tmp_path, value):
    found = beside(tmp_path, raw(dur=value))
    assert (len(found.events), found.facts.lost.total()) == (len(EVENTS), 1)


@pytest.mark.parametrize(
    "value", ["9" * 5000, "9" * 30, f"-{'9' * 30}", str(-(2**63) - 1), str(2**64 - 1), '"²"', "1.5"]
)
@pytest.mark.parametrize("key", ["correlation", "External id", "bytes", "Bytes", "Group size", "Seq", "In msg nelems"])
def test_a_number_that_no_id_or_size_can_be_is_absent(tmp_path, key, value):
    for each in (raw(args=f'{{"{key}": {value}}}'), raw(args=f'{{"{key}": {value}, "Collective name": "allreduce"}}')):
        found = beside(tmp_path, each)
        assert len(found.events) == len(EVENTS) + 1
        assert set(found.events.correlation.tolist()) == {-1}


def test_text_of_five_thousand_digits_is_no_number(tmp_path):
    long = "9" * 5000
    for args in (f'{{"correlation": "{long}"}}', f'{{"Seq": "{long}", "Collective name": "allreduce"}}'):
        assert len(beside(tmp_path, raw(args=args)).events) == len(EVENTS) + 1
    top = {"traceEvents": EVENTS, "distributedInfo": {"rank": long, "world_size": "²"}}
    found = read_text(tmp_path, json.dumps(top))
    assert (found.rank, found.facts.world_size) == (0, None)


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "٣"])
def test_steps_of_absurd_numbers_are_steps(tmp_path, number):
    found = explain(read_text(tmp_path, json.dumps([annotation(f"ProfilerStep#{number}", 0, 9), op("aten::mm", 1, 2)])))
    assert (len(found.steps), found.duration) == (1, 9000)
    assert 0 <= found.steps[0].number < 2**63


@pytest.mark.parametrize(
    "text",
    [raw(args='{"a": ' + deep("[", "]") + "}"), raw(args=deep('{"a":', "}")), deep("[", "]"), raw(pid=deep("[", "]"))],
    ids=["list", "object", "event", "process"],
)
def test_what_nests_too_deep_is_lost_alone(tmp_path, text):
    found = beside(tmp_path, text)
    assert (len(found.events), found.facts.lost.total()) == (len(EVENTS), 1)


def test_what_nests_too_deep_elsewhere_is_no_matter(tmp_path):
    nested = deep("[", "]")
    for text in (
        f'{{"x": {nested}, "traceEvents": {json.dumps(EVENTS)}}}',
        f'{{"distributedInfo": {{"x": {nested}}}, "traceEvents": {json.dumps(EVENTS)}}}',
        f'{{"traceEvents": {json.dumps(EVENTS)}, "distributedInfo": {{"x": {nested}}}}}',
    ):
        found = read_text(tmp_path, text)
        assert (len(found.events), found.rank) == (len(EVENTS), 0)
    for text in ("[" * 200_000, '{"a":' * 200_000, f'{{"a": {nested}}}'):
        with pytest.raises(InputError):
            read_text(tmp_path, text)


@pytest.mark.parametrize(
    "text", ['{"ph": 5}', '{"ts": 1, "dur": 2}', '{"ph": ["X"]}', "{}", '{"ph": "XX"}', '{"ph": "Q"}']
)
def test_what_is_no_kind_of_event_is_counted(tmp_path, text):
    found = beside(tmp_path, text)
    assert (found.facts.lost.total(), found.facts.untimed, len(found.events)) == (1, 0, len(EVENTS))


@pytest.mark.parametrize("change", [{"ts": "soon"}, {"args": {}}, {"args": {"Bytes": "x"}}])
def test_an_allocation_without_a_time_or_a_size_is_counted(tmp_path, change):
    found = read_text(tmp_path, json.dumps([*EVENTS, ALLOCATION, ALLOCATION | change]))
    assert len(found.memory) == 1
    assert found.facts.lost == {"is an allocation of which time or size cannot be read": 1}


def test_names_and_shapes_that_are_no_utf_8(tmp_path):
    bad = raw(name='"nccl:all_reduce"', args='{"Input Dims": ["@"], "Collective name": "a"}').encode()
    found = beside(tmp_path, bad.replace(b"@", b"\xff\xfe"))
    assert (len(found.events), len(found.calls)) == (len(EVENTS) + 1, 1)


VALUES = [
    *(None, True, -1, 0, 1.5, "", "x", [], {}, [1], {"a": 1}, 2**63, 2**64 - 1, -(2**63), 2**70, -(2**70), 1e300),
    *("1e400", "NaN", "²", "9" * 30, "0x0", "\ud800", [[[1]]], [-1, 2], ["a"], "9007199254740993.5", 9.2e15, 1e16),
    *(4294967295, float("nan"), float("inf"), -float("inf")),
]  # fmt: skip
WHOLE = [
    *EVENTS, *launched("kernel", "gemm", 1010.5, 1012.25, 40.125, 7), ALLOCATION, COLLECTIVE,
    event("cuda_runtime", "cudaGraphLaunch", 1100, 2, correlation=9),
]  # fmt: skip
KEYS = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"]
ARGS = [
    *("correlation", "External id", "bytes", "Bytes", "blocks per SM", "Input Dims", "Input type", "Seq", "dtype"),
    *("Collective name", "In msg nelems", "Group size", "Process Group Ranks", "Device Type", "Total Allocated"),
]


def changed(draw: Any) -> Iterator[dict[str, Any]]:
    """WHOLE with some odd values in some fields and arguments of some events."""
    for place, each in enumerate(WHOLE):
        if place in chosen(draw, range(len(WHOLE)), 4):
            odd = {key: draw(st.sampled_from(VALUES)) for key in chosen(draw, ARGS, 3)}
            yield {**each, "args": {**each["args"], **odd}} | {
                key: draw(st.sampled_from(VALUES)) for key in chosen(draw, KEYS, 1)
            }
        else:
            yield each


def chosen(draw: Any, some: Any, most: int) -> list[Any]:
    return draw(st.lists(st.sampled_from(list(some)), max_size=most, unique=True))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_value_anywhere_is_a_trace_whose_events_are_all_accounted_for(tmp_path, data):
    events = list(changed(data.draw))
    found = read_text(tmp_path, json.dumps({"traceEvents": events, "distributedInfo": {"rank": 0}}))
    assert found.facts.total == len(events)
    assert len(found.events) + found.facts.untimed + found.facts.lost.total() <= len(events) + len(found.memory) + 1
    for step in explain(found).steps:
        assert sum(step.parts.values()) == step.duration
    inspect(found)
