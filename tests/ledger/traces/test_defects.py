"""Traces as they come in the wild: what is damaged is repaired, or counted; never a crash, never a silent zero."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.errors import InputError
from ledger.traces import chunks, kineto, source
from ledger.traces.breakdown import explain
from ledger.traces.integrity import inspect
from ledger.traces.interface import Facts, Kind, Part
from ledger.traces.kineto import Kineto
from tests.ledger.traces.builder import annotation, event, launched, op, training

EVENTS = [*training(3), *launched("kernel", "gemm", 1010.5, 1012.25, 40.125, 7)]


def text_of(events: list[Any], indent: int | None = None, **top: Any) -> str:
    return json.dumps({"schemaVersion": 1, **top, "traceEvents": events, "traceName": "t"}, indent=indent)


def read(tmp_path: Path, data: bytes | str, name: str = "rank-0.json") -> traces.reading.Trace:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return traces.read(path)


def codes(trace: traces.reading.Trace) -> dict[str, int]:
    return {each.code: each.count for each in inspect(trace).findings}


def content(trace: traces.reading.Trace) -> Counter[tuple[Any, ...]]:
    events = trace.events
    names = [trace.names[code] for code in events.name]
    return Counter(zip(events.kind.tolist(), names, events.start.tolist(), events.end.tolist(), strict=True))


NESTED = op("last", 1, 1) | {"args": {"list": [{"name": "a]}"}, {"ph": "X", "b": [{"x": 1}]}], "b": 2, "s": 'é\\"]}'}}
SHAPES = {
    "as written": json.dumps,
    "pretty": lambda top: json.dumps(top, indent=1, ensure_ascii=False),
    "compact": lambda top: json.dumps(top, separators=(",", ":")),
    "sorted": lambda top: json.dumps(top, sort_keys=True),
    "array": lambda top: json.dumps(top["traceEvents"]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_cut_at_any_byte_keeps_every_whole_event_before_the_cut(tmp_path, shape):
    events = [op("aten::mm", 1, 2), NESTED | {"name": "first"}, NESTED]
    whole = SHAPES[shape]({"traceEvents": events, "deviceProperties": [{"id": 0}, {"name": "]}"}]})
    complete = content(read(tmp_path, whole))
    ends, closed = _ends(whole)
    for cut in range(_list(whole), len(whole.encode())):
        text = whole.encode()[:cut]
        ended = sum(end <= cut for end in ends)
        if not ended:
            with pytest.raises(InputError):
                read(tmp_path, text)
            continue
        found = read(tmp_path, text)
        assert sum(content(found).values()) == ended
        assert content(found) <= complete
        record = inspect(found)
        assert (record.usable, "cut" in codes(found)) == (cut >= closed, cut < closed)
        assert "events_lost" not in codes(found)  # the cut says it


def _list(text: str) -> int:
    """Where the list of events begins."""
    return text.index("[", max(0, text.find("traceEvents")))


def _ends(text: str) -> tuple[list[int], int]:
    """Bytes until each event of the list ends, and until the list does."""
    decoder, place, ends = json.JSONDecoder(), text.index("{", _list(text)), []
    while text[place] == "{":
        place = decoder.raw_decode(text, place)[1]
        ends.append(len(text[:place].encode()))
        while text[place] in ", \n":
            place += 1
    return ends, len(text[: place + 1].encode())


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)])
def test_packed_data_that_ends_early_or_is_damaged_keeps_what_stands_before(tmp_path, pack):
    packed = pack(text_of(training(20_000)).encode())
    whole = read(tmp_path, packed)
    assert not codes(whole).keys() & {"cut", "events_lost"}
    early = read(tmp_path, packed[: len(packed) // 2])
    assert 0 < len(early.events) < len(whole.events)
    assert "ends early" in early.facts.cut
    damaged = bytearray(packed)
    damaged[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    found = read(tmp_path, bytes(damaged))
    assert 0 < len(found.events) < len(whole.events)
    assert found.facts.cut
    assert not inspect(found).usable


def test_packed_files_of_several_members_are_one(tmp_path):
    text = text_of(EVENTS).encode()
    for end in (b"", b"\0" * 512, b"made by hand"):
        found = read(tmp_path, gzip.compress(text[:300]) + gzip.compress(text[300:]) + end)
        assert content(found) == content(read(tmp_path, text))
        assert inspect(found).findings == ()


REPAIRED = {
    "one comma too many": ('"cat": "cpu_op",', '"cat": "cpu_op",,'),
    "trailing comma": ('"args": {}}', '"args": {},}'),
    "NaN": ('"args": {}', '"args": {"load": NaN}'),
    "infinity": ('"args": {}', '"args": {"load": -Infinity, "other": inf}'),
    "newline in a name": ("aten::linear", "aten::\nlinear"),
    "control character": ("aten::linear", "aten::\x01linear"),
    "quotation mark in a name": ("aten::linear", 'aten::"lin"ear'),
    "backslash in a name": ("aten::linear", r"aten::\linear"),
    "half a surrogate pair": ("aten::linear", r"aten::\ud83dlinear"),
}


@pytest.mark.parametrize("defect", REPAIRED)
def test_one_damaged_event_is_repaired_and_counted_and_costs_no_other(tmp_path, defect):
    good, bad = REPAIRED[defect]
    text = text_of(training(3))
    place = text.index(good)
    found = read(tmp_path, text[:place] + bad + text[place + len(good) :])
    assert len(found.events) == len(training(3))
    assert (found.facts.salvaged, found.facts.lost.total()) == (1, 0)
    assert codes(found) == {"events_repaired": 1}


def test_names_that_are_no_utf_8_are_read(tmp_path):
    data = text_of(training(2)).encode().replace(b"aten::linear", b"aten::\xff\xfelin", 1)
    found = read(tmp_path, data)
    assert (len(found.events), found.facts.salvaged) == (len(training(2)), 1)


@pytest.mark.parametrize("end", ["},\n]", "} , ]", "}]", "}\r\n]"])
def test_the_end_of_the_list_is_found(tmp_path, end):
    text = text_of(EVENTS).replace("}]", end)
    assert content(read(tmp_path, text)) == content(read(tmp_path, text_of(EVENTS)))


@pytest.mark.parametrize(
    "shape", ["pretty", "compact", "crlf", "bom", "array", "name first", "args first", "mixed first"]
)
def test_every_way_to_write_the_same_events(tmp_path, shape, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 2000)
    monkeypatch.setattr(source, "BLOCK", 700)
    events = [*EVENTS, op("aten::mm", 1, 1) | {"args": {"list": [{"name": "a"}, {"name": "b"}, {"ph": "X"}]}}]
    pretty = json.dumps({"traceEvents": events}, indent=1)
    written = {
        "pretty": pretty,
        "compact": json.dumps({"traceEvents": events}, separators=(",", ":")),
        "crlf": pretty.replace("\n", "\r\n"),
        "bom": "\ufeff" + pretty,
        "array": json.dumps(events),
        "name first": json.dumps({"traceEvents": [{"name": each["name"], **each} for each in events]}),
        "args first": json.dumps({"traceEvents": events}, sort_keys=True),
        "mixed first": json.dumps(
            {"traceEvents": [dict(sorted(each.items(), reverse=bool(at % 2))) for at, each in enumerate(events)]}
        ),
    }[shape]
    found = read(tmp_path, written)
    assert len(found.events) == len(events)
    assert not found.facts.lost


def test_what_the_file_says_of_itself_may_stand_after_the_events(tmp_path):
    devices = [{"id": 0, "name": "GPU 0"}, {"id": 1, "name": "GPU 1"}]
    text = json.dumps({"traceEvents": EVENTS, "deviceProperties": devices, "distributedInfo": {"rank": 5}})
    assert read(tmp_path, text, "t.json").rank == 5
    broken = text.replace('"GPU 1"', '"GPU\n1"')
    assert read(tmp_path, broken, "t.json").rank == 5


def test_times_of_all_kinds(tmp_path):
    kinds = [
        op("a", 4458676522690655.123, 1) | {"ts": "9007199254740993.5"},
        op("b", 0, 0),
        op("c", -5.5, 2),
        op("d", 1e30, 1),
        event("cpu_op", "e", 5, None),
        op("f", 5, -1),
        op("g", 5, 1) | {"ts": True},
    ]
    found = read(tmp_path, text_of(kinds))
    assert found.events.start.tolist() == [9007199254740993500, 0, -5500]
    assert dict(found.facts.lost) == {
        "has no start that can be read": 2,
        "has no duration that can be read": 1,
        "has a negative duration": 1,
    }


def test_ids_of_all_kinds(tmp_path):
    kinds = [
        op("a", 1, 1) | {"args": {"correlation": 2**64 - 1}},
        op("b", 2, 1) | {"args": {"correlation": "12", "stream": "0x0"}},
        event("kernel", "c", 3, 1, tid=4294967295, correlation=-3, stream="0x0"),
        op("d", 4, 1) | {"args": [1, 2]},
        op("e", 5, 1) | {"pid": ["odd"], "tid": {"x": 1}},
    ]
    found = read(tmp_path, text_of(kinds))
    assert found.events.correlation.tolist() == [-1, 12, -1, -1, -1]
    assert found.tracks[found.events.track[2]].thread == "4294967295"


def test_mostly_metadata_is_no_defect(tmp_path):
    metadata = [{"name": "process_name", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "python"}}] * 60
    found = read(tmp_path, text_of([*metadata, *EVENTS]))
    assert (found.facts.untimed, len(found.events)) == (60, len(EVENTS))
    assert not inspect(found).findings


def test_a_long_head_is_no_defect(tmp_path):
    head = {"programs": [{"name": f"program {place}", "text": "x" * 5000} for place in range(1500)]}
    found = read(tmp_path, text_of(EVENTS, **head))
    assert (len(found.events), inspect(found).findings) == (len(EVENTS), ())


def test_a_file_of_many_pieces_loses_the_damaged_event_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1500)
    monkeypatch.setattr(source, "BLOCK", 400)
    text = text_of(training(30))
    place = text.index('"cat"', len(text) // 2)
    found = read(tmp_path, text[:place] + "cat" + text[place + 5 :])
    assert len(found.events) == len(training(30)) - 1
    assert found.facts.lost == {"is no valid JSON": 1}


def test_an_event_larger_than_a_piece_is_read(tmp_path):
    large = op("aten::mm", 1, 1) | {"args": {"Call stack": "x" * 6_000_000}}
    assert len(read(tmp_path, text_of([large, *EVENTS])).events) == len(EVENTS) + 1


def test_a_bomb_is_refused_at_the_limit(tmp_path, monkeypatch):
    packed = gzip.compress(text_of(training(2)).encode() + b" " * 3_000_000)
    monkeypatch.setenv("STACKPROOF_TRACE_LIMIT", "2 MB")
    with pytest.raises(InputError, match=r"holds more than 2,000,000 bytes once decompressed.*STACKPROOF_TRACE_LIMIT"):
        read(tmp_path, packed)
    for bad in ("lots", "", "0", "-8GiB", "8 apples"):
        monkeypatch.setenv("STACKPROOF_TRACE_LIMIT", bad)
        with pytest.raises(InputError, match=r"^STACKPROOF_TRACE_LIMIT: must be .*write a size such as 8GiB"):
            read(tmp_path, packed)
    monkeypatch.setenv("STACKPROOF_TRACE_LIMIT", "8GiB")
    assert len(read(tmp_path, packed).events) == len(training(2))


@pytest.mark.parametrize("damage", [None, "name", "cut"])
def test_two_parts_read_what_one_does(tmp_path, damage, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1500)
    monkeypatch.setattr(source, "BLOCK", 400)
    text = text_of(training(12))
    if damage == "name":
        text = text.replace("aten::linear", "aten::\nlin", 3)
    if damage == "cut":
        text = text[:-500]
    path = tmp_path / "rank-0.json"
    path.write_text(text)

    def told(of: int) -> tuple[Facts, Counter[Any]]:
        facts, rows = Facts(), Counter[Any]()
        for number in range(of):
            mine = Facts()
            for batch in Kineto().read(path, mine, Part(number, of)):
                rows.update(map(str, batch.events.to_pylist()))
            facts.add(mine)
        return facts, rows

    assert told(2) == told(1) == told(5)


def test_a_second_process_reads_its_share_of_a_damaged_file(tmp_path, monkeypatch):
    text = text_of(training(15_000)).replace("aten::linear", "aten::\nlin", 3)[:-500]
    assert len(text) > 3 * chunks.CHUNK
    alone = read(tmp_path, text)
    monkeypatch.setattr(kineto, "WORTH_SHARING", 1000)
    assert Kineto().parts(tmp_path / "rank-0.json") == 2
    shared = read(tmp_path, text)
    assert content(shared) == content(alone)
    assert shared.events.start.tolist() == alone.events.start.tolist()
    assert shared.facts == alone.facts
    assert (shared.facts.salvaged, bool(shared.facts.cut)) == (3, True)


ODD = [b'"', b"\\", b"}", b"]", b"{", b",", b"\xff", b"NaN", b"[[", b"\\ud800", b"1e999", b"9" * 25, b"[" * 2000]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_done_to_a_file_it_is_a_trace_or_an_error_in_one_line(tmp_path, data):
    text = bytearray(text_of(EVENTS, indent=data.draw(st.sampled_from([None, 1]))).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(text) - 1))
        match data.draw(st.sampled_from(["flip", "drop", "add", "repeat"])):
            case "flip":
                text[place] ^= 1 << data.draw(st.integers(0, 7))
            case "drop":
                del text[place : place + data.draw(st.integers(1, 200))]
            case "add":
                text[place:place] = data.draw(st.sampled_from(ODD))
            case "repeat":
                text[place:place] = text[place : place + 300]
        if not text:
            return
    try:
        found = read(tmp_path, bytes(text))
    except InputError:
        return
    for step in explain(found).steps:
        assert sum(step.parts.values()) == step.duration
    assert set(found.events.kind.tolist()) <= set(Kind)
    inspect(found)


def test_steps_that_are_not_told_apart_are_one(tmp_path):
    found = read(tmp_path, text_of([op("aten::mm", 10, 20)]))
    assert codes(found) == {"no_steps": 1}
    assert inspect(found).usable
    overlapping = [annotation("ProfilerStep#1", 0, 60), annotation("ProfilerStep#2", 50, 50), op("aten::mm", 0, 100)]
    steps = explain(read(tmp_path, text_of(overlapping))).steps
    assert sum(step.duration for step in steps) == 100_000
