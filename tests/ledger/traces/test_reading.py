"""Reading profiler files: exact times, both layouts, and defects that must not pass silently or crash."""

import gzip
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import traces
from ledger.errors import InputError
from ledger.traces.interface import ABSENT, Kind
from ledger.traces.kineto_text import nanoseconds
from tests.ledger.traces.builder import annotation, event, op, training, write


@given(st.integers(0, 2**60))
def test_nanoseconds_are_exact_where_float64_is_not(stamp):
    text = f"{stamp // 1000}.{stamp % 1000:03d}"
    assert nanoseconds(text.encode()) == stamp
    assert nanoseconds(f'"{text}"'.encode()) == stamp


@given(st.decimals(-(10**12), 10**12, allow_nan=False, allow_infinity=False))
def test_any_decimal_is_rounded_once_to_the_nearest_nanosecond(value):
    assert nanoseconds(str(value).encode()) == round(value * 1000)


@pytest.mark.parametrize("text", [b"null", b'"soon"', b"NaN", b"Infinity", b"[1]", b"{}", b"true", b"1e400", b'""'])
def test_what_is_no_number_is_none(text):
    assert nanoseconds(text) is None


def test_a_float_would_have_lost_a_tenth_of_a_microsecond(tmp_path):
    stamp = "4458676522690655.123"
    assert round(float(stamp) * 1000) != int(Decimal(stamp) * 1000)
    text = json.dumps({"traceEvents": [event("cpu_op", "aten::mm", "AT", 1.001)]})
    (tmp_path / "t.json").write_text(text.replace('"AT"', stamp))
    found = traces.read(tmp_path / "t.json").events
    assert found.start.tolist() == [4458676522690655123]
    assert found.end.tolist() == [4458676522690656124]


@pytest.mark.parametrize("name", ["rank-3.json", "rank-3.json.gz", "any_rank_3.pt.trace.json"])
def test_rank_comes_from_the_file_else_from_its_name(tmp_path, name):
    assert traces.read(write(tmp_path / name, training())).rank == 3
    found = traces.read(write(tmp_path / name, training(), distributedInfo={"rank": 1, "world_size": 4}))
    assert (found.rank, found.facts.world_size) == (1, 4)


def test_the_old_layout_means_the_same(tmp_path):
    old = [
        event("Operator", "ProfilerStep#5", 0, 100, "12"),
        event("Operator", "aten::mm", 1, 5, "12", **{"External id": 2}),
        event("Runtime", "cudaLaunchKernel", 2, 1, "12", correlation=9, **{"external id": 2}),
        event("Kernel", "volta_sgemm_128x32_nt", 10, 20, "stream 7", correlation=9, **{"external id": 2}),
        event("Memcpy", "Memcpy HtoD", 40, 2, "stream 7", correlation=10),
        event("Memset", "Memset (Device)", 50, 2, "stream 7", correlation=11),
    ]
    found = traces.read(write(tmp_path / "t.json", old)).events
    assert found.kind.tolist() == [Kind.ANNOTATION, Kind.OP, Kind.RUNTIME, Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET]
    assert found.external.tolist() == [ABSENT, 2, 2, 2, ABSENT, ABSENT]
    assert found.correlation.tolist() == [ABSENT, ABSENT, 9, 9, 10, 11]


def test_events_that_cannot_be_timed_are_counted_not_dropped_in_silence(tmp_path):
    broken = [
        event("cpu_op", "aten::mm", 1, None),
        event("cpu_op", "aten::mm", "soon", 3),
        event("cpu_op", "aten::mm", 5, -3),
        7,
    ]
    found = traces.read(write(tmp_path / "t.json", [*training(1), *broken]))
    assert found.facts.total == len(training(1)) + 4
    assert len(found.events) == len(training(1))
    assert found.facts.lost == {
        "has a negative duration": 1,
        "has no duration that can be read": 1,
        "has no start that can be read": 1,
        "is not an object": 1,
    }


def test_odd_names_threads_and_args_are_read(tmp_path):
    odd = [
        {**op("aten::mm", 1, 2), "name": None, "tid": None, "pid": "Spans", "args": 3},
        {**op("aten::mm", 1, 2), "args": {"correlation": "x", "Input Dims": "no"}},
        {**op("aten::mm", 1, 2), "cat": ["cpu_op"]},
        {"ph": "i"},
    ]
    assert len(traces.read(write(tmp_path / "t.json", odd)).events) == 2


def test_a_bare_array_is_a_list_of_events(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(training()))
    assert len(traces.read(tmp_path / "t.json").events) == len(training())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is not a trace"),
        (b"\x00\x01", "is not a trace"),
        (b'{"traceEvents": [{"ph": "X", ', "ends before its events do, before its first event"),
        (gzip.compress(json.dumps({"traceEvents": training(40)}).encode())[:12], "ends early"),
        (b"\x1f\x8bnonsense", "is damaged at its very start"),
        (b'{"name": "package", "version": 1}', "not a profiler trace"),
        (b'{"traceEvents": {"a": 1}}', "not a profiler trace"),
        (b'{"traceEvents": null}', "not a profiler trace"),
        (b"[[1, 2], [3, 4]]", "not a profiler trace"),
        (b"[1, 2]", "not a profiler trace"),
    ],
    ids=["empty", "binary", "cut", "cut-gzip", "not-gzip", "unrelated", "object", "null", "arrays", "numbers"],
)
def test_files_that_cannot_be_used_say_why(tmp_path, data, says):
    (tmp_path / "t.json").write_bytes(data)
    with pytest.raises(InputError, match=says) as caught:
        traces.read(tmp_path / "t.json")
    assert str(tmp_path / "t.json") in str(caught.value)
    assert caught.value.todo


def test_missing_files_and_folders_say_so(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        traces.read(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a folder"):
        traces.read(tmp_path)


def test_no_events_is_an_empty_trace(tmp_path):
    found = traces.read(write(tmp_path / "t.json", []))
    assert (len(found.events), found.facts.total, found.has_device) == (0, 0, False)


def test_annotations_of_the_device_are_no_work(tmp_path):
    events = [annotation("ProfilerStep#1", 0, 9), event("gpu_user_annotation", "ProfilerStep#1", 2, 9, 7)]
    assert len(traces.read(write(tmp_path / "t.json", events)).events) == 1
