"""All stacks beside each other: order, front, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitegen.comparison.ranking import Cell, Column, Place, Ranking, rank
from sitegen.comparison.verdict import Standing
from tests.sitegen.comparison.made import declared, evidence, interleaved
from tests.sitegen.pages import made

COLUMNS = (
    Column("cost", "Cost", "money", lower_is_better=True),
    Column("quality", "Quality", "share", lower_is_better=False),
)


def place(stack: str, cost: float, quality: float, standing: Standing = Standing.HOLDS) -> Place:
    cells = {"cost": Cell(cost, None, None), "quality": Cell(quality, None, None)}
    return Place(stack, None, 3, 0, standing, (), cells, ())


def ranking(*places: Place) -> Ranking:
    return Ranking("made", "Which?", "cost", COLUMNS, places)


def test_what_another_stack_beats_in_both_is_not_on_the_front() -> None:
    found = ranking(place("cheap", 1, 0.5), place("good", 3, 0.9), place("neither", 4, 0.8), place("twin", 1, 0.5))
    assert found.front("cost", "quality") == ("cheap", "good", "twin")


def test_what_does_not_hold_the_envelope_is_not_on_the_front_and_keeps_nobody_off_it() -> None:
    found = ranking(place("best", 1, 0.9, Standing.FAILS), place("holds", 2, 0.8))
    assert found.front("cost", "quality") == ("holds",)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_nobody_beats_the_front_and_somebody_on_it_beats_all_others(points: list[tuple[int, int]]) -> None:
    places = [place(f"s{number}", cost, -quality) for number, (cost, quality) in enumerate(points)]
    front = set(ranking(*places).front("cost", "quality"))
    assert front

    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return one[0] <= other[0] and one[1] <= other[1] and one != other

    for number, point in enumerate(points):
        assert (f"s{number}" in front) is not any(beats(each, point) for each in points)


def test_stacks_that_hold_the_envelope_come_first_and_then_the_objective_decides() -> None:
    runs = interleaved([0.1, 0.101, 0.099], [0.05, 0.051, 0.049])
    found = rank(evidence(runs), declared())
    assert [(each.stack, each.standing) for each in found.places] == [
        ("fast", Standing.HOLDS),
        ("slow", Standing.HOLDS),
    ]
    failing = interleaved([0.1, 0.101, 0.099], [0.05, 0.051, 0.049], fast_changes={"loss": 9.0})
    found = rank(evidence(failing), declared())
    assert [(each.stack, each.standing) for each in found.places] == [
        ("slow", Standing.HOLDS),
        ("fast", Standing.FAILS),
    ]
    assert found.columns[0].metric == "step_time"
    cell = found.places[0].cells["step_time"]
    assert cell.value == pytest.approx(0.1)
    assert cell.low is not None


def test_a_stack_without_launches_is_there_and_last() -> None:
    runs: list[Any] = [run for run in interleaved([0.1, 0.101, 0.099], [0.05, 0.051, 0.049]) if run.stack == "slow"]
    found = rank(evidence(runs), declared())
    assert [(each.stack, each.launches, each.standing) for each in found.places] == [
        ("slow", 3, Standing.HOLDS),
        ("fast", 0, Standing.UNKNOWN),
    ]


def test_the_page_shows_every_stack_and_is_linked(site: Path) -> None:
    page = (site / "benchmarks/tiny.html").read_text()
    for words in ("tiny: all stacks", "slow", "fast", "step_time", "slow-vs-fast.html"):
        assert words in page
    assert 'href="benchmarks/tiny.html"' in (site / "index.html").read_text()


def test_a_benchmark_that_never_ran_has_a_page_with_what_to_run(tmp_path: Path) -> None:
    root = made.empty_workspace(tmp_path)
    from tests.factory import write_benchmark

    write_benchmark(root / "benchmarks")
    assert made.stackproof(root, "build", "--strict").returncode == 0
    assert "stackproof collect tiny" in (root / "site/benchmarks/tiny.html").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = made.small_workspace(tmp_path_factory.mktemp("ranking"))
    done = made.stackproof(folder, "build", "--strict")
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_steps_of_unequal_work_give_no_order() -> None:
    field = "card.workload.work_per_step.tokens"

    def ranked(slow: dict[str, str], fast: dict[str, str]) -> Ranking:
        sides = {"slow_changes": {"fields": slow}, "fast_changes": {"fields": fast}}
        return rank(evidence(interleaved([0.1, 0.101, 0.099], [0.05, 0.051, 0.049], **sides)), declared())

    apart = ranked({field: "32768"}, {field: "1024"})
    assert [place.stack for place in apart.places] == ["slow", "fast"]
    assert apart.unordered == "a step does not do the same work on all of them (1,024 or 32,768 tokens)"
    assert "of some it is not known" in (ranked({field: "1024"}, {}).unordered or "")
    alike = ranked({field: "1024"}, {field: "1024"})
    assert ([place.stack for place in alike.places], alike.unordered) == (["fast", "slow"], None)
