"""Sentences made from a verdict's own values are never findings; with the sides exchanged they always are."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sitegen.comparison.verdict import Decision, Verdict
from sitegen.format import share, times, value
from tests.sitegen.prose import known

BASE = st.floats(1e-3, 1e3)
SPEEDUP = st.floats(1.2, 20.0)
JITTER = st.lists(st.floats(-0.01, 0.01), min_size=10, max_size=10)


def clear(base: float, speedup: float, jitter: list[float]) -> Verdict:
    """A verdict on two stacks of which `fast` is the faster one by far."""
    slow = [base * speedup * (1 + part) for part in jitter[:5]]
    fast = [base * (1 + part) for part in jitter[5:]]
    runs = known.runs(list(slow), list(fast))
    found = known.verdict_of(runs)
    assume(found.decision is Decision.WINS)
    return found


def in_words(verdict: Verdict) -> list[str]:
    """What can be said of it: `{f}` is the faster stack, `{s}` the other one."""
    effect = verdict.effect
    assert effect.ratio is not None
    factor = 1 / effect.ratio
    return [
        f"{{f}} is {share(factor - 1)} faster than {{s}}.",
        f"{{f}} is {times(factor)} times as fast as {{s}}.",
        f"{{f}} is {factor:.3g}× faster than {{s}}.",
        f"{{f}} takes {share(1 - effect.ratio)} less time than {{s}}.",
        f"{{s}} takes {share(factor - 1)} longer than {{f}}.",
        f"{{s}} is {times(factor)} times slower than {{f}}.",
        f"The step time of {{f}} is {share(1 - effect.ratio)} lower than that of {{s}}.",
        f"Step time: {value(effect.candidate, 's')} ({{f}}) against {value(effect.baseline, 's')} ({{s}}).",
        f"step_time of {{f}} is {value(effect.candidate, 's')}.",
        f"{{s}} takes {value(effect.baseline, 's')} a step.",
        "{f} is faster than {s}.",
        "{s} is slower than {f}.",
        "{f} wins.",
        "{f} beats {s}.",
        "{f} is the fastest stack.",
        "The slowest is {s}.",
        "{f} has the lowest step time.",
    ]


@settings(max_examples=20, deadline=None)
@given(BASE, SPEEDUP, JITTER)
def test_what_the_verdict_says_is_no_finding_and_its_opposite_is_one(
    base: float, speedup: float, jitter: list[float]
) -> None:
    verdict = clear(base, speedup, jitter)
    slow = [launch.value for launch in verdict.launches if launch.stack == "slow"]
    fast = [launch.value for launch in verdict.launches if launch.stack == "fast"]
    tables = known.tables_of(known.runs(slow, fast))
    for sentence in in_words(verdict):
        assert known.findings(sentence.format(f="fast", s="slow"), tables) == []
        assert len(known.findings(sentence.format(f="slow", s="fast"), tables)) == 1, sentence


@pytest.mark.parametrize("more", [12.3, 30.0, 150.0])
@pytest.mark.parametrize("of_time", [False, True])
def test_faster_may_be_said_of_speed_or_of_time(more: float, of_time: bool) -> None:
    ratio = max(1 - more / 100, 0.01) if of_time else 1 / (1 + more / 100)
    said = (1 - ratio) * 100 if of_time else more
    slow = [0.1, 0.1001, 0.0999, 0.1, 0.1]
    tables = known.tables_of(known.runs(list(slow), [ratio * seconds for seconds in (0.1001, 0.1, 0.1, 0.0999, 0.1)]))
    assert known.findings(f"fast is {said:.1f} % faster than slow.", tables) == []
    assert len(known.findings(f"slow is {said:.1f} % faster than fast.", tables)) == 1
    assert len(known.findings(f"fast is {said * 0.6:.1f} % faster than slow.", tables)) == 1
