"""A planted cause is taken away: what was predicted, what closed, and what follows for the claim and the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.run import Role
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.explanation import Fate, Prediction
from sitegen.comparison.report import to_text
from sitegen.comparison.verdict import Verdict
from sitegen.pages.predictions import record
from tests.factory import BENCHMARK
from tests.sitegen.comparison.made import interleaved, profiled, run, verdict

SLOW = [0.100, 0.101, 0.099, 0.100, 0.1005]
FAST = [0.060, 0.0605, 0.0595, 0.060, 0.0602]
DECLARED = {
    "description": "The host has less to do.",
    "stack": "slow",
    "settings": {"threads": 4},
    "claim": "host_bound",
}
EXPLAINED = ({"compute": 0.05, "host_gap": 0.05}, {"compute": 0.05, "host_gap": 0.01})
UNEXPLAINED = ({"compute": 0.05, "idle": 0.05}, {"compute": 0.05, "idle": 0.01})
"""Time in which nothing runs explains nothing by itself, and may still be its host's doing."""
WAITS = ({"compute": 0.05, "input_wait": 0.05}, {"compute": 0.05, "input_wait": 0.01})
PRESENT = [0.061, 0.0605, 0.0603, 0.0611, 0.0604]
"""The changed stack where the cause is the right one."""


def comparisons(**changes: Any) -> list[dict[str, Any]]:
    return [{**BENCHMARK["comparisons"][0], "interventions": {"less-host": {**DECLARED, **changes}}}]


def rounds(
    changed: list[float | None], *, stack: str = "slow", slow: list[float] = SLOW, fast: list[float] = FAST, **more: Any
) -> list[TrialRun]:
    """A test's launches after all others: both sides as they are and the changed one, every other round backward."""
    runs: list[TrialRun] = []
    for repeat, values in enumerate(zip(slow, fast, changed, strict=True), 1):
        arms = list(zip(("slow", "fast", stack), (False, False, True), values, strict=True))
        for name, is_changed, value in arms if repeat % 2 else arms[::-1]:
            fields = {"setting.threads": "4"} if is_changed else {}
            own = {"role": Role.INTERVENTION, "intervention": "less-host", "changed": is_changed, "batch": "test"}
            started = f"2026-12-01T12:{len(runs):02d}:00.000000+00:00"
            changes = {"run_id": f"test-{len(runs)}", "trial_key": f"test-{len(runs)}", "started_at": started}
            runs.append(run(name, repeat, len(runs), value, fields=fields, **{**own, **changes, **more}))
    return runs


def put_to_the_test(
    test: list[TrialRun], parts: tuple[dict[str, float], dict[str, float]] = EXPLAINED, **declared: Any
) -> Verdict:
    return verdict(interleaved(SLOW, FAST) + profiled(*parts) + test, comparisons=comparisons(**declared))


def only(found: Verdict) -> Prediction:
    (prediction,) = found.predictions
    return prediction


def test_the_right_cause_taken_away_closes_the_difference_and_the_claim_causes() -> None:
    found = put_to_the_test(rounds(PRESENT))
    prediction = only(found)
    assert prediction.fate is Fate.FULFILLED
    assert prediction.predicted is not None
    assert prediction.observed is not None
    # 40 ms of host gap over a difference of 40.06 ms, and all but 0.6 ms of that closed.
    assert prediction.predicted.share == pytest.approx(0.04 / 0.04006, rel=1e-3)
    assert prediction.observed.share == pytest.approx((0.1001 - 0.06066) / 0.04006, rel=1e-3)
    assert prediction.observed.low is not None
    assert prediction.observed.high is not None
    assert 0.9 < prediction.observed.low < prediction.observed.share < prediction.observed.high < 1.05
    assert prediction.change == "threads 4 instead of 1"
    assert not found.claims[0].withdrawn
    assert "What was taken away causes 98.5 % of it" in " ".join(to_text(found).split())


