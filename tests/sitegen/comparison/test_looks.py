"""Looking more than once: what each look may spend, and what a verdict is read off."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitegen.comparison.report import to_text
from sitegen.comparison.statistics import CONFIDENCE, look_level
from sitegen.comparison.verdict import Decision
from tests.sitegen.comparison.made import interleaved, verdict

SLOW = [0.100, 0.101, 0.099, 0.100, 0.1005]
FAST = [0.060, 0.0605, 0.0595, 0.060, 0.0602]


def test_all_launches_at_once_are_judged_by_the_95_percent_interval() -> None:
    assert look_level(1.0) == pytest.approx(CONFIDENCE)
    effect = verdict(interleaved(SLOW, FAST)).effect  # the factory's file allows 5
    assert effect.judged is not None
    assert (effect.judged.level, effect.judged.look, effect.judged.launches) == (pytest.approx(0.95), 1, 5)
    assert (effect.judged.low, effect.judged.high) == (pytest.approx(effect.low), pytest.approx(effect.high))
    assert "judged at look" not in to_text(verdict(interleaved(SLOW, FAST)))


def test_half_of_the_launches_spend_what_the_boundary_says() -> None:
    """ln(1 + (e - 1) / 2) = 0.6201 of the 5 %."""
    assert look_level(0.5) == pytest.approx(1 - 0.05 * math.log(1 + (math.e - 1) / 2))
    assert look_level(0.5) == pytest.approx(0.96900, abs=1e-4)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=10, unique=True))
def test_all_looks_together_spend_no_more_than_5_percent(shares: list[float]) -> None:
    looks = [0.0, *sorted(shares)]
    spent = sum(1 - look_level(now, before) for before, now in pairwise(looks))
    assert spent <= 1 - CONFIDENCE + 1e-12
    assert look_level(looks[-1], looks[-1]) == 1


def test_a_first_look_is_judged_by_a_wider_interval_and_says_so() -> None:
    repeats = {"initial": 5, "max": 10, "profiled": 1}
    found = verdict(interleaved(SLOW, FAST), repeats=repeats)
    judged = found.effect.judged
    assert judged is not None
    assert judged.level == pytest.approx(0.969, abs=1e-3)
    assert found.effect.low is not None
    assert judged.low < found.effect.low
    text = " ".join(to_text(found).split())
    assert "judged at look 1 (5 launches a side of at most 10) by the 96.9 % interval" in text


def test_launches_added_later_are_a_second_look() -> None:
    repeats = {"initial": 3, "max": 6, "profiled": 1}
    runs = interleaved([*SLOW, 0.1002], [*FAST, 0.0601])
    later = [replace(run, batch="later") if run.repeat > 3 else run for run in runs]
    judged = verdict(later, repeats=repeats).effect.judged
    assert judged is not None
    assert (judged.look, judged.launches, judged.most) == (2, 6, 6)
    assert judged.level == pytest.approx(look_level(1.0, 0.5))


def test_what_only_the_95_percent_interval_clears_is_not_won_at_a_first_look() -> None:
    """A difference that five of five launches decide, and five of ten do not."""
    spread = [1.0, 1.035, 0.965, 1.02, 0.98]
    slow, fast = [0.1 * each for each in spread], [0.0915] * 5
    at_once = verdict(interleaved(slow, fast))
    first = verdict(interleaved(slow, fast), repeats={"initial": 5, "max": 10, "profiled": 1})
    assert at_once.decision is Decision.WINS
    assert first.decision is Decision.INCONCLUSIVE
    (reason,) = [note for note in first.readiness.reasons if note.code == "interval_undecided"]
    assert "judged at look 1" in reason.text


def test_more_launches_than_the_file_allows_are_told() -> None:
    found = verdict(interleaved(SLOW, FAST), repeats={"initial": 3, "max": 3, "profiled": 1})
    assert "more_than_declared" in [note.code for note in found.downgrades]
    assert found.effect.judged is not None
    assert found.effect.judged.most == 5


def test_candidates_against_one_baseline_share_the_error() -> None:
    """Three against `slow`: each is judged at 1 - 0.05 / 3."""
    three = [{"baseline": "slow", "candidate": name, "threshold": "5%"} for name in ("fast", "other", "third")]
    stacks = {name: {"adapter": "torch", "settings": {"threads": 1}} for name in ("slow", "fast", "other", "third")}
    found = verdict(interleaved(SLOW, FAST), comparisons=three, stacks=stacks)
    judged = found.effect.judged
    assert judged is not None
    assert (judged.together, judged.level) == (3, pytest.approx(1 - 0.05 / 3))
    assert "as one of 3 against this baseline by the 98.3 % interval" in " ".join(to_text(found).split())
