"""What is decided, and what keeps it from being ready, on evidence made to hold one thing."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.run import Role, State
from sitegen.comparison.effect import launch_order
from sitegen.comparison.evidence import PlannedTrial, Searched
from sitegen.comparison.judge import judge_evidence
from sitegen.comparison.verdict import Decision, Standing, Verdict
from tests.factory import BENCHMARK
from tests.sitegen.comparison.made import (
    declared,
    evidence,
    interleaved,
    measured,
    profiled,
    run,
    selection,
    swapped_file,
    verdict,
)

SLOW = [0.0869, 0.0872, 0.0865, 0.0871, 0.0868]
FAST = [0.0612, 0.0611, 0.0615, 0.0610, 0.0613]
RELIABLE = {"envelope": {"limits": {"launch_reliability": ">= 50%"}, "objective": {"minimise": "step_time"}}}


def parts(step: float, **others: float) -> dict[str, float]:
    return {"traced_step_time": step, "compute": step - sum(others.values()), **others}


EXPLAINED = profiled(parts(0.087, idle=0.001), parts(0.0615, idle=0.001))


def codes(found: Verdict) -> set[str]:
    return {note.code for note in found.readiness.reasons}


def downgrades(found: Verdict) -> set[str]:
    return {note.code for note in found.downgrades}


def test_a_clear_and_explained_win_is_ready_and_said_in_one_sentence():
    found = verdict(interleaved(SLOW, FAST) + EXPLAINED)
    assert (found.decision, found.winner) == (Decision.WINS, "fast")
    assert found.readiness.ready
    assert found.readiness.next_run is None
    assert found.effect.method == "t interval on log ratios of 5 interleaved blocks"
    assert found.sentence == (
        "fast trains 1.42 times as fast as slow (step time 61.2 ms against 86.9 ms; ratio fast / slow 0.70, 95 % "
        "interval 0.70 to 0.71), outside the 5 % threshold."
    )
    assert downgrades(found) == {"one_node"}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.05, 0.2), min_size=3, max_size=6),
    st.lists(st.floats(0.05, 0.2), min_size=3, max_size=6),
)
def test_swapping_the_sides_swaps_the_winner_and_nothing_else(slow: list[float], fast: list[float]):
    both = min(len(slow), len(fast))
    runs = interleaved(slow[:both], fast[:both])
    there, back = verdict(runs), verdict(runs, **swapped_file())
    assert (there.decision, there.winner, codes(there)) == (back.decision, back.winner, codes(back))
    if there.effect.low is not None:
        assert back.effect.high is not None
        assert there.effect.low * back.effect.high == pytest.approx(1)
    assert there.accounting.difference == pytest.approx(-(back.accounting.difference or 0))
    if there.decision is Decision.WINS:
        assert there.sentence == back.sentence


def test_one_stack_against_itself_never_wins():
    found = verdict(interleaved(SLOW, [0.0870, 0.0866, 0.0872, 0.0867, 0.0870]))
    assert found.decision is Decision.EQUIVALENT
    noisy = verdict(interleaved([0.08, 0.1, 0.09], [0.1, 0.08, 0.09]))
    assert noisy.decision is Decision.INCONCLUSIVE
    assert "interval_undecided" in codes(noisy)
    assert noisy.readiness.next_run == "stackproof collect tiny --repeats 5"


def test_a_difference_below_the_threshold_does_not_win():
    found = verdict(interleaved(SLOW, [value * 0.97 for value in SLOW[1:] + SLOW[:1]]))
    assert found.decision is Decision.EQUIVALENT


def test_fewer_than_three_launches_a_side_give_no_verdict():
    found = verdict(interleaved(SLOW[:2], FAST[:2]))
    assert found.decision is Decision.INCONCLUSIVE
    assert found.effect.low is None
    assert found.effect.absent == "fewer than 3 launches a side"
    assert found.readiness.next_run == "stackproof collect tiny"
    assert "too_few_launches" in codes(found)


def test_constant_values_have_no_interval_and_say_why():
    found = verdict(interleaved([0.1] * 3, [0.05] * 3))
    assert found.decision is Decision.INCONCLUSIVE
    assert found.effect.ratio == pytest.approx(0.5)
    assert "no_interval" in codes(found)
    assert "all values are equal" in found.sentence


def test_a_zero_has_no_logarithm():
    found = verdict(interleaved([0.0, 0.1, 0.1], FAST[:3]))
    assert found.effect.ratio is None
    assert found.effect.absent == "a value is zero or negative, and has no logarithm"


def test_a_maximised_objective_wins_upwards():
    envelope = {"limits": {}, "objective": {"maximise": "tokens_per_second"}}
    runs = [
        replace(each, measured=(measured("tokens_per_second", 100 * step_time.value), *each.measured))
        for each in interleaved(SLOW, FAST)
        if (step_time := each.find("step_time"))
    ]
    assert verdict(runs, envelope=envelope).winner == "slow"


def test_the_faster_stack_does_not_win_outside_the_envelope():
    found = verdict(interleaved(SLOW, FAST, fast_changes={"loss": 3.5}))
    assert (found.decision, found.winner) == (Decision.WINS, "slow")
    assert found.sentence == (
        "slow wins, as only one qualifies: fast fails its limits (evaluation_loss 3.50 nats, not <= 3 nats)."
    )
    assert found.readiness.ready
    assert {(check.stack, check.standing) for check in found.limits} == {
        ("slow", Standing.HOLDS),
        ("fast", Standing.FAILS),
    }


def test_none_qualifies_when_both_break_a_limit():
    found = verdict(interleaved(SLOW, FAST, loss=3.5))
    assert found.decision is Decision.NONE_QUALIFIES
    assert found.winner is None
    assert found.limits[0].margin == pytest.approx(-0.5)


def test_bounds_that_straddle_a_limit_leave_it_unknown():
    runs = interleaved(SLOW, FAST)
    runs = [
        replace(each, measured=(*each.measured[:1], measured("evaluation_loss", 2.9 + 0.1 * (each.repeat % 3))))
        for each in runs
    ]
    found = verdict(runs)
    assert {check.standing for check in found.limits} == {Standing.UNKNOWN}
    assert found.decision is Decision.INCONCLUSIVE
    assert "envelope_unknown" in codes(found)


def test_five_of_five_launches_hold_half_but_not_nine_tenths():
    held = verdict(interleaved(SLOW, FAST), **RELIABLE)
    assert {check.standing for check in held.limits} == {Standing.HOLDS}
    envelope = {"limits": {"launch_reliability": ">= 90%"}, "objective": {"minimise": "step_time"}}
    assert {check.standing for check in verdict(interleaved(SLOW, FAST), envelope=envelope).limits} == {
        Standing.UNKNOWN
    }


def test_failed_launches_are_shown_count_and_lower_reliability():
    found = verdict(interleaved(SLOW, [None, *FAST[1:]]), **RELIABLE)
    shown = next(launch for launch in found.launches if launch.state == "failed")
    assert (shown.stack, shown.value, shown.reason) == ("fast", None, "out_of_memory")
    assert (
        found.effect.method == "t interval on log ratios of 4 interleaved blocks (1 launch without a partner left out)"
    )
    fast = next(check for check in found.limits if check.stack == "fast")
    assert fast.value == pytest.approx(0.8)
    assert [(each.stack, each.reason) for each in found.unsuccessful] == [("fast", "out_of_memory")]
    assert "failed_launches" in downgrades(found)


def test_a_cancelled_launch_says_nothing_about_reliability():
    runs = interleaved(SLOW, [None, *FAST[1:]])
    runs = [replace(each, reason="cancelled") if each.reason else each for each in runs]
    fast = next(check for check in verdict(runs, **RELIABLE).limits if check.stack == "fast")
    assert fast.value == 1


def test_a_stack_that_never_completes_loses():
    found = verdict(interleaved(SLOW, [None] * 5))
    assert (found.decision, found.winner) == (Decision.WINS, "slow")
    assert found.sentence == "slow wins, as only one qualifies: no timed launch of fast completed."


def test_what_was_set_aside_is_not_used_and_said():
    runs = interleaved(SLOW, FAST)
    runs[0] = replace(runs[0], set_aside="retracted: wrong clock")
    found = verdict(runs)
    assert runs[0].run_id not in found.evidence
    assert found.effect.baseline_launches == 4
    assert [(note.code, note.evidence) for note in found.left_out] == [("set_aside", (runs[0].run_id,))]
    aside = next(each for each in found.unsuccessful if each.run_id == runs[0].run_id)
    assert (aside.state, aside.reason, aside.detail) == ("excluded", "retracted", "wrong clock")
    assert [count.excluded for count in found.counts] == [1, 0]


def test_search_and_warmup_trials_never_enter_the_effect():
    step = Searched("space", 1, "grid", {"threads": 2}, "grid")
    tuned = {"tuned_stack": "fast", "tuned_by": "search"}
    extra = [
        run("fast", 9, 40, 0.001, role=Role.WARMUP),
        run("fast", 9, 41, 0.001, role=Role.SEARCH, search=step, run_id="search"),
    ]
    found = verdict(interleaved(SLOW, FAST, fast_changes=tuned) + extra)
    assert found.effect.candidate_launches == 5
    assert not {each.run_id for each in extra} & set(found.evidence)
    assert "unequal_tuning" in codes(found) & downgrades(found)


def test_older_settings_of_a_stack_are_left_out():
    older = [
        replace(each, started_at=f"2026-11-29T{n:02d}", fields={**each.fields, "setting.threads": "old"})
        for n, each in enumerate(interleaved([0.5] * 3, [0.5] * 3))
    ]
    older = [replace(each, run_id=f"old-{each.run_id}", trial_key=f"old-{each.trial_key}") for each in older]
    found = verdict(older + interleaved(SLOW, FAST))
    assert found.effect.baseline_launches == 5
    assert [note.code for note in found.left_out] == ["other_configuration", "other_configuration"]


def test_a_profile_is_judged_when_the_full_benchmark_has_not_run():
    short = {"profiles": {"demo": {"workload": {"steps": 8}}}}
    digest = declared(workload={**BENCHMARK["workload"], "steps": 8}).benchmark.workload_digest
    demo = interleaved(SLOW, FAST, workload_digest=digest, profile="demo")
    found = verdict(demo, **short)
    assert found.decision is Decision.WINS
    assert found.declared.profile == "demo"
    assert "short_form" in downgrades(found)
    assert found.readiness.next_run == "stackproof collect tiny"
    full = verdict(demo + [replace(each, run_id=f"full-{each.run_id}") for each in interleaved(FAST, SLOW)], **short)
    assert (full.winner, full.declared.profile) == ("slow", None)


def test_work_of_an_earlier_version_of_the_file_is_no_short_form():
    found = verdict(interleaved(SLOW, FAST, workload_digest="0" * 64))
    assert downgrades(found) == {"earlier_workload", "one_node", "unexplained"}


def test_counts_add_up_and_what_is_missing_is_run_next():
    runs = interleaved(SLOW[:3], [FAST[0], None, FAST[2]])
    rows = [
        PlannedTrial("b", stack, Role.TIMED, n, f"{stack}-timed-{n}", state, reason, install, "2026", "", None)
        for stack in ("slow", "fast")
        for n, state, reason, install in (
            (1, "planned", None, None),
            (2, "planned", None, None),
            (3, "settled", None, None),
            (4, "excluded", "no compiler", "apt-get install g++"),
            (5, "planned", None, None),
        )
    ]
    plans = tuple(replace(row, workload_digest=runs[0].workload_digest) for row in rows)
    found = verdict(runs, plans=plans)
    for count in found.counts:
        assert count.planned == count.completed + count.failed + count.excluded + count.missing == 5
    assert [(count.completed, count.failed, count.excluded, count.missing) for count in found.counts] == [
        (3, 0, 1, 1),
        (2, 1, 1, 1),
    ]
    assert "trials_missing" in codes(found)
    assert found.readiness.next_run == "stackproof collect tiny --retry-failed"


def test_an_excluded_stack_names_what_to_install():
    digest = declared().benchmark.workload_digest
    plans = tuple(
        PlannedTrial("b", stack, Role.TIMED, 1, stack, state, reason, install, "2026", digest, None)
        for stack, state, reason, install in (
            ("slow", "planned", None, None),
            ("fast", "excluded", "no C++ compiler", "apt-get install g++"),
        )
    )
    found = verdict([run("slow", 1, 1, 0.1)], plans=plans)
    assert found.readiness.reasons[0].code == "excluded"
    assert found.readiness.next_run is None
    assert found.readiness.next_step == "run `apt-get install g++`, then `stackproof collect tiny`"


def test_launches_that_were_not_interleaved_are_compared_unpaired():
    runs = [run("slow", n, n, value) for n, value in enumerate(SLOW, 1)]
    runs += [run("fast", n, 5 + n, value) for n, value in enumerate(FAST, 1)]
    found = verdict(runs)
    assert found.effect.method == "Welch's t interval on logarithms of 5 and 5 launches"
    assert "not_interleaved" in downgrades(found)


def test_the_order_must_agree_with_the_clock():
    runs = interleaved(SLOW, FAST)
    sides = [[each for each in runs if each.stack == stack] for stack in ("slow", "fast")]
    proven = launch_order(*sides)
    assert (proven.interleaved, proven.balanced, len(proven.blocks)) == (True, True, 5)
    backwards = [[replace(each, started_at=f"2026-11-30T{20 - each.launch_order}") for each in side] for side in sides]
    assert not launch_order(*backwards).interleaved


def test_the_same_side_first_in_every_block_is_a_downgrade():
    runs = [run("slow", n, 2 * n, value) for n, value in enumerate(SLOW, 1)]
    runs += [run("fast", n, 2 * n + 1, value) for n, value in enumerate(FAST, 1)]
    assert "order_unbalanced" in downgrades(verdict(runs))


def test_two_definitions_of_one_name_are_not_compared():
    found = verdict(interleaved(SLOW, FAST, fast_changes={"version": 2}))
    assert found.decision is Decision.NOT_COMPARABLE
    assert "definitions_differ" in codes(found)


def test_an_unknown_history_and_old_runs_are_downgrades():
    runs = [replace(each, commit=None) for each in interleaved(SLOW, FAST)]
    file = declared()
    found = judge_evidence(evidence(runs), file, file.benchmark.comparisons[0], today=date(2028, 1, 1))
    assert {"history_unknown", "stale"} <= downgrades(found)


def test_no_evidence_at_all_is_a_verdict_too():
    found = verdict([])
    assert found.decision is Decision.INCONCLUSIVE
    assert found.readiness.next_run == "stackproof collect tiny"
    assert found.sentence == "fast against slow is not decided: no timed launch of slow or fast completed."


def test_runs_of_a_failed_state_never_have_a_configuration_of_their_own():
    chosen = selection(interleaved(SLOW, [None, *FAST[1:]]))
    assert [len(side.of(Role.TIMED)) for side in chosen.sides] == [5, 5]
    assert len(chosen.candidate.of(Role.TIMED, State.COMPLETED)) == 4
