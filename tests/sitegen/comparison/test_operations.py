"""Operations of two sides: whatever they are, rows make the whole exactly, and each row is only its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.traces.difference import Profile, difference, profile
from ledger.traces.profiles import of_data, to_data
from sitegen.comparison.aligned import Level, Operation, Operations
from sitegen.comparison.operations import MOST_ROWS, aligned
from tests import imported as made
from tests.ledger.traces.builder import event, op, training, write

NAMES = [f"aten::op{letter}" for letter in "abcdef"]
times_of_operations = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 50), max_size=6)


def profile_of(events: list[dict[str, Any]]) -> Profile:
    with tempfile.TemporaryDirectory() as folder:
        return profile(traces.read(write(Path(folder) / "t.json", events)))


def side(times: dict[str, int]) -> Profile:
    return profile_of(made.on_device({name: float(time) for name, time in times.items()}, {}))


def table(before: dict[str, int], after: dict[str, int]) -> Operations:
    return aligned(difference([side(before)], [side(after)]))


def by_name(found: Operations) -> dict[tuple[str, str | None, Level], Operation]:
    return {(row.part, row.name, row.level): row for row in found.rows}


@settings(max_examples=40, deadline=None)
@given(times_of_operations, times_of_operations)
def test_rows_and_rest_make_each_side_s_step_and_the_difference(before: dict[str, int], after: dict[str, int]) -> None:
    found = table(before, after)
    rest = found.rest
    for whole, each in (("baseline_ns", rest and rest.baseline_ns), ("candidate_ns", rest and rest.candidate_ns)):
        assert sum(getattr(row, whole) or 0 for row in found.rows) + (each or 0) == getattr(found, whole)
    assert sum(row.change_ns for row in found.rows) + (rest.change_ns if rest else 0) == found.change_ns
    for name in NAMES:
        rows = [row for row in found.rows if row.name == name]
        given_times = [side.get(name) for side in (before, after)]
        told = [rows[0].baseline_ns, rows[0].candidate_ns] if rows else [None, None]
        assert told == [None if time is None else time * 1000 for time in given_times]


@settings(max_examples=25, deadline=None)
@given(times_of_operations, times_of_operations)
def test_swapped_sides_flip_the_sign_of_each_row_and_nothing_else(
    before: dict[str, int], after: dict[str, int]
) -> None:
    there, back = by_name(table(before, after)), by_name(table(after, before))
    assert {key: row.change_ns for key, row in there.items()} == {key: -row.change_ns for key, row in back.items()}
    assert {key: row.baseline_kernels for key, row in there.items()} == {
        key: row.candidate_kernels for key, row in back.items()
    }


@settings(max_examples=25, deadline=None)
@given(times_of_operations, times_of_operations)
def test_merging_two_operations_changes_no_other(before: dict[str, int], after: dict[str, int]) -> None:
    """The same kernels, with one operation's calls made by another: its row is their sum, all others stay."""
    apart = {key: (row.baseline_ns, row.candidate_ns) for key, row in by_name(table(before, after)).items()}
    merged_sides = [profile_of(renamed(made.on_device(dict(each), {}))) for each in (before, after)]
    merged = by_name(aligned(difference([merged_sides[0]], [merged_sides[1]])))
    together = {key: (row.baseline_ns, row.candidate_ns) for key, row in merged.items()}
    for key, times in together.items():
        if key[1] != NAMES[0]:
            assert apart[key] == times
    one = [apart.get((part, name, level)) for part, name, level in apart if name in NAMES[:2]]
    for place, found in enumerate(zip(*[each for each in one if each], strict=True)):
        known = [time for time in found if time is not None]
        row = next(times for key, times in together.items() if key[1] == NAMES[0])
        assert row[place] == (sum(known) if known else None)


def renamed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with the second operation called as the first."""
    return [{**each, "name": NAMES[0]} if each["name"] == NAMES[1] else each for each in events]


def test_on_a_host_without_a_device_operations_are_what_it_did_itself() -> None:
    slow, fast = profile_of(training(2)), profile_of(training(3))
    found = aligned(difference([slow], [fast]))
    rows = by_name(found)
    assert found.change_ns == 0
    product = rows["compute.gemm", "aten::mm", Level.OPERATION]
    assert found.seconds(product.baseline_ns) == pytest.approx(20e-6)
    assert (product.baseline_kernels, product.candidate_kernels) == ((), ())
    assert sum(row.baseline_ns or 0 for row in found.rows) == found.baseline_ns


def test_what_runs_under_something_else_is_taken_off_as_overlap() -> None:
    """A product of 50 us on one stream and 30 us of a reduction over ranks on another, of which 20 run under it."""
    events = [
        *made.on_device({"aten::mm": 50.0}, made.NVIDIA),
        op("c10d::allreduce_", 30, 2),
        event("cuda_runtime", "cudaLaunchKernel", 31, 0.5, correlation=9),
        event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 43, 30, 8, correlation=9),
    ]
    found = aligned(difference([profile_of(events)], [profile_of(made.on_device({"aten::mm": 50.0}, made.NVIDIA))]))
    rows = by_name(found)
    talk = "exposed_communication"
    assert rows["compute.gemm", "aten::mm", Level.OPERATION].change_ns == 0
    assert rows[talk, "c10d::allreduce_", Level.OPERATION].change_ns == -30_000
    assert rows[talk, None, Level.OVERLAP].change_ns == 20_000
    assert rows[talk, None, Level.OVERLAP].words == "Overlap in Exposed communication"
    assert sum(row.change_ns for row in found.rows) == found.change_ns


def test_no_more_rows_than_can_be_read_and_the_largest_changes_among_them() -> None:
    before = {f"aten::op{number:02d}": 5 for number in range(20)}
    after = {name: 5 + number for number, name in enumerate(before)}
    found = aligned(
        difference(
            [profile_of(made.on_device(before, {}, step=2000))], [profile_of(made.on_device(after, {}, step=2000))]
        )
    )
    assert len(found.rows) == MOST_ROWS
    assert found.rest is not None
    assert min(abs(row.change_ns) for row in found.rows) >= 4000
    assert sum(row.change_ns for row in found.rows) + found.rest.change_ns == found.change_ns


@pytest.mark.parametrize("events", [training(2), made.loading(60, 10, 100), made.on_device({"aten::mm": 5.0}, {})])
def test_a_profile_that_was_kept_gives_the_same_difference(events: list[dict[str, Any]]) -> None:
    found = profile_of(events)
    kept = of_data(to_data(found))
    other = profile_of(made.loading(5, 5, 50))
    assert difference([kept], [other]) == difference([found], [other])
    assert difference([other], [kept]) == difference([other], [found])
