"""Traces that were read before or by other processes: the same columns as read here and now."""

import pyarrow.parquet as pq
import pytest

from ledger import traces
from ledger.errors import InputError, StorageError
from ledger.traces import kineto, reading
from ledger.traces.cache import cached
from ledger.traces.trace import Trace
from tests.ledger.traces.builder import training, write


def columns(found: Trace) -> list[tuple]:
    """What the trace says, whatever its numbering of names and tracks."""
    events = found.events
    names = [found.names[code] for code in events.name]
    tracks = [found.tracks[code] for code in events.track]
    numbers = (events.kind, events.start, events.end, events.correlation, events.external)
    return sorted(zip(names, map(str, tracks), *(each.tolist() for each in numbers), strict=True))


def test_a_trace_is_read_once(tmp_path, monkeypatch):
    path = write(tmp_path / "rank-0.json.gz", training())
    first = cached(path, tmp_path / "cache")
    monkeypatch.setattr(kineto.Kineto, "read", None)  # reading again would fail
    again = cached(path, tmp_path / "cache")
    assert again == first
    assert [file.name for file in again.files("events")] == ["events-0.parquet"]
    assert not list((tmp_path / "cache").glob(".new-*"))


def test_the_tables_hold_what_the_file_holds(tmp_path):
    path = write(tmp_path / "rank-3.json.gz", training())
    read, kept = traces.read(path), cached(path, tmp_path / "cache").trace()
    assert columns(kept) == columns(read)
    assert kept.facts == read.facts
    assert kept.rank == 3
    assert kept.flops.value.tolist() == read.flops.value.tolist()
    rows = pq.read_table(cached(path, tmp_path / "cache").files("events")[0])
    assert rows.num_rows == len(training())


def test_another_file_has_other_tables(tmp_path):
    one, two = (write(tmp_path / f"{steps}.json", training(steps)) for steps in (1, 2))
    assert cached(one, tmp_path / "cache").folder != cached(two, tmp_path / "cache").folder


def test_two_processes_read_what_one_reads(tmp_path, monkeypatch):
    path = write(tmp_path / "rank-0.json", training(30_000))
    alone = traces.read(path)
    monkeypatch.setattr(kineto, "WORTH_SHARING", 0)
    shared = traces.read(path, tmp_path / "tables")
    assert shared.facts == alone.facts
    assert {file.name for file in (tmp_path / "tables").glob("events-*")} == {"events-0.parquet", "events-1.parquet"}
    assert shared.events.start.tolist() == alone.events.start.tolist()
    assert shared.flops.event.tolist() == alone.flops.event.tolist()
    assert columns(shared) == columns(alone)


def test_ranks_are_read_ahead_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "WORTH_A_PROCESS", 0)
    paths = [write(tmp_path / f"rank-{rank}.json.gz", training(rank + 1)) for rank in range(4)]
    found = list(reading.read_ranks(paths))
    assert [each.rank for each in found] == [0, 1, 2, 3]
    assert [columns(each) for each in found] == [columns(traces.read(path)) for path in paths]


def test_what_is_wrong_with_a_rank_is_said_as_if_it_were_read_here(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "WORTH_A_PROCESS", 0)
    good, bad = write(tmp_path / "rank-0.json", training()), tmp_path / "rank-1.json"
    bad.write_text('{"name": "package"}')
    with pytest.raises(InputError, match="not a profiler trace") as caught:
        list(reading.read_ranks([good, bad]))
    assert caught.value.where == str(bad)


def test_tables_that_cannot_be_written_say_so(tmp_path):
    path = write(tmp_path / "rank-0.json", training())
    (tmp_path / "taken").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        reading.read(path, tmp_path / "taken")
