"""From a tagged sentence to statements. What is not one of these patterns says nothing here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sitegen.prose import patterns, words
from sitegen.prose.amounts import BARE, FACTOR, Amount
from sitegen.prose.statements import Compared, Decided, Equal, Ratio, Statement, Superlative, Valued, Won
from sitegen.prose.tagging import Tagged
from sitegen.prose.words import Meaning


@dataclass(frozen=True)
class Found:
    """A statement, and where in the tagged text it stands."""

    statement: Statement
    start: int
    end: int


@dataclass(frozen=True)
class _Match:
    """A match of a pattern in a sentence, with what its tags stand for."""

    tagged: Tagged
    match: re.Match[str]

    def stack(self, group: str) -> str | None:
        """The stack of a group, where the match has it."""
        found = self._group(group)
        return None if found is None else self.tagged.names[int(found)]

    def amount(self, *groups: str) -> Amount | None:
        """The first of these groups that is there."""
        found = [each for group in groups if (each := self._group(group)) is not None]
        return self.tagged.amounts[int(found[0])] if found else None

    def metrics(self) -> tuple[str, ...]:
        """The metrics that the match names."""
        found = self._group("m") or self._group("m2")
        return () if found is None else self.tagged.metrics[int(found)]

    def meanings(self, group: str) -> Iterator[Meaning]:
        """Of the one or two words."""
        for name in ("word", "word2"):
            word = self._group(name)
            if word is not None:
                yield words.meanings(group)[" ".join(word.lower().split())]

    def _group(self, group: str) -> str | None:
        return self.match.groupdict().get(group)


NAMED = Meaning("named", "more")
Maker = Callable[[_Match], Iterator[Statement | None]]


def read(tagged: Tagged) -> list[Found]:
    """The statements of a sentence; none of one that is a question, or that does not say things as they are."""
    text = tagged.text
    if text.rstrip(" )*_”\"'").endswith("?") or words.pattern("unsure").search(text):
        return []
    found = []
    for pattern, make in _PATTERNS:
        for match in pattern.finditer(text):
            if _negated(text, match) or _narrowed(text, match) or not _plain(text, match):
                continue
            made = [each for each in make(_Match(tagged, match)) if each is not None]
            found += [Found(each, match.start(), match.end()) for each in made]
    return found


def _negated(text: str, match: re.Match[str]) -> bool:
    """Whether something before a statement, in it or beside it may turn it round."""
    before = re.split(r"[;:]|, (?:but|and|so) ", text[: match.start()])[-1]
    after = re.split(r"[,;:—–(]|\b(?:but|and|though|although|while|whereas|because)\b", text[match.end() :])[0]
    return words.pattern("negations").search(f"{before} {match[0]} {after}") is not None


def _narrowed(text: str, match: re.Match[str]) -> bool:
    """Whether what stands before or after a statement narrows what it is about (`in decoding, …`, `… to start`)."""
    before = re.split(r"[;:]|, (?:but|and|so) |\bthat ", text[: match.start()])[-1].strip()
    after = re.split(r"[.,;:!?()—–]|\b(?:and|but|while)\b", text[match.end() :])[0].strip()
    return any(patterns.NARROWS.match(each) and not patterns.WHOLE.search(each) for each in (before, after))


def _plain(text: str, match: re.Match[str]) -> bool:
    """Whether the stack or the metric with which a statement begins is meant as it is (not `tuned eager`)."""
    return match[0][:2] not in {"⟨S", "⟨M"} or patterns.PLAIN.search(text[: match.start()].rstrip()) is not None


def _compare(found: _Match) -> Iterator[Statement | None]:
    first, second, metrics = found.stack("a"), found.stack("b"), found.metrics()
    costs = re.search(r"\bcosts?\b", found.match[0], re.IGNORECASE) is not None
    for said in found.meanings("comparatives"):
        named = said.of in {"named", "time"}
        meaning = said
        if named and not metrics and costs:
            meaning = Meaning("cost", "better" if said.says == "less" else "worse")
        if first and first != second and (metrics or meaning.of != "named"):
            yield Compared(first, second, meaning, metrics, found.amount("n", "n2"), plain=named)


def _ratio(group: str, otherwise: Meaning = NAMED) -> Maker:
    """One stack's value over another's: of a named metric, of what a word of a group says, or else as `otherwise`."""

    def make(found: _Match) -> Iterator[Statement | None]:
        first, second, amount = found.stack("a"), found.stack("b"), found.amount("n")
        if first and second and first != second and amount is not None and amount.unit in {FACTOR, "share", BARE}:
            yield Ratio(first, second, next(found.meanings(group), otherwise), found.metrics(), amount)

    return make


def _superlative(found: _Match) -> Iterator[Statement | None]:
    stack = found.stack("a")
    for meaning in found.meanings("superlatives"):
        if stack and (meaning.of != "named" or found.metrics()):
            others = tuple(each for each in dict.fromkeys(found.tagged.stacks) if each != stack)
            yield Superlative(stack, meaning, found.metrics(), others)


def _won(found: _Match) -> Iterator[Statement | None]:
    first, second = found.stack("a"), found.stack("b")
    if first and first != second:
        yield Won(first, second)
        amount = found.amount("n2")
        if amount is not None and second:
            yield Compared(first, second, Meaning("objective", "better"), (), amount)


def _equal(found: _Match) -> Iterator[Statement | None]:
    first, second = found.stack("a"), found.stack("b")
    meaning = next(found.meanings("equals"), None)
    if first and second and first != second:
        yield Equal(first, second, meaning)


def _decided(found: _Match) -> Iterator[Statement | None]:
    slug = found.match.groupdict().get("c")
    yield Decided(found.stack("a"), found.stack("b"), None if slug is None else found.tagged.names[int(slug)])


def _step_time(found: _Match) -> Iterator[Statement | None]:
    """`takes 1.23 s a step`: the metric is not named, and no other one is meant."""
    stack, amount = found.stack("a"), found.amount("n")
    if stack and amount is not None:
        yield Valued(stack, ("step_time",), amount)


def _value(found: _Match) -> Iterator[Statement | None]:
    stack, amount = found.stack("a"), found.amount("n")
    if stack and amount is not None:
        yield Valued(stack, found.metrics(), amount)
    second, other = found.stack("b"), found.amount("n2")
    if second and other is not None:
        yield Valued(second, found.metrics(), other)


_MAKERS: tuple[tuple[tuple[str, ...], Maker], ...] = (
    (patterns.COMPARISONS, _compare),
    (patterns.SUPERLATIVES, _superlative),
    (patterns.VALUES, _value),
    (patterns.STEP_TIMES, _step_time),
    (patterns.TIMES_AS, _ratio("equals")),
    (patterns.RATES, _ratio("rates")),
    (patterns.COSTS, _ratio("rates", Meaning("cost", "more"))),
    (patterns.PRINTED, _ratio("rates", Meaning("objective", "more"))),
    (patterns.WINS, _won),
    (patterns.EQUIVALENTS, _equal),
    (patterns.DECIDED, _decided),
)
_PATTERNS = tuple((re.compile(each, re.IGNORECASE), make) for group, make in _MAKERS for each in group)
