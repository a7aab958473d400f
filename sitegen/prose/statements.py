"""What a sentence can say of stacks: the kinds of statements that the tables can answer."""

from __future__ import annotations

from dataclasses import dataclass

from sitegen.prose.amounts import Amount
from sitegen.prose.words import Meaning


@dataclass(frozen=True)
class Valued:
    """A stack's value of a metric."""

    stack: str
    metrics: tuple[str, ...]
    """Ids that may be meant."""
    amount: Amount


@dataclass(frozen=True)
class Compared:
    """One stack is more or less, better or worse than another one, and maybe by how much."""

    first: str
    second: str | None
    """None where the sentence leaves it out."""
    meaning: Meaning
    metrics: tuple[str, ...]
    """Ids that the sentence names; none where it names no metric."""
    amount: Amount | None
    plain: bool = False
    """Whether the amount is a share of the other's value (`takes 25 % less`), and not of a speed (`25 % faster`)."""


@dataclass(frozen=True)
class Ratio:
    """The first stack over the second one: how many times as much, as good or as bad."""

    first: str
    second: str
    meaning: Meaning
    metrics: tuple[str, ...]
    amount: Amount


@dataclass(frozen=True)
class Superlative:
    """One stack is the most or the least."""

    stack: str
    meaning: Meaning
    metrics: tuple[str, ...]
    others: tuple[str, ...]
    """Other stacks that the sentence names: it may mean the most of these."""


@dataclass(frozen=True)
class Won:
    """One stack wins, against another one or in some comparison."""

    first: str
    second: str | None


@dataclass(frozen=True)
class Equal:
    """Two stacks are equivalent, or equally fast, cheap or good."""

    first: str
    second: str
    meaning: Meaning | None = None
    """None for `equivalent`."""


@dataclass(frozen=True)
class Decided:
    """The comparison of two stacks is said to be decided, or ready to decide on."""

    first: str | None
    second: str | None
    slug: str | None = None


Statement = Valued | Compared | Ratio | Superlative | Won | Equal | Decided


def stacks_of(statement: Statement) -> tuple[str, ...]:
    """The stacks that it is about."""
    match statement:
        case Valued(stack=stack) | Superlative(stack=stack):
            return (stack,)
        case Compared() | Ratio() | Won() | Equal() | Decided():
            return tuple(each for each in (statement.first, statement.second) if each is not None)
