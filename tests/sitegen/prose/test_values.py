"""Values: to the rounding that was written, in any unit of their kind, or roughly."""

from __future__ import annotations

import pytest

from sitegen.prose import Tables
from tests.sitegen.prose import known


@pytest.fixture(scope="module")
def tables() -> Tables:
    return known.tables_of(known.runs(known.SLOW, known.FAST))


RIGHT = (
    "The mean step time of fast is 72 ms.",
    "The lowest step time is that of fast.",
    "`step_time` of `fast` is `72 ms`.",
    "step_time of fast is 72.0 ms.",
    "step_time of fast is 0.072 s.",
    "step_time of fast is 72,0 ms.",
    "The step time of fast is about 70 ms.",
    "fast takes 72 ms a step.",
    "fast has a step time of 72 ms.",
    "fast has a peak memory of 2 GiB.",
    "fast uses 2 GiB of peak memory.",
    "fast uses 2048 MiB of memory.",
    "fast uses 2,048 MiB of memory.",
    "Step time: 104 ms (slow) against 72 ms (fast).",
    "Step time is 104 ms for slow and 72 ms for fast.",
    "evaluation_loss of fast is 2.5.",
    "evaluation loss of fast is 2.50 nats.",
)
WRONG = (
    "The mean step time of fast is 80 ms.",
    "The lowest step time is that of slow.",
    "`step_time` of `fast` is `75 ms`.",
    "step_time of fast is 72.1 ms.",
    "step_time of fast is 0.72 s.",
    "step_time of fast is 71,0 ms.",
    "The step time of fast is about 100 ms.",
    "fast takes 104 ms a step.",
    "fast has a step time of 80 ms.",
    "fast has a peak memory of 1 GiB.",
    "fast uses 3 GiB of peak memory.",
    "fast uses 1,024 MiB of memory.",
    "Step time: 72 ms (slow) against 104 ms (fast).",
    "Step time is 72 ms for slow and 104 ms for fast.",
    "evaluation_loss of fast is 2.6.",
)


@pytest.mark.parametrize("sentence", RIGHT)
def test_what_the_tables_bear_out_is_no_finding(sentence: str, tables: Tables) -> None:
    assert known.findings(sentence, tables) == []


@pytest.mark.parametrize("sentence", WRONG)
def test_what_the_tables_contradict_is_a_finding(sentence: str, tables: Tables) -> None:
    plain = sentence.replace("`", "")
    (found,) = known.findings(sentence, tables)
    assert found.startswith(f"1: says “{plain}”, but ")
