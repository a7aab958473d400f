"""A page's sentences against the tables: which benchmark a statement is about, and what it contradicts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ledger.plain_text import neutral
from sitegen.comparison.sentence import prediction_text
from sitegen.comparison.verdict import Verdict
from sitegen.prose import grammar, judging, tagging
from sitegen.prose.extraction import OPAQUE, extract, split
from sitegen.prose.generated import unfounded
from sitegen.prose.statements import Decided, Statement, stacks_of
from sitegen.prose.tables import BenchmarkTables, Tables
from sitegen.prose.tagging import Names

LONGEST = 160
"""Characters of a sentence that a finding quotes."""
TODO = "correct the sentence, or write `<!-- stackproof: not checked: WHY -->` before it"
_LINK = re.compile(r"(?:comparisons|benchmarks)/([^/\s)]+?)(?:/([^/\s)]+?))?\.(?:md|html|json)")


@dataclass(frozen=True)
class Contradiction:
    """A sentence that the tables do not bear out, or a mark that exempts nothing."""

    line: int | None
    """Of the page; None for a generated sentence."""
    what: str


def check_page(text: str, known: Tables) -> list[Contradiction]:
    """What a hand-written page says against the tables, in the order of its lines."""
    names = tagging.names(known)
    page = extract(text, names.known)
    found = [
        Contradiction(mark.line, f"{mark.what}; write `<!-- stackproof: not checked: WHY -->`")
        for mark in page.wrong_marks
    ]
    for sentence in page.sentences:
        levels = (sentence.text, sentence.around, sentence.section, page.text)
        found += [Contradiction(sentence.line, each) for each in _sentence(sentence.text, levels, names, known)]
    return sorted(found, key=lambda each: each.line or 0)


def check_verdict(verdict: Verdict, known: Tables) -> list[Contradiction]:
    """What the sentences that rules made of a comparison say against the tables, and numbers that are not in it."""
    names = tagging.names(known)
    place = f"comparisons/{verdict.benchmark}/{verdict.slug}.md"
    texts = [verdict.sentence, *(claim.text for claim in verdict.claims if not claim.withdrawn)]
    texts += [note.text for note in (*verdict.readiness.reasons, *verdict.downgrades)]
    texts += map(prediction_text, verdict.predictions)
    found = [
        Contradiction(None, each)
        for text in texts
        for _, sentence in split(text)
        for each in _sentence(sentence, (sentence, place), names, known)
    ]
    return found + [Contradiction(None, each) for each in unfounded(verdict)]


def _sentence(text: str, levels: tuple[str, ...], names: Names, known: Tables) -> Iterator[str]:
    """What is wrong with one sentence, in one line."""
    found = [_contradiction(each.statement, levels, known) for each in grammar.read(tagging.tag(text, names))]
    wrong = list(dict.fromkeys(each for each in found if each is not None))
    if wrong:
        yield f"says “{_quoted(text)}”, but {neutral('; '.join(wrong))}; {TODO}"


def _contradiction(statement: Statement, levels: tuple[str, ...], known: Tables) -> str | None:
    """What every benchmark that may be meant says instead."""
    meant = _meant(statement, levels, known)
    found = [judging.contradiction(statement, each, _about(statement, levels, each)) for each in meant]
    return found[0] if found and all(each is not None for each in found) else None


def _meant(statement: Statement, levels: tuple[str, ...], known: Tables) -> list[BenchmarkTables]:
    """The benchmarks that have all its stacks: those that the text names nearest to it, or else all of them."""
    stacks = set(stacks_of(statement))
    slug = statement.slug if isinstance(statement, Decided) else None
    able = [each for each in known.benchmarks.values() if stacks <= set(each.stacks) and _has(each, slug)]
    for level in levels if len(able) > 1 else ():
        named = [each for each in able if _names(each.name, level)]
        if named:
            return named
    return able


def _has(benchmark: BenchmarkTables, slug: str | None) -> bool:
    return slug is None or any(each.slug == slug for each in benchmark.verdicts)


def _about(statement: Statement, levels: tuple[str, ...], benchmark: BenchmarkTables) -> tuple[Verdict, ...]:
    """The comparisons of its first stack that the text nearest to it links, names, or names both stacks of."""
    first = next(iter(stacks_of(statement)), None)
    own = [each for each in benchmark.verdicts if first in {each.baseline, each.candidate}]
    for level in levels:
        linked = [
            each for each in own if (benchmark.name, each.slug) in _LINK.findall(level) or _names(each.slug, level)
        ]
        both = [each for each in own if _names(each.baseline, level) and _names(each.candidate, level)]
        if linked or both:
            return tuple(linked or both)
    return ()


def _names(name: str, text: str) -> bool:
    """Whether a text names something as a word of its own, or links to its page."""
    if any(name in found for found in _LINK.findall(text)):
        return True
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", text, re.IGNORECASE) is not None


def _quoted(text: str) -> str:
    plain = neutral(" ".join(re.sub(f"{OPAQUE}+", "…", text).split()))
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"
