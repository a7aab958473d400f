"""Sentences that rules made are held to the same tables, and their numbers to the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sitegen import prose
from sitegen.comparison.verdict import Note, Verdict
from sitegen.prose import Tables
from tests.sitegen.comparison import made
from tests.sitegen.comparison.test_claims import FAST, ONE_CAUSE, SERVING, SLOW, served, timed, traced
from tests.sitegen.prose import known
from tests.sitegen.prose.test_verdicts import NOISY, OTHER

SLOW_PARTS = {"compute": 0.080, "compute.gemm": 0.070, "idle": 0.024, "traced_launches": 90.0, "traced_flops": 1e9}
FAST_PARTS = {"compute": 0.060, "compute.gemm": 0.050, "idle": 0.012, "traced_launches": 40.0, "traced_flops": 1e9}


def explained() -> list[Any]:
    return known.runs(known.SLOW, known.FAST) + made.profiled(SLOW_PARTS, FAST_PARTS)


def checked(verdict: Verdict, tables: Tables) -> list[str]:
    return [found.what for found in prose.check_verdict(verdict, tables)]


@pytest.mark.parametrize(
    "runs",
    [
        explained(),
        known.runs(known.SLOW, known.FAST),
        known.runs(NOISY, OTHER),
        known.runs(known.SLOW, known.SLOW[::-1]),
        known.runs([0.104], [0.072]),
        known.runs([None] * 3, [0.072] * 3),
        known.runs(known.SLOW, known.FAST, fast_changes={"loss": 9.0}),
        known.runs(known.SLOW, known.FAST, fast_changes={"fields": {"card.workload.data.batch_size": "1,234"}}),
        [],
    ],
)
def test_what_the_rules_make_is_no_finding(runs: list[Any]) -> None:
    assert checked(known.verdict_of(runs), known.tables_of(runs)) == []


def test_a_rule_that_exchanges_the_sides_is_found() -> None:
    runs = explained()
    verdict, tables = known.verdict_of(runs), known.tables_of(runs)
    sentence = verdict.sentence.replace("fast trains", "slow trains").replace("as fast as slow", "as fast as fast")
    assert sentence != verdict.sentence
    (found,) = checked(replace(verdict, sentence=sentence), tables)
    assert "ratio slow / fast" in found


def test_a_number_that_the_verdict_does_not_hold_is_found() -> None:
    runs = explained()
    verdict, tables = known.verdict_of(runs), known.tables_of(runs)
    claim = verdict.claims[0]
    shown = claim.text.replace(" ms a step", "9 ms a step")
    assert shown != claim.text
    (found,) = checked(replace(verdict, claims=(replace(claim, text=shown), *verdict.claims[1:])), tables)
    assert "is no number of this comparison" in found
    note = Note("trials_missing", "77 of 91 planned timed trials of slow were not run")
    assert len(checked(replace(verdict, downgrades=(note,)), tables)) == 2


@pytest.mark.parametrize("code", ONE_CAUSE)
def test_the_numbers_of_claims_about_steps_are_in_the_verdict(code: str) -> None:
    slow, fast, _ = ONE_CAUSE[code]
    parts = made.profiled(traced(**slow), traced(**fast))
    for runs in (made.interleaved(SLOW, FAST), timed("throttled_share", 0.6, 0.0)):
        assert checked(made.verdict(runs + parts), Tables({})) == []


@pytest.mark.parametrize("code", SERVING)
def test_the_numbers_of_claims_about_requests_are_in_the_verdict(code: str) -> None:
    assert checked(served(*SERVING[code]), Tables({})) == []
