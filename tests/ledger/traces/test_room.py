"""Columns beyond the budget lie on disk, and say the same."""

import gc
import weakref

import numpy as np
import pytest
from click.testing import CliRunner

from ledger import traces
from ledger.commands.trace import command
from ledger.metrics.tables import Tables
from ledger.traces import room
from ledger.traces.breakdown import explain
from ledger.traces.room import Room
from ledger.traces.trace import Collecting
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


def test_pages_of_the_disk_are_let_go_of_and_come_back_with_their_content():
    space = Room(budget=0)
    column = space.empty(2**16, np.int64)
    column[:] = np.arange(2**16)
    room.trim()
    assert column.tolist() == list(range(2**16))


@pytest.fixture
def alive(monkeypatch):
    """How many traces were in memory each time that one was made."""
    made, counts, collected = [], [], Collecting.trace

    def counting(*arguments):
        gc.collect()
        counts.append(sum(each() is not None for each in made))
        found = collected(*arguments)
        made.append(weakref.ref(found))
        return found

    monkeypatch.setattr(Collecting, "trace", counting)
    return counts


def test_of_several_ranks_one_is_in_memory_at_a_time(tmp_path, alive):
    for rank in range(3):
        (tmp_path / "traces").mkdir(exist_ok=True)
        write(tmp_path / f"traces/rank-{rank}.json", training())
    assert len(Tables(tmp_path).traces) == 3
    files = [str(tmp_path / f"traces/rank-{rank}.json") for rank in range(3)]
    ran = CliRunner().invoke(command, [*files, "--against", files[0], "--tables", str(tmp_path / "tables")])
    assert ran.exit_code == 0, ran.output
    assert alive == [0] * 7
