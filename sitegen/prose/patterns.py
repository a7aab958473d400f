"""The patterns of statements in a tagged sentence: regular expressions over tags and the vocabulary.

Groups: `a` and `b` are stacks, `m` a metric, `n` and `n2` amounts, `c` a comparison, `word` and `word2` vocabulary.
"""

from __future__ import annotations

import re

from sitegen.prose import words

A, B = r"⟨S(?P<a>\d+)⟩", r"⟨S(?P<b>\d+)⟩"
M, C = r"⟨M(?P<m>\d+)⟩", r"⟨C(?P<c>\d+)⟩"
M2 = r"⟨M(?P<m2>\d+)⟩"
N, N2 = r"⟨N(?P<n>\d+)⟩", r"⟨N(?P<n2>\d+)⟩"

THE = r"(?:the )?"
ASIDE = r"(?: \([^()]*\))?"
OF = "(?:of|for|on|with|in|under)"
IS, HAS = f"(?:{words.alternatives('is')})", f"(?:{words.alternatives('has')})"
VERB = f"(?:{IS}|{HAS})"
ADVERBS = f"(?: (?:{words.alternatives('adverbs')}))*"
MAYBE_N = f"{ADVERBS}(?: {N})?{ADVERBS}"
SUBJECT = f"{A}(?: stack)?{ASIDE}"


def _one_or_two(group: str, between: str) -> str:
    """A word of a group, and maybe a second one after it."""
    every = words.alternatives(group)
    return f"(?P<word>{every})(?:{between} (?P<word2>{every}))?"


COMPARATIVE = _one_or_two("comparatives", "(?: and|,| but)")
SUPERLATIVE = _one_or_two("superlatives", "(?: and|,)(?: the)?")
EQUAL = rf"(?P<word>{words.alternatives('equals')})"
RATED = rf"(?P<word>{words.alternatives('rates')})"
BY_METRIC = f"(?: (?:(?:in|by|on|at) (?:its |the )?)?{M})?"
WHERE = rf"(?: (?:on|in|of) (?:(?:this|our|the) (?:{words.alternatives('wholes')})s?|(?:the )?(?:benchmark )?⟨B\d+⟩))"
FILLER = rf"(?:{WHERE}| here| overall| on average| a step| per step| per result)?"
POSSESSIVE = "(?:['’]s?)?"
BESIDE = r"(?:compared (?:with|to)|relative to|against|versus|vs\.?)"
THAN_OF = "(?:that of |those of |the one of |with |for |of |in |on |by )?"
THAN = rf"(?:than|{BESIDE}) {THAN_OF}{THE}{B}{POSSESSIVE}"
BY_AMOUNT = f"{ASIDE}(?: (?:in|by|on|for) (?:the )?{M2})?(?:,? by (?:a factor of )?{N2})?"
KIND = f"(?: (?:{words.alternatives('kinds')}))?"
ALL = rf"(?:{WHERE}| of all(?: stacks)?| of them(?: all)?| overall| here| by far)*"
OF_ALL = f"{KIND}{BY_METRIC}{ALL}"
STOP = r"(?=\s*(?:[.,;:!?)\]—–(\n]|$|(?:and|but|while|whereas|so|because|since)\b))"
WIN, LOSE = f"(?:{words.alternatives('wins')})", f"(?:{words.alternatives('loses')})"
PAIR = rf"{A}(?: stack)?,?(?: vs\.?| versus| against| and| or| /) {THE}{B}"
READY = "(?:decided|settled|conclusive|ready to decide(?: on)?|ready for a decision)"
EQUALS = f"(?: ?(?:{words.alternatives('equals_sign')}))"
FOR = rf"(?: {OF}| \()"
AND_ANOTHER = rf"(?:(?:,| and| but| against| vs\.?| versus|;)+ {N2}{FOR} ?{THE}{B})?"
WHOLE_VALUE = (
    rf"(?!,? (?:\w+ )?(?:{words.alternatives('beside')})\b)"
    r"(?! (?:per|each|every|a|an) (?!step\b|accepted\b|result\b))"
)