def test_a_cause_whose_loss_closes_nothing_is_withdrawn_and_the_verdict_is_not_ready() -> None:
    found = put_to_the_test(rounds([0.1, 0.1002, 0.0995, 0.1004, 0.0999]))
    assert only(found).fate is Fate.REFUTED
    assert found.claims[-1].code == "host_bound"
    assert found.claims[-1].withdrawn
    assert [note.code for note in found.readiness.reasons] == ["explanation_refuted"]
    assert found.readiness.next_step
    assert found.decision.value == "wins"
    assert "withdrawn, as a test refuted it" in " ".join(to_text(found).split())


def test_a_refuted_claim_that_does_not_lead_leaves_the_verdict_ready() -> None:
    parts = {"compute": 0.05, "host_gap": 0.015, "input_wait": 0.035}, {"compute": 0.05, "host_gap": 0.01}
    fast = {**parts[1], "input_wait": 0.0}
    found = put_to_the_test(rounds([0.1, 0.1002, 0.0995, 0.1004, 0.0999]), (parts[0], fast))
    assert only(found).fate is Fate.REFUTED
    assert [(claim.code, claim.withdrawn) for claim in found.claims if claim.share is not None] == [
        ("input_wait", False),
        ("host_bound", True),
    ]
    assert found.readiness.ready


def test_the_winner_made_as_slow_as_the_loser_tells_the_same() -> None:
    """The faster stack is changed, and loses its lead."""
    found = put_to_the_test(rounds([0.099, 0.1, 0.0985, 0.0995, 0.0998], stack="fast"), stack="fast")
    prediction = only(found)
    assert prediction.fate is Fate.FULFILLED
    assert prediction.observed is not None
    assert prediction.observed.share == pytest.approx((0.09936 - 0.06004) / 0.04006, rel=1e-3)


def test_swapping_baseline_and_candidate_changes_nothing_of_it() -> None:
    runs = interleaved(SLOW, FAST) + profiled(*EXPLAINED) + rounds(PRESENT)
    swapped = [{**comparisons()[0], "baseline": "fast", "candidate": "slow"}]
    one, other = only(verdict(runs, comparisons=comparisons())), only(verdict(runs, comparisons=swapped))
    assert one.observed is not None
    assert other.observed is not None
    assert (one.fate, one.predicted) == (other.fate, other.predicted)
    assert one.observed.share == pytest.approx(other.observed.share)


def test_an_interval_that_holds_both_decides_nothing() -> None:
    found = put_to_the_test(rounds([0.061, 0.1, 0.065, 0.098, 0.06]))
    assert only(found).fate is Fate.UNDECIDED
    assert "both less and more than half" in (only(found).why or "")
    assert found.readiness.ready


def test_the_prediction_is_made_of_launches_before_the_test_alone() -> None:
    """What is traced after the test says that half of the difference is input."""
    later = [
        run(stack, repeat, 9, role=Role.PROFILED, parts=parts, started_at=f"2026-12-02T12:0{repeat}:00.000000+00:00")
        for repeat in (4, 5, 6, 7)
        for stack, parts in zip(("slow", "fast"), WAITS, strict=True)
    ]
    before, after = put_to_the_test(rounds(PRESENT)), put_to_the_test(rounds(PRESENT) + later)
    assert before.claims[0].share != pytest.approx(after.claims[0].share)
    assert only(before).predicted == only(after).predicted


def test_a_claim_that_no_rule_makes_predicts_nothing() -> None:
    found = only(put_to_the_test(rounds(PRESENT), WAITS))
    assert (found.fate, found.predicted) == (Fate.UNDECIDED, None)
    assert found.why == "no rule makes the claim host_bound of the launches before the test"


def test_controls_that_ran_elsewhere_decide_nothing() -> None:
    found = only(put_to_the_test(rounds(PRESENT, environment_digest="another")))
    assert found.fate is Fate.UNDECIDED
    assert "another environment" in (found.why or "")


