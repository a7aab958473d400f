"""Self time of nested intervals in bulk: the same as one event after another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import traces
from ledger.traces import work
from ledger.traces.breakdown import explain
from ledger.traces.classes import table
from ledger.traces.nesting import nest
from tests.ledger.traces.builder import annotation, op, write

NAMES = ("aten::linear", "aten::mm", "aten::view", "aten::mul", "c10d::allreduce_", "enumerate(DataLoader)#x.__next__")


def cut(*intervals: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Stretches as (start, end, position of the owner)."""
    start, end = np.array(intervals, dtype=np.int64).reshape(-1, 2).T
    found = nest(start, end)
    begin, stop, owner = found.self_times()
    return sorted(zip(begin.tolist(), stop.tolist(), found.order[owner].tolist(), strict=True))


def test_each_stretch_belongs_to_the_innermost():
    assert cut((0, 100), (10, 40), (20, 30), (40, 60), (90, 100)) == [
        (0, 10, 0), (10, 20, 1), (20, 30, 2), (30, 40, 1), (40, 60, 3), (60, 90, 0), (90, 100, 4),
    ]  # fmt: skip


def test_nothing_is_nothing_and_no_length_is_left_out():
    assert cut() == []
    assert cut((5, 5), (0, 10)) == [(0, 10, 1)]


def test_of_two_that_are_alike_the_first_is_outside():
    assert cut((0, 10), (0, 10)) == [(0, 10, 1)]


def test_overlapping_intervals_are_no_nest():
    assert nest(np.array([0, 5]), np.array([10, 15])) is None


@st.composite
def threads(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Properly nested calls on one thread."""

    def calls(start: int, end: int, depth: int) -> list[tuple[str, int, int]]:
        cuts = sorted(draw(st.lists(st.integers(start, end), max_size=4 if depth < 3 else 0)))
        found = []
        for low, high in zip(cuts[::2], cuts[1::2], strict=False):
            found.append((draw(st.sampled_from(NAMES)), low, high))
            found += calls(low, high, depth + 1)
        return found

    return calls(0, 60, 0)


@given(threads())
def test_in_bulk_is_as_one_by_one(tmp_path_factory, calls):
    path = tmp_path_factory.mktemp("t") / "t.json"
    events = [annotation("Optimizer.step#SGD.step", 20, 30), *(op(name, low, high - low) for name, low, high in calls)]
    trace = traces.read(write(path, events))
    bulk = work.on_host(trace, table())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "nest", lambda *_: None)
        single = work.on_host(trace, table())

    def covered(found: work.Work) -> dict[int, tuple[int, int]]:
        return {
            ns: (int(event), int(code))
            for low, high, event, code in zip(found.start, found.end, found.event, found.code, strict=True)
            for ns in range(int(low), int(high), 1000)
        }

    assert covered(bulk) == covered(single)
    assert explain(trace).duration >= 0