COMPARISONS = (
    # eager is 25 % faster than compile; uses 25 % less peak memory than; costs 25 % less than
    f"{SUBJECT} {VERB}{MAYBE_N} {COMPARATIVE}{BY_METRIC}{FILLER} {THAN}{BY_AMOUNT}",
    # the step time of eager is 25 % lower than that of compile; eager's step time is …
    f"{M} {OF} {THE}{A}{ASIDE} {IS}{MAYBE_N} {COMPARATIVE} {THAN}{BY_AMOUNT}",
    f"{A}['’]s? {M}{ASIDE} {IS}{MAYBE_N} {COMPARATIVE} {THAN}{BY_AMOUNT}",
    # compared with compile, eager is 25 % faster
    rf"\b{BESIDE} {THE}{B}{ASIDE},? {THE}{SUBJECT} {VERB}{MAYBE_N} {COMPARATIVE}{BY_METRIC}{FILLER}{BY_AMOUNT}{STOP}",
    # eager is 25 % faster: than the other one of the comparison that the text is about
    rf"{SUBJECT} {VERB}{MAYBE_N} {COMPARATIVE}{BY_METRIC}{FILLER}{BY_AMOUNT}{STOP}(?![^;:]*\b(?:than|{BESIDE})\b)",
)
SUPERLATIVES = (
    # eager is the fastest stack; eager has the lowest peak memory; the fastest is eager; eager, the fastest stack
    f"{SUBJECT} {VERB}{ADVERBS} {SUPERLATIVE}{OF_ALL}{STOP}",
    f"{SUPERLATIVE}{OF_ALL}(?: is| was| remains|:) (?:that of |of |with )?{THE}{A}{POSSESSIVE}{STOP}",
    f"{A}, (?:by far )?the {SUPERLATIVE}{OF_ALL}{STOP}",
    rf"\bthe {SUPERLATIVE} (?:stack|option|choice|candidate|one)(?: of all)?, {THE}{A},",
)
VALUES = (
    # the step time of eager is 1.23 s, against 1.4 s for compile
    rf"{M} {OF} {THE}{A}(?: stack)?{EQUALS}{ADVERBS} {N}{WHOLE_VALUE}{AND_ANOTHER}",
    rf"{A}['’]s? {M}{EQUALS}{ADVERBS} {N}{WHOLE_VALUE}{AND_ANOTHER}",
    rf"{A} {HAS}{ADVERBS}(?: (?:mean|average))? {M}(?: of|:| =) {N}{WHOLE_VALUE}{AND_ANOTHER}",
    rf"{A} {HAS}{ADVERBS} {N}(?: of| in| as)?(?: its)? {M}",
    rf"{M}{EQUALS}?{ADVERBS} {N}{FOR} ?{THE}{A}\)?{AND_ANOTHER}",
)
STEP_TIMES = (rf"{A} {VERB} {N} (?:a|per) step\b",)
TIMES_AS = (rf"{SUBJECT} {VERB}{ADVERBS} {N} as {EQUAL} as {THE}{B}",)
RATES = (
    # has 1.4 times the speed of compile, half the cost of compile
    rf"{SUBJECT} {VERB}{ADVERBS}(?: at)? {N}(?: of)? (?:the )?{RATED} of {THE}{B}",
    rf"{SUBJECT} {VERB}{ADVERBS}(?: at)? {N}(?: of)? the {M} (?:of|that) {THE}{B}",
)
COSTS = (
    rf"{SUBJECT} costs?{ADVERBS} {N} (?:as much|as) (?:as )?{THE}{B}",
    rf"accepted result of {A} costs {N} what one of {B} costs",
)
PRINTED = (rf"ratio {A} / {B} {N}",)
WINS = (
    rf"{SUBJECT} {WIN}(?: over| against)? {THE}{B}{BY_AMOUNT}(?!['’]s )",
    rf"{B} {LOSE} {THE}{A}{BY_AMOUNT}(?!['’]s )",
    rf"{SUBJECT} (?:wins|won)(?=\s*(?:[.,;:!)(—–]|$|(?:and|but|by|here|because|as)\b))",
    rf"{SUBJECT} (?:is|was) the (?:clear )?winner{STOP}",
    rf"\bthe (?:clear )?winner(?: is| was|:) {THE}{A}{STOP}",
)
EQUIVALENTS = (
    rf"{A} and {THE}{B} are{ADVERBS} (?:equivalent|on a par|on par)\b",
    rf"{A} and {THE}{B} are{ADVERBS} equally {EQUAL}\b",
    rf"{SUBJECT} {IS}{ADVERBS} (?:equivalent to|on a par with|on par with) {THE}{B}",
    rf"{SUBJECT} {IS}{ADVERBS} (?:equally|as) {EQUAL} as {THE}{B}",
)
DECIDED = (
    rf"{PAIR}(?: comparison)?(?: is| are){ADVERBS} {READY}",
    rf"comparison (?:of|between) {PAIR} is{ADVERBS} (?:{READY}|ready)\b",
    rf"{C}(?: comparison)? is{ADVERBS} (?:{READY}|ready)\b",
)

NARROWS = re.compile(
    r"(?:in|at|for|during|from|to|with|on|under|by|per|over|of|among|between|within|after)\b", re.IGNORECASE
)
"""How a part of a sentence begins that says of what something holds."""
WHOLE = re.compile(rf"⟨[BCM]|\b(?:all|{words.alternatives('wholes')})(?:e?s)?\b", re.IGNORECASE)
"""What it says where it holds of all that was measured."""
PLAIN = re.compile(
    rf"(?:^|[^\w\s⟩]|⟩|\b(?:{words.alternatives('plain_before')}|{words.alternatives('adverbs')}))$", re.IGNORECASE
)
"""What may stand before a stack or a metric that is meant as it is, and not as `tuned eager` or `median step time`."""
