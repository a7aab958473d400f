"""Public rank beside own rank: one order of each, of the same stacks, under the same conditions, or a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import benchmark as benchmark_file
from ledger.shortlist import PublicRow
from sitegen.comparison.public_ranks import PublicRanks, beside
from sitegen.comparison.ranking import Cell, Place, Ranking
from sitegen.comparison.verdict import Standing
from sitegen.format import ordinal
from tests.factory import benchmark_text
from tests.public_rows import COLLECTION, row

WORK = {"samples_per_step": 2, "tokens_per_step": 32}


def judged(
    public: dict[str, float], own: dict[str, float], standings: dict[str, Standing] | None = None, **rows: PublicRow
) -> PublicRanks | None:
    """Stacks with a public step time each, and own means."""
    names = {**public, **own}
    stacks: dict[str, Any] = {name: {"adapter": "torch", "public": f"{COLLECTION}/{name}"} for name in names}
    text = benchmark_text(stacks=stacks, comparisons=[])

    benchmark = benchmark_file.parse(text, Path("tiny.yaml")).benchmark
    places = tuple(
        Place(
            stack, None, 3, 0, (standings or {}).get(stack, Standing.HOLDS), (),
            {"step_time": Cell(own[stack], None, None)} if stack in own else {}, (),
        )
        for stack in names
    )  # fmt: skip
    known = [rows.get(name) or row(name, {"step_time": value}, workload=WORK) for name, value in public.items()]
    return beside(Ranking("tiny", "Which?", "step_time", (), places), benchmark, known)


def test_the_largest_moves_are_named_largest_first() -> None:
    found = judged({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, {"a": 0.4, "b": 0.2, "c": 0.3, "d": 0.1})
    assert found is not None
    assert [(pair.stack, pair.public_rank, pair.own_rank, pair.move) for pair in found.pairs] == [
        ("d", 4, 1, 3), ("b", 2, 2, 0), ("c", 3, 3, 0), ("a", 1, 4, -3),
    ]  # fmt: skip
    assert found.sentence == (
        "Largest moves from the public order of 4 to the one here: a from 1st to 4th, d from 4th to 1st."
    )
    assert found.group is not None
    assert found.group.asked


def test_one_order_on_both_sides_is_said() -> None:
    found = judged({"a": 1.0, "b": 2.0}, {"a": 0.1, "b": 0.2})
    assert found is not None
    assert found.sentence == "The public order of these 2 stacks is the order here."


def test_ranks_are_among_the_stacks_that_both_orders_hold() -> None:
    found = judged(
        {"a": 1.0, "b": 2.0, "c": 3.0, "unmeasured": 0.5},
        {"a": 0.3, "b": 0.2, "c": 0.1, "unknown": 0.05},
        {"a": Standing.FAILS},
    )
    assert found is not None
    pairs = {pair.stack: pair for pair in found.pairs}
    assert (pairs["b"].public_rank, pairs["c"].public_rank) == (1, 2)
    assert (pairs["b"].own_rank, pairs["c"].own_rank) == (2, 1)
    assert (pairs["a"].move, pairs["a"].why) == (None, "own: the envelope is not held")
    assert pairs["unmeasured"].why == "own: no timed launch with step_time yet"
    assert pairs["unknown"].why == "no imported collection holds this row"


def test_rows_of_other_work_are_in_no_order_with_the_rest() -> None:
    other = row("c", {"step_time": 0.1}, workload={"samples_per_step": 64})
    found = judged({"a": 1.0, "b": 2.0, "c": 0.1}, {"a": 0.3, "b": 0.2, "c": 0.1}, c=other)
    assert found is not None
    assert {pair.stack: pair.move for pair in found.pairs} == {"a": -1, "b": 1, "c": None}
    assert found.pairs[-1].why == "public: under other conditions than the rest"


def test_another_definition_gives_no_order() -> None:
    rows = {name: row(name, {"step_time@made": value}, workload=WORK) for name, value in (("a", 1.0), ("b", 2.0))}
    found = judged({"a": 1.0, "b": 2.0}, {"a": 0.3, "b": 0.2}, **rows)
    assert found is not None
    assert found.group is None
    assert found.sentence == (
        "There is no public order: no published value is step_time by its definition here; step_time@made is of "
        "another definition."
    )
    assert all(pair.public_rank is None and pair.own_rank is None for pair in found.pairs)


def test_one_stack_alone_has_no_rank() -> None:
    found = judged({"a": 1.0, "b": 2.0}, {"a": 0.3})
    assert found is not None
    assert found.group is None
    assert found.sentence.startswith("There are no two orders yet: 1 of 2 drafted stacks hold the envelope")


def test_stacks_that_nobody_published_have_no_table() -> None:

    benchmark = benchmark_file.parse(benchmark_text(), Path("tiny.yaml")).benchmark
    assert beside(Ranking("tiny", "Which?", "step_time", (), ()), benchmark, [row("a")]) is None


@pytest.mark.parametrize(
    ("place", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (21, "21st")]
)
def test_places_are_written_as_people_do(place: int, text: str) -> None:
    assert ordinal(place) == text
