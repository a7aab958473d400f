"""Columns beyond the budget lie on disk, and say the same."""

import gc

import numpy as np

from ledger import traces
from ledger.traces import room
from ledger.traces.breakdown import explain
from ledger.traces.room import Room
from tests.ledger.traces.builder import training, write


def test_beyond_the_budget_is_on_disk_and_what_is_freed_is_memory_again():
    space = Room(budget=2**20)
    first = space.empty(2**17, np.int64)
    first[:] = 7
    assert (space.spilled, first.flags.writeable) == (0, True)
    second = space.empty(2**16, np.int64)
    second[:] = np.arange(2**16)
    assert space.spilled == 2**19
    assert int(second.sum()) == 2**16 * (2**16 - 1) // 2
    view = first[3:5]
    del first
    gc.collect()
    space.empty(2**17, np.int64)
    assert space.spilled == 2**19 + 2**20  # the view holds it
    assert view.tolist() == [7, 7]
    del view
    gc.collect()
    space.empty(2**17, np.int64)
    assert space.spilled == 2**19 + 2**20


def test_a_trace_beyond_the_budget_is_explained_alike(tmp_path, monkeypatch):
    path = write(tmp_path / "t.json", training(20_000))
    inside = traces.read(path)
    monkeypatch.setattr(room.Room.__init__, "__defaults__", (0,))
    outside = traces.read(path)
    assert (inside.room.spilled, outside.room.spilled > 2**20) == (0, True)
    assert explain(outside) == explain(inside)
