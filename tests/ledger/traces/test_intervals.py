"""Interval sets against sets of integers, which cannot be wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.traces.intervals import EMPTY, Intervals, union_of

edges = st.integers(-40, 40)
pairs = st.lists(st.tuples(edges, edges), max_size=12)


def made(intervals: list[tuple[int, int]]) -> Intervals:
    columns = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return union_of(columns[:, 0], columns[:, 1])


def points(intervals: list[tuple[int, int]]) -> set[int]:
    return {point for start, end in intervals for point in range(start, end)}


def held(intervals: Intervals) -> set[int]:
    return points(list(zip(intervals.starts.tolist(), intervals.ends.tolist(), strict=True)))


@given(pairs)
def test_a_union_holds_each_nanosecond_once_in_normal_form(intervals):
    union = made(intervals)
    assert held(union) == points(intervals)
    assert union.length == len(points(intervals))
    assert (union.starts < union.ends).all()
    assert (union.ends[:-1] < union.starts[1:]).all()


@given(pairs, pairs)
def test_operators_are_those_of_sets(left, right):
    assert held(made(left) | made(right)) == points(left) | points(right)
    assert held(made(left) & made(right)) == points(left) & points(right)
    assert held(made(left) - made(right)) == points(left) - points(right)


@given(pairs, edges, edges)
def test_clip_is_the_intersection_with_one_interval(intervals, start, end):
    clipped = made(intervals).clip(start, end)
    assert held(clipped) == points(intervals) & set(range(start, end))
    assert held(clipped) == held(made(intervals) & made([(start, end)]))


@given(pairs, st.lists(edges, min_size=1))
def test_contains_and_before_answer_point_by_point(intervals, asked):
    union, where = made(intervals), np.array(asked, dtype=np.int64)
    assert union.contains(where).tolist() == [point in points(intervals) for point in asked]
    assert union.before(where).tolist() == [sum(held < point for held in points(intervals)) for point in asked]


@pytest.mark.parametrize("base", [4_458_676_522_690_655, 2**61])
def test_absolute_stamps_lose_nothing(base):
    union = made([(base, base + 3), (base + 2, base + 5)]) - made([(base + 1, base + 2)])
    assert union.length == 4


def test_the_empty_set_is_neutral():
    some = made([(3, 9)])
    assert held(some | EMPTY) == held(some - EMPTY) == held(some)
    assert (some & EMPTY).length == 0
