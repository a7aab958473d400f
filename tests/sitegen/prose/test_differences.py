"""How much two stacks differ: in per cent, as a factor, in a unit; both readings of `25 % faster`, one direction."""

from __future__ import annotations

import pytest

from sitegen.prose import Tables
from tests.sitegen.prose import known


@pytest.fixture(scope="module")
def tables() -> Tables:
    return known.tables_of(known.runs(known.SLOW, known.FAST))


RIGHT = (
    "Compared with slow, fast is 44 % faster.",
    "Relative to slow, fast is faster.",
    "fast is 44 % faster compared to slow.",
    "fast (72 ms) is faster than slow (104 ms).",
    "fast has 1.44 times the speed of slow.",
    "fast trains at 1.44 times the speed of slow.",
    "fast runs at 69 % of the step time of slow.",
    "slow takes 1.44 times the time of fast.",
    '"fast" is faster than "slow".',
    "On this machine, fast is 44% faster than slow.",
    "In tiny, fast is 44% faster than slow on this host.",
    "We measured that fast is 44 percent faster than slow.",
    "fast needs less time than slow.",
    "fast is faster than slow.",
    "fast is 44 % faster than slow.",
    "fast is 31 % faster than slow.",
    "fast is 1.44 times as fast as slow.",
    "fast is 1.44× faster than slow.",
    "fast is about 1.4 times faster than slow.",
    "fast is 1.4x faster than slow.",
    "Fast is at least 40 % faster than slow.",
    "Fast is up to 45 % faster than slow.",
    "fast is between 40 and 45 % faster than slow.",
    "fast is 40–45 % faster than slow.",
    "slow is 44 % slower than fast.",
    "slow takes 44 % longer than fast.",
    "slow takes 44 % more time than fast.",
    "fast takes 31 % less time than slow.",
    "fast needs 31 % less time per step than slow.",
    "The step time of fast is 31 % lower than that of slow.",
    "The `step_time` of fast is 32 ms lower than that of slow.",
    "fast's step time is 31 % lower than slow's.",
    "fast uses 2 times the peak memory of slow.",
    "fast uses twice the peak memory of slow.",
    "slow uses half the peak memory of fast.",
    "slow uses 50 % less peak memory than fast.",
    "fast uses 100 % more memory than slow.",
    "fast is 44 % faster.",
    "slow is slower.",
    "fast runs at 69 % of the step time of slow.",
    "slow is 0.69 times as fast as fast.",
    "slow is 69 % as fast as fast.",
)
WRONG = (
    "Compared with slow, fast is 80 % faster.",
    "Compared with fast, slow is 44 % faster.",
    "Relative to slow, fast is slower.",
    "slow is 44 % faster compared to fast.",
    "slow (104 ms) is faster than fast (72 ms).",
    "fast has 2.2 times the speed of slow.",
    "fast runs at 50 % of the step time of slow.",
    "slow takes 2.2 times the time of fast.",
    '"slow" is faster than "fast".',
    "On this machine, fast is 80% faster than slow.",
    "In tiny, fast is 80% faster than slow on this host.",
    "We measured that fast is 80 percent faster than slow.",
    "slow needs less time than fast.",
    "slow is faster than fast.",
    "fast is slower than slow.",
    "fast is 60 % faster than slow.",
    "fast is 20 % faster than slow.",
    "fast is 1.6 times as fast as slow.",
    "fast is 1.3× faster than slow.",
    "fast is about 1.2 times faster than slow.",
    "Fast is at least 50 % faster than slow.",
    "Fast is up to 25 % faster than slow.",
    "fast is between 10 and 20 % faster than slow.",
    "slow is 60 % slower than fast.",
    "slow takes 60 % longer than fast.",
    "fast takes 44 % less time than slow.",
    "The step time of fast is 44 % lower than that of slow.",
    "The step time of fast is 25 ms lower than that of slow.",
    "The step time of slow is 31 % lower than that of fast.",
    "fast's step time is 31 % higher than slow's.",
    "fast uses three times the peak memory of slow.",
    "fast uses half the peak memory of slow.",
    "slow uses 20 % less peak memory than fast.",
    "fast is 80 % faster.",
    "slow is faster.",
    "slow is 0.5 times as fast as fast.",
)


@pytest.mark.parametrize("sentence", RIGHT)
def test_what_the_tables_bear_out_is_no_finding(sentence: str, tables: Tables) -> None:
    assert known.findings(sentence, tables) == []


@pytest.mark.parametrize("sentence", WRONG)
def test_what_the_tables_contradict_is_a_finding(sentence: str, tables: Tables) -> None:
    (found,) = known.findings(sentence, tables)
    assert found.startswith(f"1: says “{sentence}”, but ")
