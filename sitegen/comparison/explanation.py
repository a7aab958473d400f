"""Claims about why two sides differ, and what came of testing them. Shares are those of the measured difference."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Fate(enum.StrEnum):
    """What became of a prediction."""

    FULFILLED = "fulfilled"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class ClaimNumber:
    """A metric of both sides that a claim rests on."""

    metric: str
    title: str
    unit: str
    baseline: float
    candidate: float


@dataclass(frozen=True)
class Claim:
    """Why the sides differ, in a sentence that a rule made from numbers."""

    code: str
    """`input_wait`: which rule."""
    text: str
    share: float | None
    """Of the measured difference that lies in it; above 1 where other parts move the other way. None where it is none
    that has a share."""
    seconds: float | None
    """The same in seconds."""
    numbers: tuple[ClaimNumber, ...]
    refuted_by: str
    """What would have to be observed for it to be wrong."""
    intervention: str | None
    """What would take the cause away, so that the claim can be tested; None where nothing can."""
    evidence: tuple[str, ...]
    """Run ids."""
    parts: tuple[str, ...] = ()
    """Parts of the accounting in which `seconds` lie."""
    withdrawn: bool = False
    """Whether a launch with the cause taken away refuted it."""


@dataclass(frozen=True)
class Closure:
    """How much of the difference closes, with its 95 % interval."""

    share: float
    low: float | None
    high: float | None
    absent: str | None = None
    """Why there is no interval."""


@dataclass(frozen=True)
class Round:
    """One round of a test: both sides as they are and the changed one, launched after one another."""

    repeat: int
    baseline: float
    candidate: float
    changed: float


@dataclass(frozen=True)
class Prediction:
    """A claim's prediction, made from the launches before the test, beside what the test showed."""

    name: str
    """The intervention's, in the benchmark file."""
    description: str
    claim: str
    """Code of the claim that it tests."""
    stack: str
    """The stack that is launched changed."""
    change: str
    """`micro_batch_size 16 instead of 8`."""
    fate: Fate
    predicted: Closure | None
    """None where no launch before the test gave rise to the claim; `share` is at most 1."""
    observed: Closure | None
    """None where no round is complete. Above 1 where more than the difference closed, below 0 where it grew."""
    metric: str
    unit: str
    """Of the rounds' values."""
    rounds: tuple[Round, ...]
    why: str | None = None
    """Why it is undecided."""
    left_out: int = 0
    """Launches of the test that are in no complete round."""
    first: str | None = None
    """When its first launch started: what had started before is what the prediction was made from."""
    commit: str | None = None
    """Of the benchmark file that declared it to the first launch."""
    evidence: tuple[str, ...] = ()
    """Run ids of the test's launches."""
