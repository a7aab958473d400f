"""From a tagged sentence to statements. What is not one of these patterns says nothing here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sitegen.prose import words
from sitegen.prose.amounts import FACTOR, Amount
from sitegen.prose.statements import Compared, Decided, Equal, Ratio, Statement, Superlative, Valued, Won
from sitegen.prose.tagging import Tagged
from sitegen.prose.words import Meaning

_A, _B = r"⟨S(?P<a>\d+)⟩", r"⟨S(?P<b>\d+)⟩"
_M, _C = r"⟨M(?P<m>\d+)⟩", r"⟨C(?P<c>\d+)⟩"
_N, _N2 = r"⟨N(?P<n>\d+)⟩", r"⟨N(?P<n2>\d+)⟩"
_THE = r"(?:the )?"
_BE, _HAS = f"(?:{words.alternatives('is')})", f"(?:{words.alternatives('has')})"
_VERB = f"(?:{_BE}|{_HAS})"
_ADVERBS = f"(?: (?:{words.alternatives('adverbs')}))*"


def _one_or_two(group: str, between: str) -> str:
    """A word of a group, and maybe a second one after it."""
    every = words.alternatives(group)
    return f"(?P<word>{every})(?:{between} (?P<word2>{every}))?"


_COMPARATIVE = _one_or_two("comparatives", "(?: and|,| but)")
_SUPERLATIVE = _one_or_two("superlatives", "(?: and|,)(?: the)?")
_EQUAL = rf"(?P<word>{words.alternatives('equals')})"
_BY_METRIC = f"(?: (?:(?:in|by|on|at) (?:its |the )?)?{_M})?"
_FILLER = r"(?: (?:on|in) (?:this|our|the) \w+| here| overall| on average| a step| per step| per result)?"
_POSSESSIVE = "(?:['’]s?)?"
_THAN = rf"than (?:that of |those of |the one of |with |for |of |in |on |by )?{_THE}{_B}{_POSSESSIVE}"
_KIND = f"(?: (?:{words.alternatives('kinds')}))?"
_ALL = "(?: (?:of all(?: stacks)?|of them(?: all)?|overall|here|by far|(?:on|in) (?:this|our) \\w+))*"
_STOP = r"(?=\s*(?:[.,;:!?)\]—–(\n]|$|(?:and|but|while|whereas|so|because|since)\b))"
_BY_AMOUNT = f"(?:,? by (?:a factor of )?{_N2})?"
_PAIR = rf"{_A}(?: stack)?,?(?: vs\.?| versus| against| and| or| /) {_THE}{_B}"
_READY = "(?:decided|settled|conclusive|ready to decide(?: on)?|ready for a decision)"
_FOR = r"(?: (?:for|on|with|in|under|of)| \()"
_NARROWS = re.compile(
    r"(?:in|at|for|during|from|to|with|on|under|by|per|over|of|among|between|within|after|per)\b", re.IGNORECASE
)
_WHOLE = re.compile(
    r"⟨[BCM]|\b(?:benchmark|comparison|table|page|workload|evidence|host|machine|node|total|average|measurement|result"
    r"|launch|run|site|workspace)(?:e?s)?\b",
    re.IGNORECASE,
)
_NO_MORE = rf"(?!,? (?:\w+ )?(?:{words.alternatives('beside')})\b)"


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

    def metrics(self, group: str = "m") -> tuple[str, ...]:
        """The metrics that a group names."""
        found = self._group(group)
        return () if found is None else self.tagged.metrics[int(found)]

    def meanings(self, group: str) -> Iterator[Meaning]:
        """Of the one or two words."""
        for name in ("word", "word2"):
            word = self._group(name)
            if word is not None:
                yield words.meanings(group)[" ".join(word.lower().split())]

    def _group(self, group: str) -> str | None:
        return self.match.groupdict().get(group)


Maker = Callable[[_Match], Iterator[Statement | None]]


def read(tagged: Tagged) -> list[Found]:
    """The statements of a sentence; none of one that is a question, or that does not say things as they are."""
    text = tagged.text
    if text.rstrip(" )*_”\"'").endswith("?") or words.pattern("unsure").search(text):
        return []
    found = []
    for pattern, make in _PATTERNS:
        for match in pattern.finditer(text):
            if _negated(text, match) or _narrowed(text, match):
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
    return any(_NARROWS.match(each) is not None and _WHOLE.search(each) is None for each in (before, after))


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


def _times_as(found: _Match) -> Iterator[Statement | None]:
    """`1.4 times as fast as`, `half as expensive as`, `80 % as fast as`."""
    first, second, amount = found.stack("a"), found.stack("b"), found.amount("n")
    for meaning in found.meanings("equals"):
        if first and second and amount is not None and amount.unit in {FACTOR, "share"}:
            yield Ratio(first, second, meaning, (), amount)


def _ratio(of: str) -> Maker:
    """One stack's value over another's: of a named metric, or of what `of` says."""

    def make(found: _Match) -> Iterator[Statement | None]:
        first, second, amount = found.stack("a"), found.stack("b"), found.amount("n")
        if first and second and amount is not None:
            yield Ratio(first, second, Meaning(of, "more"), found.metrics(), amount)

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


_IS = f"(?: ?(?:{words.alternatives('equals_sign')}))"
_MAYBE_N = f"{_ADVERBS}(?: {_N})?{_ADVERBS}"
_AND_ANOTHER = rf"(?:(?:,| and| but| against| vs\.?| versus|;)+ {_N2}{_FOR} ?{_THE}{_B})?"
_OF_ALL = f"{_KIND}{_BY_METRIC}{_ALL}"
_WIN = f"(?:{words.alternatives('wins')})"

_COMPARISONS = (
    # eager is 25 % faster than compile; uses 25 % less peak memory than; costs 25 % less than
    f"{_A}(?: stack)? {_VERB}{_MAYBE_N} {_COMPARATIVE}{_BY_METRIC}{_FILLER} {_THAN}{_BY_AMOUNT}",
    # the step time of eager is 25 % lower than that of compile; eager's step time is …
    f"{_M} (?:of|for|on|with|in) {_THE}{_A} {_BE}{_MAYBE_N} {_COMPARATIVE} {_THAN}{_BY_AMOUNT}",
    f"{_A}['’]s? {_M} {_BE}{_MAYBE_N} {_COMPARATIVE} {_THAN}{_BY_AMOUNT}",
    # eager is 25 % faster: than the other one of the comparison that the text is about
    rf"{_A}(?: stack)? {_VERB}{_MAYBE_N} {_COMPARATIVE}{_BY_METRIC}{_BY_AMOUNT}{_STOP}(?![^;:]*\bthan\b)",
)
_SUPERLATIVES = (
    # eager is the fastest stack; eager has the lowest peak memory; the fastest is eager; eager, the fastest stack
    f"{_A}(?: stack)? {_VERB}{_ADVERBS} {_SUPERLATIVE}{_OF_ALL}{_STOP}",
    f"{_SUPERLATIVE}{_OF_ALL}(?: is| was| remains|:) (?:that of |of |with )?{_THE}{_A}{_POSSESSIVE}{_STOP}",
    f"{_A}, (?:by far )?the {_SUPERLATIVE}{_OF_ALL}{_STOP}",
    rf"\bthe {_SUPERLATIVE} (?:stack|option|choice|candidate|one)(?: of all)?, {_THE}{_A},",
)
_VALUES = (
    # the step time of eager is 1.23 s, against 1.4 s for compile
    rf"{_M} (?:of|for|on|with|in|under) {_THE}{_A}(?: stack)?{_IS}{_ADVERBS} {_N}{_NO_MORE}{_AND_ANOTHER}",
    rf"{_A}['’]s? {_M}{_IS}{_ADVERBS} {_N}{_NO_MORE}{_AND_ANOTHER}",
    rf"{_A} {_HAS}{_ADVERBS}(?: (?:mean|average))? {_M}(?: of|:| =) {_N}{_NO_MORE}{_AND_ANOTHER}",
    rf"{_A} {_HAS}{_ADVERBS} {_N}(?: of| in| as)?(?: its)? {_M}",
    rf"{_M}{_IS}?{_ADVERBS} {_N}{_FOR} ?{_THE}{_A}\)?{_AND_ANOTHER}",
)
_OTHERS: tuple[tuple[str, Maker], ...] = (
    (rf"{_A} {_VERB}{_ADVERBS} {_N} as {_EQUAL} as {_THE}{_B}", _times_as),
    # uses half the peak memory of compile; costs twice as much as compile
    (rf"{_A} {_HAS}{_ADVERBS} {_N}(?: of)? the {_M} (?:of|that) {_THE}{_B}", _ratio("named")),
    (rf"{_A} costs?{_ADVERBS} {_N} (?:as much|as) (?:as )?{_THE}{_B}", _ratio("cost")),
    (rf"accepted result of {_A} costs {_N} what one of {_B} costs", _ratio("cost")),
    (rf"ratio {_A} / {_B} {_N}", _ratio("objective")),
    (rf"{_A} {_WIN}(?: over| against)? {_THE}{_B}{_BY_AMOUNT}(?!['’]s )", _won),
    (rf"{_A} (?:wins|won)(?=\s*(?:[.,;:!)(—–]|$|(?:and|but|by|here|because|as)\b))", _won),
    (rf"{_A} and {_THE}{_B} are{_ADVERBS} equivalent\b", _equal),
    (rf"{_A} and {_THE}{_B} are{_ADVERBS} equally {_EQUAL}\b", _equal),
    (rf"{_A} {_BE}{_ADVERBS} equivalent to {_THE}{_B}", _equal),
    (rf"{_A} {_BE}{_ADVERBS} (?:equally|as) {_EQUAL} as {_THE}{_B}", _equal),
    (rf"{_PAIR}(?: comparison)?(?: is| are){_ADVERBS} {_READY}", _decided),
    (rf"comparison (?:of|between) {_PAIR} is{_ADVERBS} (?:{_READY}|ready)\b", _decided),
    (rf"{_C}(?: comparison)? is{_ADVERBS} (?:{_READY}|ready)\b", _decided),
    (rf"{_A} {_VERB} {_N} (?:a|per) step\b", _step_time),
)
_PATTERNS: tuple[tuple[re.Pattern[str], Maker], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), make)
    for pattern, make in (
        *((each, _compare) for each in _COMPARISONS),
        *((each, _superlative) for each in _SUPERLATIVES),
        *((each, _value) for each in _VALUES),
        *_OTHERS,
    )
)
