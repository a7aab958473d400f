"""Parts, residual and what they explain, on profiled launches with stated parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.run import Role
from sitegen.comparison.evidence import Measured, TrialRun
from sitegen.comparison.report import to_json, to_text
from tests.sitegen.comparison.made import interleaved, profiled, run, swapped_file, verdict

SLOW = [0.100, 0.101, 0.099, 0.100, 0.1005]
FAST = [0.060, 0.0605, 0.0595, 0.060, 0.0602]
TOP = ("compute", "exposed_copy", "input_wait", "host_gap", "idle")


def traced(**parts: float) -> dict[str, float]:
    top = sum(value for name, value in parts.items() if "." not in name)
    return {"traced_step_time": top, **parts}


def test_residual_closure_and_explained_share_follow_their_definitions():
    slow = traced(compute=0.08, idle=0.022)
    fast = traced(compute=0.05, idle=0.012)
    found = verdict(interleaved(SLOW, FAST) + profiled(slow, fast)).accounting
    difference = sum(FAST) / 5 - sum(SLOW) / 5
    assert found.difference == pytest.approx(difference)
    assert found.residual == pytest.approx(difference + 0.04)
    assert found.closure == pytest.approx(1 - abs(difference + 0.04) / abs(difference))
    assert found.explained_share == pytest.approx(1 - (abs(difference + 0.04) + 0.01) / abs(difference))
    assert found.profiler_overhead["slow"] == pytest.approx(0.102 / (sum(SLOW) / 5) - 1)


@settings(max_examples=50, deadline=None)
@given(*(st.fixed_dictionaries({name: st.floats(0, 0.05) for name in TOP}) for _ in range(2)))
def test_parts_and_residual_add_up_to_the_difference(slow: dict[str, float], fast: dict[str, float]):
    runs = interleaved(SLOW, FAST) + profiled(traced(**slow), traced(**fast))
    found, back = verdict(runs).accounting, verdict(runs, **swapped_file()).accounting
    tops = [part.difference or 0.0 for part in found.parts if part.parent is None]
    assert found.residual is not None
    assert sum(tops) + found.residual == pytest.approx(found.difference, abs=1e-12)
    assert [part.difference for part in back.parts] == pytest.approx([-(part.difference or 0) for part in found.parts])
    assert back.residual == pytest.approx(-found.residual)


def test_a_part_that_one_side_lacks_is_missing_and_not_zero():
    slow, fast = traced(compute=0.1, **{"compute.attention": 0.02}), traced(compute=0.06)
    found = verdict(interleaved(SLOW, FAST) + profiled(slow, fast)).accounting
    part = next(part for part in found.parts if part.id == "compute.attention")
    assert (part.parent, part.baseline, part.candidate, part.difference) == ("compute", pytest.approx(0.02), None, None)


def test_kernel_classes_stand_after_the_part_that_holds_them():
    parts = traced(compute=0.1, idle=0.01, **{"compute.gemm": 0.05, "compute.other": 0.05})
    found = verdict(interleaved(SLOW, FAST) + profiled(parts, parts)).accounting
    assert [part.id for part in found.parts] == ["compute", "compute.gemm", "compute.other", "idle"]


def test_a_win_that_the_traces_do_not_explain_is_not_ready():
    same = traced(compute=0.08)
    found = verdict(interleaved(SLOW, FAST) + profiled(same, same))
    assert [note.code for note in found.readiness.reasons] == ["explanation_incomplete"]
    assert "unexplained_residual" in {note.code for note in found.downgrades}


@pytest.mark.parametrize(("fast_traced", "said"), [(0.060, True), (0.0665, False)])
def test_a_profiler_that_slows_one_side_more_is_named_and_no_more_of_it_advised(fast_traced: float, said: bool):
    found = verdict(interleaved(SLOW, FAST) + profiled(traced(idle=0.11), traced(idle=fast_traced)))
    (note,) = found.readiness.reasons
    assert ("the profiler changes the step of slow by +9.9 % and fast by" in note.text) is said
    assert found.readiness.next_run == (None if said else "stackproof collect tiny --profiled 6")
    assert (found.readiness.next_step is not None) is said


def own_clock(runs: list[TrialRun], **unprofiled: float) -> list[TrialRun]:
    """The runs, the profiled ones with steps of their own: profiled as traced, unprofiled as stated for each stack."""
    return [
        replace(each, steps={"profiled": row.value, "measured": unprofiled[each.stack]})
        if (row := each.find("traced_step_time", rank=0)) and row.value
        else each
        for each in runs
    ]


def test_the_profilers_cost_is_taken_within_a_launch_and_drift_between_launches_apart():
    runs = profiled(traced(compute=0.099), traced(compute=0.066))
    found = verdict(interleaved(SLOW, FAST) + own_clock(runs, slow=0.090, fast=0.060)).accounting
    assert found.profiler_overhead == {"slow": pytest.approx(0.1), "fast": pytest.approx(0.1)}
    assert set(found.overhead_basis.values()) == {"unprofiled steps of the same launches"}
    assert found.difference is not None
    assert found.residual_launches == pytest.approx(found.difference + 0.030)
    assert found.residual_profiler == pytest.approx(0.003)
    assert found.residual == pytest.approx(found.residual_launches + found.residual_profiler)


def test_without_steps_of_their_own_the_timed_launches_are_taken_and_named():
    runs = profiled(traced(compute=0.099), traced(compute=0.066))
    runs = [*own_clock(runs[:1], slow=0.09, fast=0.06), *runs[1:]]
    found = verdict(interleaved(SLOW, FAST) + runs).accounting
    assert found.profiler_overhead["slow"] == pytest.approx(0.099 / (sum(SLOW) / 5) - 1)
    assert found.overhead_basis["slow"].startswith("timed launches, so that drift")
    assert (found.residual_launches, found.residual_profiler) == (None, None)


def test_without_traces_a_win_is_not_ready_and_says_so():
    found = verdict(interleaved(SLOW, FAST))
    assert found.accounting.parts == ()
    assert found.accounting.absent == "no profiled launch of slow and fast has a trace with parts"
    assert [note.code for note in found.readiness.reasons] == ["explanation_missing"]


def unusable(stack: str, order: int, why: str) -> TrialRun:
    """A profiled launch whose trace metrics are all missing for one reason."""
    names = ("traced_step_time", *TOP)
    rows = tuple(Measured(name, f"{name}@1", 1, "s", None, None, why) for name in names)
    return run(stack, order, order, role=Role.PROFILED, parts={"x": 0.0}, measured=rows)


def test_a_launch_whose_trace_is_not_usable_gives_no_parts_and_is_named():
    good = profiled(traced(compute=0.08, idle=0.022), traced(compute=0.05, idle=0.012))
    bad = [unusable("fast", order, "half of its events are lost") for order in (50, 51)]
    with_bad, without = verdict(interleaved(SLOW, FAST) + good + bad), verdict(interleaved(SLOW, FAST) + good)
    assert with_bad.accounting.parts == without.accounting.parts
    assert without.accounting.left_out == ()
    (note,) = with_bad.accounting.left_out
    assert note.text == "2 profiled launches of fast without parts: half of its events are lost"
    assert note.evidence == tuple(each.run_id for each in bad)
    assert "trace_unusable" in {each.code for each in with_bad.downgrades}
    assert to_json([with_bad])["verdicts"][0]["accounting"]["left_out"][0]["text"] == note.text
    assert note.text in " ".join(to_text(with_bad).split())


def test_where_no_trace_is_usable_the_reason_stands_in_readiness():
    good, bad = profiled(traced(compute=0.08), traced(compute=0.05)), unusable("fast", 50, "it breaks off")
    slow_only = [each for each in good if each.stack == "slow"]
    found = verdict([*interleaved(SLOW, FAST), *slow_only, bad])
    (reason,) = found.readiness.reasons
    assert reason.code == "explanation_missing"
    assert reason.text.endswith("no profiled launch of fast has a trace with parts (it breaks off)")
    assert found.readiness.next_run is None
    assert found.readiness.next_step.startswith("see in their logs why the profiled launches of fast left no trace")


def test_nothing_is_explained_where_there_may_be_no_difference():
    found = verdict(interleaved(SLOW, SLOW[1:] + SLOW[:1]) + profiled(traced(compute=0.1), traced(compute=0.1)))
    assert found.accounting.explained_share is None
    assert found.accounting.absent == "the interval of the difference in step time includes none at all"


def test_gross_movement_counts_parts_that_cancel():
    slow, fast = traced(compute=0.08, input_wait=0.07), traced(compute=0.11, input_wait=0.0)
    found = verdict(interleaved(SLOW, FAST) + profiled(slow, fast))
    assert found.accounting.gross == pytest.approx(0.03 + 0.07)
    assert "some cancel others" in " ".join(to_text(found).split())
    alike = verdict(interleaved(SLOW, FAST) + profiled(traced(compute=0.08), traced(compute=0.04)))
    assert alike.accounting.gross == pytest.approx(0.04)
    assert "some cancel others" not in " ".join(to_text(alike).split())


def test_coverage_is_what_the_parts_hold_of_the_profiled_steps_own_clock():
    runs = [
        replace(each, steps={"profiled": 0.1, "measured": 0.09}) if each.role is Role.PROFILED else each
        for each in interleaved(SLOW, FAST) + profiled(traced(compute=0.095), traced(compute=0.08))
    ]
    found = verdict(runs)
    assert found.accounting.coverage == {"slow": pytest.approx(0.95), "fast": pytest.approx(0.8)}
    assert "traces cover of the profiled steps: slow 95 %, fast 80 %" in " ".join(to_text(found).split())


@settings(max_examples=30, deadline=None)
@given(*(st.fixed_dictionaries({name: st.floats(0.001, 0.05) for name in TOP}) for _ in range(2)))
def test_without_timed_launches_the_traces_account_for_their_own_difference(
    slow: dict[str, float], fast: dict[str, float]
):
    runs = profiled(traced(**slow), traced(**fast))
    there, back = verdict(runs), verdict(runs, **swapped_file())
    found = there.accounting
    assert (found.within_traces, found.closure, found.explained_share) == (True, None, None)
    assert found.difference == pytest.approx(sum(fast.values()) - sum(slow.values()), abs=1e-12)
    tops = [part.difference or 0.0 for part in found.parts if part.parent is None]
    assert sum(tops) + (found.residual or 0.0) == pytest.approx(found.difference, abs=1e-12)
    assert back.accounting.difference == pytest.approx(-(found.difference or 0.0), abs=1e-12)
    assert [claim.code for claim in there.claims] == [claim.code for claim in back.claims]
    assert (there.winner, there.readiness.ready) == (None, False)


def test_timed_launches_of_both_sides_give_the_total_again():
    runs = profiled(traced(compute=0.1), traced(compute=0.06))
    assert verdict(runs + interleaved(SLOW[:1], FAST[:1])).accounting.within_traces is False
    one_sided = [each for each in interleaved(SLOW[:1], FAST[:1]) if each.stack == "slow"]
    found = verdict(runs + one_sided)
    assert found.accounting.within_traces is True
    assert found.accounting.difference == pytest.approx(-0.04)
    assert found.claims[0].text.endswith("accounts for 100 % of the traced difference.")
    assert "few_launches" in {note.code for note in found.downgrades}


def test_a_side_without_a_usable_trace_is_not_accounted_for_within_traces():
    only = [each for each in profiled(traced(compute=0.1), traced(compute=0.06)) if each.stack == "slow"]
    found = verdict(only)
    assert (found.accounting.within_traces, found.accounting.difference, found.claims) == (False, None, ())
