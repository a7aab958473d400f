"""Verdicts on serving and tasks: planted truths in sealed runs, judged as a workspace's own evidence is."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import benchmark as benchmark_file
from ledger import catalog
from sitegen.comparison import items, report, request_accounting
from sitegen.comparison.judge import judge_file
from sitegen.comparison.verdict import Decision, Standing, Verdict
from tests import factory
from tests.serving import SERVE, TASKS, attempt, benchmark, make_run, request

STARTED = "2026-11-30T12:{:02}:00.000000Z"


def judged(tmp_path: Path, sides: dict[str, list[list[dict[str, Any]]]], keys: dict[str, Any]) -> Verdict:
    """Seal interleaved launches of `slow` and `fast`, {stack: rows of each launch}, and judge them."""
    evidence, order = tmp_path / "evidence", 0
    for repeat, pair in enumerate(zip(sides["slow"], sides["fast"], strict=True), 1):
        launches = list(zip(("slow", "fast"), pair, strict=True))
        for stack, rows in launches if repeat % 2 else launches[::-1]:
            order += 1
            make_run(evidence, rows, keys, stack, repeat=repeat, order=order, started=STARTED.format(order))
    file = benchmark_file.read(factory.write_benchmark(tmp_path / "benchmarks", **keys))
    with catalog.open(evidence) as opened:
        (verdict,) = judge_file(opened, file, evidence, today=date(2026, 11, 30))
    return verdict


def served(repeat: int, *, slower: float = 1.0, right: int = 150, of: int = 200) -> list[dict[str, Any]]:
    """A closed loop of one: each request follows the one before; `slower` stretches it."""
    rows, at = [], 0
    for number in range(of):
        took = round((90_000_000 + repeat * 100_000) * slower)
        times = {"scheduled_ns": None, "sent_ns": at, "first_token_ns": at + took // 2, "ended_ns": at + took}
        rows.append(request(number, **times, accepted=number < right))
        at += took
    return rows


CLOSED = {**SERVE, "load": {"concurrency": 1, "requests": 200, "max_output_tokens": 16}}


def test_the_quicker_server_with_the_same_answers_is_cheaper_and_the_time_says_why(tmp_path):
    sides = {"slow": [served(n, slower=2 + n % 2 / 500) for n in range(5)], "fast": [served(n) for n in range(5)]}
    verdict = judged(tmp_path, sides, benchmark(CLOSED, {"acceptance_rate": ">= 0.6"}))
    assert (verdict.decision, verdict.winner) == (Decision.WINS, "fast")
    assert verdict.effect.ratio == pytest.approx(0.5, rel=0.01)
    assert "an accepted result of fast costs 0.50 times what one of slow costs" in verdict.sentence
    factors = {factor.id: factor for factor in verdict.accounting.factors}
    costs = verdict.effect.candidate - verdict.effect.baseline
    assert factors["time"].contribution == pytest.approx(costs)
    assert factors["acceptance_rate"].contribution == factors["price"].contribution == 0
    assert factors["time"].baseline == pytest.approx(2 * factors["time"].candidate, rel=0.01)
    assert sum(part.baseline for part in verdict.accounting.parts) == pytest.approx(0.1804, abs=1e-3)
    assert abs(verdict.accounting.residual) < 1e-9
    assert verdict.accounting.explained_share == 1
    assert verdict.items.p_value == 1


def test_a_faster_server_that_answers_worse_fails_its_limit(tmp_path):
    sides = {"slow": [served(n, slower=2) for n in range(5)], "fast": [served(n, right=60) for n in range(5)]}
    verdict = judged(tmp_path, sides, benchmark(CLOSED, {"acceptance_rate": ">= 0.6"}))
    assert (verdict.decision, verdict.winner) == (Decision.WINS, "slow")
    assert "only one qualifies" in verdict.sentence
    assert [check.standing for check in verdict.limits] == [Standing.HOLDS, Standing.FAILS]
    assert verdict.items.only_baseline == 90
    assert verdict.items.p_value < 1e-9


def test_cheaper_by_the_hour_is_not_cheaper_by_the_accepted_result(tmp_path):
    keys = benchmark(CLOSED)
    keys["stacks"]["fast"]["price"] = {**factory.PRICE, "amount": 0.05}
    sides = {"slow": [served(n) for n in range(5)], "fast": [served(n, slower=1.5, right=75) for n in range(5)]}
    verdict = judged(tmp_path, sides, keys)
    assert (verdict.decision, verdict.winner) == (Decision.WINS, "slow")
    assert verdict.effect.ratio == pytest.approx(0.5 * 1.5 * 2)
    factors = {factor.id: factor.contribution for factor in verdict.accounting.factors}
    assert factors["price"] < 0 < factors["acceptance_rate"]
    assert sum(factors.values()) == pytest.approx(verdict.effect.candidate - verdict.effect.baseline)


def test_few_items_leave_a_difference_in_quality_undecided(tmp_path):
    """Launches that all answer alike have no spread, yet 20 questions do not tell 12 right answers from 9."""
    sides = {
        "slow": [served(n, right=9, of=20) for n in range(5)],
        "fast": [served(n, right=12, of=20) for n in range(5)],
    }
    keys = benchmark(CLOSED, comparisons=[{"baseline": "slow", "candidate": "fast", "threshold": "1%"}])
    keys["envelope"]["objective"] = {"maximise": "acceptance_rate"}
    verdict = judged(tmp_path, sides, keys)
    assert verdict.decision is Decision.INCONCLUSIVE
    assert verdict.effect.low < 1 < verdict.effect.ratio < verdict.effect.high
    assert "widened by the chance of which items were asked" in verdict.effect.method
    assert verdict.items.p_value == pytest.approx(0.25)


def test_limits_on_quality_are_judged_over_items_and_on_reliability_over_requests(tmp_path):
    sides = {name: [served(n, right=130) for n in range(3)] for name in ("slow", "fast")}
    verdict = judged(tmp_path, sides, benchmark(CLOSED, {"acceptance_rate": ">= 0.6", "request_reliability": ">= 99%"}))
    quality, reliability = verdict.limits[0], verdict.limits[2]
    assert quality.basis == "200 items, Wilson interval"
    assert (quality.standing, reliability.standing) == (Standing.UNKNOWN, Standing.HOLDS)
    assert reliability.basis == "600 of 600 requests answered, Wilson interval"


def test_a_harness_that_solves_more_tasks_wins_though_each_takes_longer(tmp_path):
    names = [f"task-{number}" for number in range(40)]

    def solved(count: int, seconds: float, repeat: int) -> list[dict[str, Any]]:
        return [attempt(name, seconds + repeat / 100, index < count, index) for index, name in enumerate(names)]

    sides = {"slow": [solved(6, 10, n) for n in range(5)], "fast": [solved(36, 20, n) for n in range(5)]}
    verdict = judged(tmp_path, sides, benchmark(TASKS, {"launch_reliability": ">= 0.5"}))
    assert (verdict.decision, verdict.winner) == (Decision.WINS, "fast")
    assert verdict.items.only_candidate == 30
    assert [row.item for row in verdict.items.apart][:1] == ["task-10"]
    text = report.to_text(verdict)
    assert "Item by item (40 items on both sides)" in text
    assert "What an accepted result costs is made of" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "item_rows" not in report.to_json([verdict])["verdicts"][0]


@pytest.mark.parametrize(
    ("first", "second", "p"), [(0, 0, 1.0), (1, 0, 1.0), (0, 6, 0.03125), (5, 5, 1.0), (2, 10, 0.03857421875)]
)
def test_mcnemars_exact_test_gives_the_textbook_values(first, second, p):
    assert items.mcnemar(first, second) == pytest.approx(p)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(0.01, 1), st.floats(0.01, 1))
def test_contributions_add_up_and_swap_signs(a, b, x, y):
    weight = request_accounting.logarithmic_mean(a / x, b / y)
    assert weight == pytest.approx(request_accounting.logarithmic_mean(b / y, a / x), rel=1e-6)
    parts = weight * math.log(b / a), weight * math.log(x / y)
    assert sum(parts) == pytest.approx(b / y - a / x, rel=1e-6, abs=1e-9 * max(a / x, b / y))
