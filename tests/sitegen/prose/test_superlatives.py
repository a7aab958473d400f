"""The most and the least, who wins, what is equivalent, what is decided."""

from __future__ import annotations

import pytest

from sitegen.prose import Tables
from tests.sitegen.prose import known


@pytest.fixture(scope="module")
def tables() -> Tables:
    return known.tables_of(known.runs(known.SLOW, known.FAST))


RIGHT = (
    "fast is the winner.",
    "The winner is fast.",
    "slow loses to fast.",
    "slow is beaten by fast by 44 %.",
    "Of all stacks, fast is the fastest.",
    "Among the stacks of tiny, fast is the fastest.",
    "Clearly fast wins.",
    "fast is the fastest stack.",
    "The fastest stack is fast.",
    "slow is the slowest.",
    "slow has the lowest peak memory.",
    "fast, the fastest stack, needs more memory.",
    "fast has the highest peak memory.",
    "fast wins.",
    "fast beats slow.",
    "fast wins over slow by 44 %.",
    "fast is the best.",
    "slow and fast are equivalent on paper?",
)
WRONG = (
    "slow is the winner.",
    "The winner is slow.",
    "fast loses to slow.",
    "fast is beaten by slow.",
    "Of all stacks, slow is the fastest.",
    "Among the stacks of tiny, slow is the fastest.",
    "Clearly slow wins.",
    "slow, the fastest stack, uses little memory.",
    "slow is the fastest stack.",
    "The fastest stack is slow.",
    "fast is the slowest.",
    "fast has the lowest peak memory.",
    "slow, the fastest stack, needs less memory.",
    "slow wins.",
    "slow beats fast.",
    "fast wins over slow by 20 %.",
    "slow is the best.",
    "fast and slow are equivalent.",
    "fast is equally fast as slow.",
    "fast is as fast as slow.",
    "fast and slow are equally fast.",
    "fast and slow are equivalent",
    "fast vs slow is decided.",
    "slow-vs-fast is ready.",
    "The comparison of slow and fast is ready.",
)


@pytest.mark.parametrize("sentence", RIGHT)
def test_what_the_tables_bear_out_is_no_finding(sentence: str, tables: Tables) -> None:
    assert known.findings(sentence, tables) == []


@pytest.mark.parametrize("sentence", WRONG)
def test_what_the_tables_contradict_is_a_finding(sentence: str, tables: Tables) -> None:
    (found,) = known.findings(sentence, tables)
    assert found.startswith(f"1: says “{sentence}”, but ")
