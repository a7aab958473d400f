"""Rows of a table on their way into a trace: all of them, in the file's order, wherever they are kept."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ledger.traces import rows
from ledger.traces.interface import CALLS, MEMORY
from ledger.traces.room import Room
from ledger.traces.rows import Rows


def memory(*at: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"at_ns": each, "device": f"cuda:{each % 3}", "bytes": 1} for each in at], MEMORY
    )


@pytest.mark.parametrize("group", [1, 200, 10_000_000])
@pytest.mark.parametrize("budget", [0, 2**30])
def test_rows_come_back_in_the_files_order(monkeypatch, group, budget):
    monkeypatch.setattr(rows, "_GROUP", group)
    kept = Rows(Room(budget), MEMORY)
    for place in (3, 0, 2, 1):
        kept.append(place, memory(*range(place * 10_000, (place + 1) * 10_000)))
    table = kept.table()
    assert table["at_ns"].to_pylist() == list(range(40_000))
    assert table["device"].to_pylist() == [f"cuda:{each % 3}" for each in range(40_000)]


def test_words_of_several_batches_share_one_dictionary(monkeypatch):
    monkeypatch.setattr(rows, "_GROUP", 1)
    kept = Rows(Room(), CALLS)
    for place, name in enumerate(("nccl:all_reduce", "gloo:barrier", "nccl:all_reduce")):
        kept.append(place, pa.RecordBatch.from_pylist([{"kind": 1, "name": name, "start_ns": place}], CALLS))
    table = kept.table()
    assert table["name"].to_pylist() == ["nccl:all_reduce", "gloo:barrier", "nccl:all_reduce"]
    assert len({tuple(chunk.dictionary.to_pylist()) for chunk in table["name"].chunks}) == 1


def test_no_rows_are_an_empty_table():
    assert Rows(Room(), MEMORY).table().num_rows == 0


def test_many_rows_leave_memory_where_there_is_no_budget(monkeypatch):
    monkeypatch.setattr(rows, "_GROUP", 2**18)
    room = Room(budget=0)
    kept = Rows(room, MEMORY)
    kept.append(0, memory(*range(100_000)))
    assert room.spilled > 100_000 * 8 * 4
    assert kept.table().num_rows == 100_000
