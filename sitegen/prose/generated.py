"""The numbers in sentences that rules made: each must be one that the verdict holds, or follow from two of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import permutations
from typing import Any

from ledger.plain_text import neutral
from sitegen.comparison.downgrades import GOOD_LAUNCHES, STALE_DAYS
from sitegen.comparison.effect import LEAST_LAUNCHES
from sitegen.comparison.explanation import Claim
from sitegen.comparison.readiness import LEAST_EXPLAINED
from sitegen.comparison.sentence import prediction_text
from sitegen.comparison.statistics import CONFIDENCE
from sitegen.comparison.verdict import Verdict
from sitegen.prose import amounts

_CONSTANTS = (LEAST_LAUNCHES, GOOD_LAUNCHES, STALE_DAYS, LEAST_EXPLAINED, CONFIDENCE, 0.0, 1.0)
_ELSEWHERE = frozenset(
    {
        "declaration_unreadable",
        "evidence_broken",
        "excluded",
        "more_than_declared",
        "noisy_rank",
        "one_node",
        "saturated",
        "self_reported_source",
        "unequal_tuning",
    }
)
"""Notes and claims whose numbers need not stand in the verdict: of files, hosts, other trials, or of one side alone."""
_SAID = frozenset({"sentence", "text", "refuted_by", "intervention", "next_run", "next_step", "evidence", "run_id"})
"""Fields of the verdict that are no source of numbers: what is checked, commands, and ids."""


def unfounded(verdict: Verdict) -> list[str]:
    """One line for each number that the verdict does not hold."""
    known = list(_numbers(verdict))
    found = list(_missing(verdict.sentence, known))
    for claim in verdict.claims:
        found += _missing(claim.text, [*known, *_of_claim(claim)]) if claim.code not in _ELSEWHERE else ()
    for note in (*verdict.readiness.reasons, *verdict.downgrades):
        found += _missing(note.text, known) if note.code not in _ELSEWHERE else ()
    for prediction in verdict.predictions:
        found += _missing(prediction_text(prediction), known)
    return list(dict.fromkeys(found))


def _missing(text: str, known: list[float]) -> Iterator[str]:
    for each in amounts.numbers(text):
        if not any(reading.near(number) for reading in each.readings for number in known):
            what = f"{each.text.strip()} is no number of this comparison"
            yield f"says “{neutral(text)}”, but {what}; a rule is wrong: report it"


def _numbers(verdict: Verdict) -> Iterator[float]:
    """Every number of the verdict, in its own fields and in what they quote, and what follows from the two sides."""
    yield from _CONSTANTS
    yield from _leaves(asdict(verdict))
    effect = verdict.effect
    for ratio in (effect.ratio, effect.low, effect.high):
        yield from (1 / ratio, 1 - ratio) if ratio else ()
    if effect.judged is not None:
        yield from (1 / effect.judged.low, 1 / effect.judged.high)
    yield from range(len(verdict.launches) + 1)  # so many of them, of one side or state
    yield from (len(each.rounds) for each in verdict.predictions)
    for note in (*verdict.left_out, *verdict.accounting.left_out):
        yield from _leaves(note.text)


def _of_claim(claim: Claim) -> Iterator[float]:
    """Differences and ratios of the two sides of a claim's numbers, and the ratio of two of these."""
    pairs = [(number.baseline, number.candidate) for number in claim.numbers]
    apart = [candidate - baseline for baseline, candidate in pairs]
    ratios = [candidate / baseline for baseline, candidate in pairs if baseline and candidate]
    ratios += [1 / ratio for ratio in ratios]
    yield from (*apart, *ratios)
    for numbers in (apart, ratios):
        yield from (one / other for one, other in permutations(numbers, 2) if other)


def _leaves(data: Any, field: str = "") -> Iterator[float]:
    """Numbers of nested plain data."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _leaves(value, str(name))
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _leaves(value, field)
    elif isinstance(data, str) and field not in _SAID:
        yield from (reading.value for each in amounts.numbers(data) for reading in each.readings)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield data
