"""A sentence with everything known replaced by tags, so that statements are patterns of a few words.

`compile is 25 % faster than eager` becomes `⟨S0⟩ is ⟨N2⟩ faster than ⟨S1⟩`: S for a stack, M for a metric, N for an
amount, C for a comparison, B for a benchmark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sitegen.prose import amounts, words
from sitegen.prose.amounts import Amount
from sitegen.prose.tables import MetricShown, Tables

_BEFORE, _AFTER = r"(?<![\w./@⟨-])", r"(?![\w/@⟩-]|\.\w)"
_STATISTIC = re.compile(r"(.+) \((.+)\)")
_FACTORS = {
    "twice": "2 times", "thrice": "3 times", "double": "2 times", "half": "0.5 times", "two times": "2 times",
    "three times": "3 times", "four times": "4 times", "five times": "5 times", "ten times": "10 times",
}  # fmt: skip
_FACTOR = re.compile(rf"\b({'|'.join(_FACTORS)})(?= (?:as|the|faster|slower|cheaper)\b)", re.IGNORECASE)


_IN_QUOTES = re.compile(r"[\"“”„«](⟨[^⟩]+⟩)[\"”“»]")


@dataclass(frozen=True)
class Tagged:
    """A sentence with tags, and what they stand for."""

    text: str
    names: tuple[str, ...]
    """By the number of an S, C or B tag: the name."""
    metrics: tuple[tuple[str, ...], ...]
    """By the number of an M tag: the ids that may be meant."""
    amounts: tuple[Amount, ...]

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks that it names, in order."""
        return tuple(self.names[int(found)] for found in re.findall(r"⟨S(\d+)⟩", self.text))


@dataclass(frozen=True)
class Names:
    """Every name that a sentence may hold, ready for search."""

    stacks: dict[str, str]
    """{lower case: as it is declared}."""
    benchmarks: dict[str, str]
    comparisons: dict[str, str]
    """{slug: slug}."""
    metrics: dict[str, tuple[str, ...]]
    pattern: re.Pattern[str]

    def known(self, text: str) -> bool:
        """Whether inline code is a name of these, or a plain amount."""
        lower = text.lower()
        whole = amounts.PATTERN.fullmatch(text)
        return whole is not None or any(
            lower in each for each in (self.stacks, self.benchmarks, self.comparisons, self.metrics)
        )


def names(tables: Tables) -> Names:
    """The names in a workspace's tables."""
    stacks = {name.lower(): name for name in tables.stacks}
    benchmarks = {name.lower(): name for name in tables.benchmarks}
    comparisons = {v.slug.lower(): v.slug for each in tables.benchmarks.values() for v in each.verdicts}
    metrics = _metric_names(tables.metrics)
    every = sorted({*stacks, *benchmarks, *comparisons, *metrics}, key=lambda name: (-len(name), name))
    alternatives = "|".join(re.escape(each).replace(r"\ ", r"\s+") for each in every) or r"(?!)"
    return Names(
        stacks, benchmarks, comparisons, metrics, re.compile(f"{_BEFORE}(?:{alternatives}){_AFTER}", re.IGNORECASE)
    )


def tag(sentence: str, known: Names) -> Tagged:
    """The sentence with tags."""
    text = sentence.replace("⟨", "(").replace("⟩", ")")
    found_names: list[str] = []
    found_metrics: list[tuple[str, ...]] = []
    found_amounts: list[Amount] = []

    def name(found: re.Match[str]) -> str:
        lower = " ".join(found[0].lower().split())
        if _is_adjective(found) or lower not in known.stacks | known.benchmarks | known.comparisons | known.metrics:
            return found[0]
        for letter, table in (("S", known.stacks), ("C", known.comparisons), ("B", known.benchmarks)):
            if lower in table:
                found_names.append(table[lower])
                return f"⟨{letter}{len(found_names) - 1}⟩"
        found_metrics.append(known.metrics[lower])
        return f"⟨M{len(found_metrics) - 1}⟩"

    def number(found: re.Match[str]) -> str:
        found_amounts.append(amounts.amount(found))
        return f"⟨N{len(found_amounts) - 1}⟩"

    text = _IN_QUOTES.sub(r"\1", known.pattern.sub(name, text))
    text = _FACTOR.sub(lambda found: _FACTORS[found[1].lower()], text)
    text = amounts.PATTERN.sub(number, text)
    return Tagged(" ".join(text.split()), tuple(found_names), tuple(found_metrics), tuple(found_amounts))


def _is_adjective(found: re.Match[str]) -> bool:
    """Whether a name is a word between `as` and `as`, or after `equally`: a stack may be called `fast`."""
    before, after = found.string[: found.start()], found.string[found.end() :]
    between = re.search(r"\bas\s+$", before) is not None and re.match(r"\s+as\b", after) is not None
    return between or re.search(r"\bequally\s+$", before) is not None


def _metric_names(metrics: dict[str, MetricShown]) -> dict[str, tuple[str, ...]]:
    """{lower case: the ids that may be meant}: ids, titles, both without their statistic, and common names."""
    found: dict[str, list[str]] = {}
    for metric in metrics.values():
        for name in {each.lower() for each in _own_names(metric)}:
            found.setdefault(name, []).append(metric.id)
    for name, ids in words.metric_names().items():
        shown = [each for each in ids if each in metrics and each not in found.get(name, [])]
        if shown:
            found.setdefault(name, []).extend(shown)
    return {name: tuple(ids) for name, ids in found.items()}


def _own_names(metric: MetricShown) -> list[str]:
    plain = metric.id.replace("_", " ")
    found = [metric.id, plain, metric.title]
    statistic = _STATISTIC.fullmatch(metric.title)
    if statistic is not None:
        family, _, short = metric.id.partition(".")
        for kind in (statistic[2], short):
            found += [f"{kind} {statistic[1]}", f"{kind} {family}", f"{family} {kind}"]
        found += [statistic[1], family]
    return found
