"""What a comparison decided binds the text: an order that it did not decide is not said."""

from __future__ import annotations

from typing import Any

import pytest

from sitegen.comparison.verdict import Decision
from sitegen.prose import Tables
from tests.sitegen.comparison import made
from tests.sitegen.prose import known

NOISY = [0.080, 0.120, 0.090, 0.110, 0.100]
OTHER = [0.110, 0.085, 0.105, 0.080, 0.100]
ALIKE = [0.1041, 0.1040, 0.1039, 0.1042, 0.1038]
ORDERS = (
    "fast is faster than slow.",
    "fast wins.",
    "fast beats slow.",
    "fast is 4 % faster than slow.",
    "fast is best.",
)


def decided(decision: Decision, runs: list[Any], **changes: Any) -> Tables:
    assert known.verdict_of(runs, **changes).decision is decision
    return known.tables_of(runs, **changes)


@pytest.mark.parametrize(
    "sentence", [*ORDERS, "slow is faster than fast.", "fast is the fastest.", "slow wins over fast."]
)
def test_an_undecided_comparison_bears_out_no_order(sentence: str) -> None:
    tables = decided(Decision.INCONCLUSIVE, known.runs(NOISY, OTHER))
    (found,) = known.findings(sentence, tables)
    assert "slow-vs-fast: inconclusive" in found


@pytest.mark.parametrize("sentence", ORDERS)
def test_what_cannot_be_compared_bears_out_no_order(sentence: str) -> None:
    runs = known.runs(known.SLOW, known.FAST, fast_changes={"fields": {"card.workload.data.batch_size": "32"}})
    tables = decided(Decision.NOT_COMPARABLE, runs)
    (found,) = known.findings(sentence, tables)
    assert "slow-vs-fast: not comparable" in found


@pytest.mark.parametrize("sentence", ORDERS)
def test_where_neither_qualifies_neither_wins(sentence: str) -> None:
    envelope = {"limits": {"evaluation_loss": "<= 1.0"}, "objective": {"minimise": "step_time"}}
    tables = decided(Decision.NONE_QUALIFIES, known.runs(known.SLOW, known.FAST), envelope=envelope)
    (found,) = known.findings(sentence, tables)
    assert "none qualifies" in found or "fails its limits" in found


def test_equivalent_stacks_do_not_beat_each_other() -> None:
    tables = decided(Decision.EQUIVALENT, known.runs(known.SLOW, ALIKE))
    assert known.findings("slow and fast are equivalent. slow is as good as fast.", tables) == []
    for sentence in ("fast wins.", "fast beats slow.", "slow is faster than fast."):
        assert len(known.findings(sentence, tables)) == 1, sentence


def test_an_order_of_another_metric_is_that_of_the_means() -> None:
    tables = decided(Decision.INCONCLUSIVE, known.runs(NOISY, OTHER))
    assert known.findings("slow uses 50 % less peak memory than fast.", tables) == []
    assert len(known.findings("slow uses more peak memory than fast.", tables)) == 1


def test_only_what_is_ready_is_decided() -> None:
    parts = {"compute": 0.1, "traced_step_time": 0.1}
    runs = known.runs(known.SLOW, known.FAST) + made.profiled(
        {**parts, "compute": 0.1040, "traced_step_time": 0.1040},
        {**parts, "compute": 0.0720, "traced_step_time": 0.0720},
    )
    verdict = known.verdict_of(runs)
    assert verdict.readiness.ready, verdict.readiness.reasons
    text = "slow vs fast is decided. slow-vs-fast is ready. The comparison of slow and fast is ready."
    assert known.findings(text, known.tables_of(runs)) == []
    found = known.findings(text, known.tables_of(known.runs(known.SLOW, known.FAST)))
    assert len(found) == 3
    assert all("not ready to decide on" in each for each in found)


def test_a_winner_that_only_qualifies_is_the_winner_and_not_the_faster_one() -> None:
    runs = known.runs(known.SLOW, known.FAST, fast_changes={"loss": 9.0})
    tables = decided(Decision.WINS, runs)
    assert (
        known.findings("slow wins over fast. slow is the best. slow beats fast. fast is faster than slow.", tables)
        == []
    )
    assert len(known.findings("fast beats slow. slow is faster than fast. fast is the best.", tables)) == 3
