"""Ranges that a trace tells by their two ends: rebuilt wherever the file is cut, and counted where alone."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.traces import chunks, kineto, reading
from ledger.traces.breakdown import explain
from ledger.traces.cache import cached
from ledger.traces.integrity import inspect
from ledger.traces.interface import Facts, Part
from ledger.traces.kineto_ranges import ALONE, Half, joined, whole_ranges
from ledger.traces.kineto_rows import MISSING, Args, Rows
from tests.ledger.traces.builder import MAIN, WORKER, annotation, op, training, write


def begin(name: str, ts: Any, tid: Any = MAIN, cat: str = "cpu_op", **args: Any) -> dict[str, Any]:
    return {"ph": "B", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "args": args}


def end(ts: Any, tid: Any = MAIN, **more: Any) -> dict[str, Any]:
    return {"ph": "E", "pid": 1, "tid": tid, "ts": ts, **more}


def read(tmp_path: Path, events: list[Any]) -> traces.reading.Trace:
    return traces.read(write(tmp_path / "rank-0.json", events))


def content(trace: traces.reading.Trace) -> list[tuple[str, str, int, int]]:
    events = trace.events
    names = [trace.names[code] for code in events.name]
    threads = [trace.tracks[code].thread for code in events.track]
    return sorted(zip(names, threads, events.start.tolist(), events.end.tolist(), strict=True))


def halved(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same ranges by their ends, in the order of their times."""
    ends = [(each["ts"], 1, -each["dur"], {**each, "ph": "B"}) for each in events]
    ends += [
        (each["ts"] + each["dur"], 0, each["dur"], {key: each[key] for key in ("pid", "tid")} | {"ph": "E"})
        for each in events
    ]
    ordered = sorted(ends, key=lambda row: row[:3])
    return [{**each, "ts": ts} for ts, _, _, each in ordered]


def test_ranges_by_their_ends_are_the_same_as_whole_ones(tmp_path):
    whole, halves = read(tmp_path, training()), read(tmp_path, halved(training()))
    assert content(whole) == content(halves)
    assert explain(halves).steps == explain(whole).steps
    assert inspect(halves).findings == ()
    assert inspect(halves).timed == inspect(whole).timed == len(training())


def test_threads_nest_apart_and_an_end_with_a_name_ends_that_one(tmp_path):
    events = [
        begin("outer", 10), begin("other", 12, WORKER, **{"External id": 5}), begin("lost", 13), begin("inner", 15),
        end(20.5, name="inner"), end(22, WORKER), end("30.125", name="outer"), end(40), begin("open", 50),
    ]  # fmt: skip
    found = read(tmp_path, events)
    assert content(found) == [
        ("inner", str(MAIN), 15_000, 20_500),
        ("other", str(WORKER), 12_000, 22_000),
        ("outer", str(MAIN), 10_000, 30_125),
    ]
    assert found.events.external.tolist() == [-1, -1, 5]
    assert found.facts.lost == {ALONE: 3}  # the lost one, an end of none, and one that stays open
    (finding,) = [each for each in inspect(found).findings if each.code == "events_lost"]
    assert (finding.count, finding.gates) == (3, True)


def test_asynchronous_pairs_are_no_ranges_of_a_thread(tmp_path):
    pairs = [
        {"ph": ph, "cat": "cpu_op", "name": "x", "id": 1, "pid": 1, "tid": 1, "ts": ts}
        for ph, ts in (("b", 1), ("e", 2))
    ]
    found = read(tmp_path, [*training(), *pairs])
    assert (len(found.events), found.facts.untimed, found.facts.lost) == (len(training()), 2, {})


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([begin("x", 10), end(5)], "has a negative duration"),
        ([begin("x", "soon"), end(5)], "has no start that can be read"),
        ([begin("x", 10), end(None)], "has no duration that can be read"),
    ],
)
def test_ends_without_times_that_make_sense_are_counted(tmp_path, events, reason):
    found = read(tmp_path, [*training(), *events])
    assert (len(found.events), found.facts.lost) == (len(training()), {reason: 1})


def test_a_damaged_piece_keeps_its_ranges(tmp_path):
    path = write(tmp_path / "rank-0.json", halved(training()))
    path.write_text(path.read_text().replace('"aten::t"', '"aten::t\n"', 1))
    found = traces.read(path)
    assert (len(found.events), found.facts.lost) == (len(training()), {})


def test_ranges_across_pieces_and_processes_are_whole(tmp_path, monkeypatch):
    events = [annotation("ProfilerStep#1", 0, 9000), *(op(f"aten::mm{place}", place * 9, 8) for place in range(900))]
    events += [op("aten::linear", 2, 8800, WORKER)]
    path = write(tmp_path / "rank-0.json", halved(events), distributedInfo={"rank": 0})
    whole = content(read(tmp_path, events))
    path = write(tmp_path / "rank-0.json", halved(events), distributedInfo={"rank": 0})
    monkeypatch.setattr(chunks, "CHUNK", 4096)
    monkeypatch.setattr("ledger.traces.source.BLOCK", 1024)
    assert content(traces.read(path)) == whole
    form, together, rows = kineto.Kineto(), Facts(), []
    for number in range(3):
        facts = Facts()
        rows += list(form.read(path, facts, Part(number, 3)))
        together.add(Facts.of(json.loads(json.dumps(facts.data()))))
    rows += list(form.join(together))
    collecting = reading.Collecting()
    for batch in rows:
        collecting.add(batch)
    assert content(collecting.trace(path, together)) == whole
    assert together.lost == {}
    assert together.total - together.untimed == len(events)


def test_what_is_cached_holds_them(tmp_path):
    path = write(tmp_path / "rank-0.json", halved(training()))
    assert content(cached(path, tmp_path / "cache").trace()) == content(read(tmp_path, training()))


def half(begins: bool, name: str, thread: str, at: int) -> Half:
    return Half(begins, "1", thread, name, "cpu_op", at, Args(correlation=at))


HALVES = st.lists(st.tuples(st.booleans(), st.sampled_from(["a", "b", ""]), st.sampled_from(["1", "2"])), max_size=30)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HALVES, st.lists(st.integers(0, 30), max_size=4))
def test_however_a_file_is_cut_the_ranges_are_the_same(halves, cuts):
    made = [
        half(begins, name or ("" if not begins else "a"), thread, at)
        for at, (begins, name, thread) in enumerate(halves)
    ]
    assert ranges([made]) == ranges([made[low:high] for low, high in pairwise([0, *sorted(cuts), 99])])


def ranges(pieces: list[list[Half]]) -> tuple[Any, ...]:
    facts, found = Facts(), []
    none = Rows.none()
    parts = [whole_ranges(Rows(**{**vars(none), "halves": piece}), place, facts) for place, piece in enumerate(pieces)]
    for rows in [*parts, joined(facts)]:
        found += zip(rows.name, rows.tid, rows.start.tolist(), rows.duration.tolist(), rows.args, strict=True)
    assert not facts.halves
    assert all(start != MISSING for _, _, start, _, _ in found)
    return sorted(found, key=lambda row: row[2]), facts.lost
