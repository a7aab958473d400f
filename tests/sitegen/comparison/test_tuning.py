"""A search only chooses: its trials stand beside the verdict, failures included, and settings are tried elsewhere."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from ledger.run import Role, State
from sitegen.charts import tuning as chart
from sitegen.comparison.evidence import PlannedTrial, Searched, TrialRun
from sitegen.comparison.ranking import rank
from sitegen.comparison.report import to_text
from sitegen.comparison.tuning_path import TransferCell, TuningPath
from sitegen.comparison.verdict import Verdict
from tests.factory import BENCHMARK
from tests.sitegen.comparison.made import declared, evidence, interleaved, run, verdict

SLOW = [0.100, 0.101, 0.099, 0.100, 0.1005]
FAST = [0.060, 0.0605, 0.0595, 0.060, 0.0602]
GRID = [
    ({"threads": 1, "batch": 8}, 0.120),
    ({"threads": 1, "batch": 16}, 0.110),
    ({"threads": 2, "batch": 8}, 0.080),
    ({"threads": 2, "batch": 16}, 0.058),
    ({"threads": 4, "batch": 8}, None),
]
"""(settings, step time); the fourth is the best, and the last one fails."""
SPACE = {"threads": [1, 2, 4], "batch": [8, 16]}


def searched(stack: str, tried: list[tuple[dict[str, Any], float | None]], **changes: Any) -> list[TrialRun]:
    """Search trials before all timed launches."""
    runs = []
    for number, (parameters, value) in enumerate(tried, 1):
        step = Searched(f"space of {stack}", number, "grid", parameters, "grid, in the order of the file")
        fields = {f"setting.{name}": str(each) for name, each in parameters.items()}
        own = {"role": Role.SEARCH, "search": step, "run_id": f"{stack}-search-{number}", "seconds": 2.0}
        started = f"2026-11-30T11:{number:02d}:00.000000+00:00"
        runs.append(run(stack, number, number, value, fields=fields, started_at=started, **{**own, **changes}))
    return runs


def launched(trial: int = 4, slow: int | None = None) -> list[TrialRun]:
    """Timed launches with the settings of these search trials; `slow` has its own where None."""
    tuned = {"tuned_stack": "fast", "tuned_by": f"fast-search-{trial}"}
    other = {} if slow is None else {"tuned_stack": "slow", "tuned_by": f"slow-search-{slow}"}
    return interleaved(SLOW, FAST, slow_changes=other, fast_changes=tuned)


def path_of(found: Verdict, stack: str = "fast") -> TuningPath:
    return next(path for path in found.tuning if path.stack == stack)


def file_with_search(**changes: Any) -> dict[str, Any]:
    stacks = {name: {**stack, "search": SPACE} for name, stack in BENCHMARK["stacks"].items()}
    return {"stacks": stacks, "search": {"method": "grid", "budget": {"trials": 6}}, **changes}


def test_a_path_holds_every_trial_and_its_value_stands_beside_the_confirmed_one():
    found = path_of(verdict(searched("fast", GRID) + launched()))
    assert [(trial.number, trial.parameters, trial.value) for trial in found.trials][3:] == [
        (4, "batch=16, threads=2", 0.058),
        (5, "batch=8, threads=4", None),
    ]
    assert [trial.reason for trial in found.failed] == ["out_of_memory"]
    assert (found.chosen, found.searched, found.launches, found.seconds) == (4, 0.058, 5, 10.0)
    assert found.confirmed == pytest.approx(sum(FAST) / 5)
    assert (found.low or 1) < sum(FAST) / 5 < (found.high or 0)


def test_search_trials_are_neither_cited_nor_counted_nor_left_out():
    alone, with_search = verdict(launched()), verdict(searched("fast", GRID) + searched("slow", GRID) + launched())
    assert (with_search.effect, with_search.counts, with_search.unsuccessful, with_search.left_out) == (
        alone.effect,
        alone.counts,
        alone.unsuccessful,
        alone.left_out,
    )
    assert with_search.evidence == alone.evidence


def test_each_setting_alone_and_their_interaction_make_up_the_whole():
    found = path_of(verdict(searched("fast", GRID) + launched()))
    assert [(each.setting, each.trials) for each in found.effects] == [("threads", (1, 3)), ("batch", (1, 2))]
    assert [each.ratio for each in found.effects] == pytest.approx([0.080 / 0.120, 0.110 / 0.120])
    alone = math.prod(each.ratio or 0 for each in found.effects)
    assert found.total == pytest.approx(0.058 / 0.120) == pytest.approx(alone * (found.interaction or 0))
    assert (found.interaction or 1) < 0.8  # together they do more than alone


def test_an_effect_that_was_not_tried_alone_is_missing_and_not_one():
    found = path_of(verdict(searched("fast", [GRID[0], GRID[2], GRID[3]]) + launched(3)))
    assert [(each.setting, each.ratio) for each in found.effects] == [
        ("threads", pytest.approx(0.080 / 0.120)),
        ("batch", None),
    ]
    assert found.interaction is None


def test_effects_start_from_the_stack_s_own_settings_where_they_were_tried():
    stacks = {**BENCHMARK["stacks"]}
    stacks["fast"] = {**stacks["fast"], "settings": {"threads": 2, "batch": 8}}
    found = path_of(verdict(searched("fast", GRID) + launched(), stacks=stacks))
    assert (found.origin, [each.setting for each in found.effects]) == (3, ["batch"])


def test_unequal_effort_keeps_a_verdict_from_being_ready():
    found = verdict(searched("fast", GRID) + launched())
    said = "slow 0 search trials, fast 5 search trials; the comparison is also one of effort"
    assert said in [note.text for note in found.readiness.reasons if note.code == "unequal_tuning"]
    assert said in [note.text for note in found.downgrades]


@pytest.mark.parametrize("budget", [{"trials": 6}, {"minutes": 0.1}])
def test_searches_that_used_up_one_budget_are_equal_whatever_their_spaces_hold(budget: dict[str, Any]):
    small = {"threads": [1, 2], "batch": [8]}
    stacks = {name: {**stack, "search": SPACE} for name, stack in BENCHMARK["stacks"].items()}
    stacks["slow"] = {**stacks["slow"], "search": small}
    changes = {"stacks": stacks, "search": {"method": "grid", "budget": budget}}
    six = [*GRID, ({"threads": 4, "batch": 16}, None)]
    runs = searched("fast", six) + searched("slow", [GRID[0], GRID[2]]) + launched(4, 2)
    assert "unequal_tuning" not in {note.code for note in verdict(runs, **changes).downgrades}
    fewer = searched("fast", six[:2]) + searched("slow", [GRID[0]]) + launched(2, 1)
    assert "unequal_tuning" in {note.code for note in verdict(fewer, **changes).downgrades}
    other = {**changes, "search": {**changes["search"], "budgets": {"slow": {"trials": 2}}}}
    assert "unequal_tuning" in {note.code for note in verdict(runs, **other).downgrades}


def test_what_was_set_aside_or_cancelled_is_no_effort():
    aside = [replace(each, set_aside="retracted: wrong clock") for each in searched("fast", GRID)]
    found = verdict(aside + launched())
    assert "unequal_tuning" not in {note.code for note in found.downgrades}
    assert [trial.set_aside for trial in path_of(found).trials] == ["retracted: wrong clock"] * 5
    cut = searched("fast", [GRID[4]], reason="cancelled")
    assert verdict(cut + interleaved(SLOW, FAST)).tuning == ()


def test_a_trial_outside_the_envelope_says_which_limit_it_broke():
    found = path_of(verdict(searched("fast", GRID, loss=3.5) + launched()))
    assert found.trials[0].outside == ("evaluation_loss 3.50 nats (<= 3 nats)",)
    assert [trial.number for trial in found.outside] == [1, 2, 3, 4]


def test_a_search_without_launches_is_shown_and_one_that_chose_nothing_here_is_not():
    found = path_of(verdict(searched("fast", GRID)))
    assert (found.chosen, found.confirmed, len(found.trials)) == (None, None, 5)
    assert verdict(searched("fast", GRID) + interleaved(SLOW, FAST)).tuning == ()


def test_what_a_trial_measured_before_it_failed_is_no_value():
    runs = searched("fast", GRID)
    runs[2] = replace(runs[2], state=State.FAILED, reason="out_of_memory")
    found = path_of(verdict(runs + launched()))
    assert [trial.number for trial in found.failed] == [3, 5]
    assert [each.ratio for each in found.effects] == [None, pytest.approx(0.110 / 0.120)]


def test_the_figure_tells_failures_the_chosen_trial_and_the_launches_after_it():
    drawn = chart.chart(path_of(verdict(searched("fast", GRID) + launched())), "../runs/")
    assert drawn is not None
    assert drawn.alt.startswith("5 trials, from 58.0 ms to 120 ms. 1 trial failed. Trial 4 was chosen")
    names = [each["name"] for each in drawn.plotly["data"]]
    last = ["chosen", "timed launches of the chosen settings"]
    assert names == ["best so far", "inside the envelope", "failed, no value", *last]
    assert drawn.plotly["data"][0]["y"] == pytest.approx([120, 110, 80, 58, 58])
    assert "sp-lost" in drawn.svg
    assert chart.chart(path_of(verdict(searched("fast", [GRID[4]]))), "../runs/") is None


def moved(stack: str, owner: str, values: list[float | None], batch: str = "moved", by: int = 4) -> list[TrialRun]:
    """Transfer launches of one cell, a round each."""
    runs = []
    for repeat, value in enumerate(values, 1):
        tuned = {"tuned_stack": owner, "tuned_by": f"{owner}-search-{by}", "batch": batch, "role": Role.TRANSFER}
        started = f"2026-12-0{1 + (batch != 'moved')}T12:{repeat:02d}:00.000000+00:00"
        name = f"{batch}-{stack}-{owner}-{repeat}"
        runs.append(run(stack, repeat, repeat, value, run_id=name, started_at=started, fields={}, **tuned))
    return runs


OWN = moved("slow", "slow", [0.1, 0.2, 0.1]) + moved("fast", "fast", [0.06, 0.06, 0.06])


def cell(found: Verdict, stack: str, owner: str) -> TransferCell:
    assert found.transfer is not None
    return next(each for row in found.transfer.rows for each in row if (each.stack, each.settings_of) == (stack, owner))


def test_a_slowdown_is_read_off_within_rounds():
    runs = OWN + moved("slow", "fast", [0.2, 0.41, 0.2]) + moved("fast", "slow", [0.06, None, 0.12])
    found = verdict(launched() + runs)
    assert cell(found, "slow", "slow").slowdown == 1
    ratio = (2 * 2.05 * 2) ** (1 / 3)
    there = cell(found, "slow", "fast")
    assert (there.slowdown, there.rounds) == (pytest.approx(ratio), 3)
    assert (there.low or 0) < ratio < (there.high or 0) < 2.2
    back = cell(found, "fast", "slow")
    assert (back.slowdown, back.rounds) == (pytest.approx(math.sqrt(2)), 2)  # a round without a value is no round
    assert found.transfer is not None
    assert found.transfer.worst == there
    assert found.effect == verdict(launched()).effect


def test_a_stack_that_is_better_with_the_other_one_s_settings_could_do_better_than_it_was_judged_by():
    runs = launched() + OWN + moved("slow", "fast", [0.05, 0.1, 0.051])
    note = next(each for each in verdict(runs).downgrades if each.code == "search_missed_better")
    assert note.text.startswith("slow is better with the settings of fast than with its own best (step_time × 0.50")
    assert {*note.evidence} == {f"moved-slow-fast-{n}" for n in (1, 2, 3)}
    worse = launched() + OWN + moved("slow", "fast", [0.2, 0.41, 0.2])
    assert "search_missed_better" not in {each.code for each in verdict(worse).downgrades}
    outside = verdict(runs, envelope={**BENCHMARK["envelope"], "limits": {"evaluation_loss": "<= 2"}})
    assert cell(outside, "slow", "fast").outside == ("evaluation_loss",)
    assert "search_missed_better" not in {each.code for each in outside.downgrades}


def test_where_the_chosen_trial_was_set_aside_the_one_in_its_place_is_the_chosen_one():
    trials = searched("fast", [*GRID, GRID[3]])
    trials[3] = replace(trials[3], set_aside="retracted: wrong clock")
    assert path_of(verdict(trials + launched(4))).chosen == 6
    alone = verdict(trials[:5] + launched(4))
    assert path_of(alone).chosen == 4
    said = " ".join(to_text(alone).split())
    assert "chosen: trial 4 (batch=16, threads=2), set aside since: retracted: wrong clock" in said


def test_where_more_is_better_a_slowdown_is_less():
    runs = (
        moved("slow", "slow", [20, 10, 20]) + moved("slow", "fast", [10, 5, 10]) + moved("fast", "fast", [20, 20, 20])
    )
    rates = [replace(each, measured=(replace(each.measured[0], metric="tokens_per_second"),)) for each in runs]
    found = verdict(rates + launched(), envelope={"objective": {"maximise": "tokens_per_second"}})
    assert cell(found, "slow", "fast").slowdown == pytest.approx(2)


def test_an_empty_cell_has_its_reason():
    row = {"batch": "b", "repeat": 1, "trial_key": "k", "install": None, "created_at": "2026-12-01", "profile": None}
    why = "cannot be mapped: fast has no setting that is slow's workers"
    plan = PlannedTrial(
        **row,
        stack="fast",
        role=Role.TRANSFER,
        state="excluded",
        reason=why,
        workload_digest=declared().benchmark.workload_digest,
        tuned_stack="slow",
    )
    found = verdict(launched() + OWN + moved("slow", "fast", [None, None, None]), plans=(plan,))
    assert cell(found, "fast", "slow").absent == why
    assert cell(found, "slow", "fast").absent == "3 launches: out of memory"
    assert found.counts == verdict(launched()).counts
    alone = verdict(launched() + moved("slow", "fast", [0.1, 0.1]))
    assert cell(alone, "slow", "fast").absent == "no round has a value of slow with its own settings"
    assert cell(alone, "fast", "slow").absent == "not launched"
    assert verdict(launched()).transfer is None


def test_launches_with_settings_that_were_best_before_do_not_count():
    old = moved("slow", "fast", [0.9, 0.9, 0.9]) + moved("fast", "fast", [0.06, 0.06, 0.06])
    new = moved("slow", "slow", [0.1, 0.1], "later") + moved("slow", "fast", [0.2, 0.2], "later", by=5)
    found = verdict(launched() + old + new + moved("fast", "fast", [0.06, 0.06], "later", by=5))
    there = cell(found, "slow", "fast")
    assert (there.slowdown, there.rounds) == (pytest.approx(2), 2)


def test_the_terminal_says_all_of_it_in_80_columns():
    runs = searched("fast", GRID) + searched("slow", GRID) + launched(4, 4) + OWN
    runs += moved("slow", "fast", [0.2, 0.41, 0.2]) + moved("fast", "slow", [None, None, None])
    text = to_text(verdict(runs, **file_with_search()))
    assert max(map(len, text.splitlines())) <= 80
    plain = " ".join(text.split())
    for said in (
        "fast: 5 trials of threads, batch by grid (1 without a value), 10.0 s of launches",
        "chosen: trial 4 (batch=16, threads=2): 58.0 ms in the search, 60.0 ms in 5 timed launches",
        "threads=2 instead of threads=1: x 0.67 alone",
        "trial 5 (batch=8, threads=4) failed: out of memory",
        "slow fast 2.02",
        "fast slow none 3 launches: out of memory",
    ):
        assert said in plain, text


def test_all_stacks_beside_each_other_have_their_paths_and_the_whole_matrix():
    file = declared(**file_with_search())
    found = rank(evidence(searched("fast", GRID) + launched() + OWN), file)
    assert {place.stack: place.tuning is not None for place in found.places} == {"fast": True, "slow": False}
    assert found.transfer is not None
    assert found.transfer.stacks == ("slow", "fast")


def test_what_a_page_is_given_is_plain_data():
    drawn = chart.chart(path_of(verdict(searched("fast", GRID) + launched())), "../runs/")
    assert drawn is not None
    assert json.dumps(drawn.plotly, allow_nan=False)
