"""What this repository's own evidence says, judged by today's code: a change that turns a verdict round shows here."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import workspace
from sitegen.comparison import judge_all
from sitegen.comparison.explanation import Fate
from sitegen.comparison.verdict import Decision, Verdict

ROOT = Path(__file__).parents[2]
WINS = {
    ("cpu-frameworks", "ddp-vs-fsdp2"): ("ddp", False),
    ("cpu-frameworks", "zero-1-vs-zero-2"): ("zero-1", False),
    ("cpu-training", "eager-vs-compile"): ("compile", False),
    ("cpu-training", "eager-vs-eager-math-attention"): ("eager", False),
    ("cpu-training", "eager-vs-eager-two-threads"): ("eager-two-threads", True),
    ("smollm2-serving-cpu", "transformers-vs-vllm-float32"): ("vllm-float32", True),
    ("smollm2-serving-cpu", "vllm-float32-vs-llamacpp-q4"): ("llamacpp-q4", True),
}
"""{comparison: (winner, whether it is ready to decide on)}."""


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, str], Verdict]:
    return {(each.benchmark, each.slug): each for each in judge_all(workspace.find(ROOT))}


def test_who_wins_and_whether_that_is_ready(verdicts: dict[tuple[str, str], Verdict]) -> None:
    found = {
        key: (each.winner, each.readiness.ready) for key, each in verdicts.items() if each.decision is Decision.WINS
    }
    assert found == WINS


def test_a_stack_declared_twice_never_wins_against_itself(verdicts: dict[tuple[str, str], Verdict]) -> None:
    assert verdicts["cpu-training", "eager-vs-eager-again"].winner is None


def test_the_fates_of_predictions_are_kept_whatever_they_are(verdicts: dict[tuple[str, str], Verdict]) -> None:
    fates = {each.name: each.fate for verdict in verdicts.values() for each in verdict.predictions}
    assert fates == {"second-core-taken-away": Fate.FULFILLED, "fewer-launches": Fate.UNDECIDED}
