"""Cost, quality, latency and throughput of three servers, without a declared comparison: the means of all stacks."""

from __future__ import annotations

import pytest

from sitegen import prose
from sitegen.comparison.ranking import Cell, Column, Place, Ranking
from sitegen.comparison.verdict import Standing
from sitegen.prose import Tables
from tests.sitegen.prose import known

COLUMNS = (
    Column("cost_per_accepted_result", "Cost per accepted result", "money", lower_is_better=True),
    Column("acceptance_rate", "Acceptance rate", "share", lower_is_better=False),
    Column("ttft.mean", "Time to first token (mean)", "s", lower_is_better=True),
    Column("ttft.p95", "Time to first token (95th percentile)", "s", lower_is_better=True),
    Column("output_token_throughput", "Output token throughput", "tokens/s", lower_is_better=False),
)
VALUES = {
    "q4": (5.72e-6, 0.596, 0.0628, 0.0925, 93.8),
    "bf16": (14.0e-6, 0.579, 0.1114, 0.2228, 39.5),
    "fp32": (18.7e-6, 0.587, 0.1562, 0.2566, 1234.5),
}
RIGHT = (
    "q4 is the cheapest and the most accurate.",
    "fp32 is the most expensive stack in serving.",
    "bf16 is the least accurate.",
    "q4 is 69 % cheaper than fp32.",
    "q4 costs 69 % less than fp32.",
    "fp32 costs 3.27 times as much as q4.",
    "fp32 is 3.3× more expensive than q4.",
    "q4 is 2.4 times faster than bf16 in throughput.",
    "q4 has 31 % of the cost of fp32.",
    "The acceptance rate of q4 is 59.6 %.",
    "The acceptance rate of q4 is 0.596.",
    "q4 has the highest acceptance rate.",
    "The ttft p95 of q4 is 92.5 ms.",
    "The p95 TTFT of q4 is 93 ms.",
    "`ttft.p95` of q4 is 92 500 µs.",
    "The time to first token of fp32 is 156 ms.",
    "The time to first token of fp32 is 257 ms.",
    "fp32 has a throughput of 1,234.5 tokens/s.",
    "fp32 has a throughput of 1.23k tokens/s.",
    "fp32 has an output token throughput of 1.230 tokens/s.",
    "q4 is faster than fp32.",
    "fp32 is faster than q4.",
    "The cost per accepted result of q4 is 5.72 per million.",
    "The cost per accepted result of q4 is $5.72 per million.",
    "The cost per accepted result of q4 is 5.7e-6 USD.",
    "The cost per accepted result of q4 is 0.00572 USD per thousand.",
    "q4 beats fp32.",
    "q4 is the best.",
    "bf16 is 0.8 points less accurate than fp32.",
)
WRONG = (
    "fp32 is the cheapest.",
    "q4 is the most expensive stack in serving.",
    "bf16 is the most accurate.",
    "q4 is 40 % cheaper than fp32.",
    "q4 costs 40 % less than fp32.",
    "fp32 costs twice as much as q4.",
    "fp32 is cheaper than q4.",
    "fp32 is 2× more expensive than q4.",
    "The acceptance rate of q4 is 69.6 %.",
    "The acceptance rate of q4 is 0.7.",
    "bf16 has the highest acceptance rate.",
    "The ttft p95 of q4 is 63 ms.",
    "The mean TTFT of q4 is 93 ms.",
    "The time to first token of fp32 is 200 ms.",
    "fp32 has a throughput of 1,334.5 tokens/s.",
    "The cost per accepted result of q4 is 5.72 per thousand.",
    "The cost per accepted result of q4 is $0.01.",
    "fp32 beats q4.",
    "bf16 is the best.",
    "bf16 is 3 times faster than fp32 in throughput.",
    "q4 is slower than bf16 in output token throughput.",
)


@pytest.fixture(scope="module")
def tables() -> Tables:
    names = [column.metric for column in COLUMNS]
    places = tuple(
        Place(
            stack, None, 3, 0, Standing.HOLDS, (), {n: Cell(v, None, None) for n, v in zip(names, row, strict=True)}, ()
        )
        for stack, row in VALUES.items()
    )
    return prose.tables([], [Ranking("serving", "Which?", "cost_per_accepted_result", COLUMNS, places)])


@pytest.mark.parametrize("sentence", RIGHT)
def test_what_the_tables_bear_out_is_no_finding(sentence: str, tables: Tables) -> None:
    assert known.findings(sentence, tables) == []


@pytest.mark.parametrize("sentence", WRONG)
def test_what_the_tables_contradict_is_a_finding(sentence: str, tables: Tables) -> None:
    assert len(known.findings(sentence, tables)) == 1
