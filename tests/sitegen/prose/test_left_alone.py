"""What is no statement about the tables is left alone: no false alarms."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sitegen.prose import known

SILENT = (
    "tuned slow is faster than fast.",
    "slow with bf16 is faster than fast.",
    "slow is faster than fast with two threads.",
    "slow on two threads is faster than fast.",
    "The median step time of fast is 71 ms.",
    "The 95th percentile of the step time of fast is 80 ms.",
    "step_time of fast is 72 s per epoch.",
    "The worst step time of fast is 80 ms.",
    "Half-precision slow beats fast.",
    "slow is faster to start than fast.",
    "slow decodes faster than fast.",
    "slow compiles 3 times faster than fast.",
    "slow wins back users.",
    "slow wins on simplicity.",
    "slow is the winner of our hearts.",
    "fast and slow are equally well documented.",
    "slow is faster at loading than fast.",
    "slow starts 5 s earlier than fast.",
    "slow has fewer dependencies than fast.",
    "fast has 20 % more lines of code than slow.",
    "fast is 3 times larger than slow.",
    "slow has a lower price per hour than fast.",
    "slow is cheaper than fast.",
    "slow has more fans than fast.",
    "For batch size 1, slow is faster than fast.",
    "After warm-up, slow is faster than fast.",
    "slow is sometimes faster than fast.",
    "slow can be faster than fast.",
    "Version 2 of slow is faster than fast.",
    "We doubt that slow is faster than fast.",
    "Contrary to the claim, slow is faster than fast.",
    "It remains to be seen that slow is faster than fast.",
    "slow was faster than fast until version 2.",
    '> "slow is faster than fast", they said.',
    "~~slow is faster than fast.~~",
    "fast is not faster than slow.",
    "slow isn't faster than fast.",
    "slow is no faster than fast.",
    "slow never beats fast.",
    "Is slow faster than fast?",
    "If slow is faster than fast, look at the order.",
    "slow would be faster than fast.",
    "slow should be faster than fast on a GPU.",
    "slow is faster than fast on a GPU.",
    "slow is faster than fast at start-up.",
    "slow takes 3 times longer than fast to start.",
    "In its first step, slow is 3 times faster than fast.",
    "The vendor says slow is faster than fast.",
    "According to its authors, slow beats fast.",
    "We expected slow to win; slow was expected to be the fastest.",
    "slow was once faster than fast.",
    "In 2024, slow was faster than fast.",
    "It is a myth that slow is faster than fast.",
    "One of the fastest stacks is slow.",
    "slow is among the fastest.",
    "slow is the second fastest.",
    "slow is faster than torch.",
    "slow is the fastest part of the story.",
    "A slow disk is faster than a fast tape.",
    "slow is the fastest for long prompts.",
    "The fast stack of slow is 5 s old.",
    "step_time of fast is below 80 ms.",
    "step_time of fast is under 1 s.",
    "step_time of fast is 32 ms lower than that of slow.",
    "The limit on evaluation_loss of fast is 3.0.",
    "The slowest launch of fast has a step time of 75 ms.",
    "Nothing here names anything; it is 25 % faster than before.",
    "unknown is 25 % faster than slow.",
    "unknown is the fastest.",
    "The step_time of unknown is 5 s.",
    "the throughput of fast is 5 tokens/s.",
    "fast is fast.",
    "fast was 80 % faster before the fix.",
    "fast is 5 years old. fast has 3 launches. fast uses 8 threads.",
    "fast has better documentation than slow. slow has better logs than fast.",
    "slow has a better name. slow is better documented than fast. slow is easier to install.",
    "slow is more popular than fast.",
    "slow is the best known.",
    "slow is the best documented stack.",
    "slow is the least used.",
    "more than slow, fast is.",
    "step_time of slow is 32 ms above that of fast.",
    "fast and slow are ready for launch.",
    "slow and fast are both equally hard to install.",
    "fast makes progress at the speed of slow.",
)


@pytest.mark.parametrize("sentence", SILENT)
def test_it_is_left_alone(sentence: str) -> None:
    assert known.findings(sentence, TABLES) == []


TABLES = known.tables_of(known.runs(known.SLOW, known.FAST))
PIECES = (
    *(
        "fast",
        "slow",
        "is",
        "has",
        "the",
        "than",
        "step_time",
        "peak memory",
        "of",
        "faster",
        "fastest",
        "less",
        "lowest",
    ),
    *(
        "25 %",
        "0 %",
        "-3 %",
        "2x",
        "0x",
        "up to 3 times",
        "about 0 s",
        "1e400 s",
        "0.000.000",
        "wins",
        "beats",
        "as fast as",
    ),
    *("tiny", "slow-vs-fast", "decided", "and", ",", ".", ";", "(", ")", "`", "*", "|", "\n", "\n\n", "# ", "- ", "> "),
    *("<!-- stackproof: not checked: x -->", "<!--", "-->", "<p>", "</p>", "⟨S0⟩", "⟨N7⟩", "\u202e", "\x1b"),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_no_text_breaks_it_and_each_finding_is_one_line(pieces: list[str]) -> None:
    for found in known.findings(" ".join(pieces), TABLES):
        assert found.isprintable()