def test_rounds_that_are_not_whole_are_left_out_and_two_are_too_few() -> None:
    found = only(put_to_the_test(rounds([*PRESENT[:2], None, None, None])))
    assert (found.fate, len(found.rounds), found.left_out) == (Fate.UNDECIDED, 2, 9)
    assert found.why == "2 rounds of both sides and the changed one completed, 3 are the least"


def test_launches_of_two_batches_stand_in_no_round_together() -> None:
    runs = [
        each if index % 3 else TrialRun(**{**each.__dict__, "batch": "later"})
        for index, each in enumerate(rounds(PRESENT))
    ]
    assert only(put_to_the_test(runs)).rounds == ()


def test_a_test_set_aside_never_happened() -> None:
    found = only(put_to_the_test(rounds(PRESENT, set_aside="retracted: wrong clock")))
    assert found.fate is Fate.NOT_RUN


def test_another_change_under_the_same_name_is_a_prediction_of_its_own() -> None:
    """Nothing that was tested goes away by testing something else."""
    again = rounds([0.1, 0.1002, 0.0995, 0.1004, 0.0999], batch="again")
    again = [
        TrialRun(**{**each.__dict__, "run_id": f"again-{each.run_id}", "environment_digest": "f"})
        if each.changed
        else TrialRun(**{**each.__dict__, "run_id": f"again-{each.run_id}"})
        for each in again
    ]
    found = put_to_the_test(rounds(PRESENT) + again)
    assert sorted(each.fate for each in found.predictions) == [Fate.FULFILLED, Fate.REFUTED]


def test_a_test_that_would_explain_a_win_is_the_next_run() -> None:
    found = put_to_the_test([], UNEXPLAINED)
    assert only(found).fate is Fate.NOT_RUN
    assert only(found).predicted is not None
    assert [note.code for note in found.readiness.reasons] == ["explanation_incomplete"]
    assert found.readiness.next_run == "stackproof collect tiny --interventions"


def test_a_fulfilled_test_explains_what_parts_alone_do_not() -> None:
    assert not put_to_the_test([], UNEXPLAINED).readiness.ready
    assert put_to_the_test(rounds(PRESENT), UNEXPLAINED).readiness.ready


def test_tests_are_no_launches_of_what_is_compared() -> None:
    plain, found = put_to_the_test([]), put_to_the_test(rounds(PRESENT))
    assert found.counts == plain.counts
    assert found.evidence == plain.evidence
    assert found.effect == plain.effect
    assert found.left_out == plain.left_out == ()


def test_a_failed_launch_of_a_test_is_no_failed_trial_of_the_comparison() -> None:
    found = put_to_the_test(rounds([*PRESENT[:4], None]))
    assert found.unsuccessful == ()
    assert (only(found).fate, only(found).left_out) == (Fate.FULFILLED, 3)


def test_the_track_record_counts_every_prediction() -> None:
    made = [
        only(put_to_the_test(rounds(PRESENT))),
        only(put_to_the_test(rounds([0.1, 0.1002, 0.0995, 0.1004, 0.0999]))),
        only(put_to_the_test([])),
    ]
    assert record(made) == "2 predictions tested: 1 fulfilled, 1 refuted, 0 undecided; 1 not tested yet."


def test_the_words_of_a_change_name_what_a_search_had_found() -> None:
    stacks = {name: {**stack, "search": {"threads": [1, 2]}} for name, stack in BENCHMARK["stacks"].items()}
    found = verdict(
        interleaved(SLOW, FAST, slow_changes={"fields": {"setting.threads": "2"}}) + profiled(*EXPLAINED),
        comparisons=comparisons(),
        stacks=stacks,
        search={"method": "grid", "budget": {"trials": 2}},
    )
    assert only(found).change == "threads 4 instead of 2"
