"""The vocabulary of statements: the table `words.yaml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("words.yaml")


@dataclass(frozen=True)
class Meaning:
    """What a comparative or a superlative says of a stack."""

    of: str
    """`speed`, `time`, `cost`, `quality`, `objective`, or `named` for a metric that the sentence names."""
    says: str
    """`better`, `worse`, `more` or `less`."""


@cache
def meanings(group: str) -> dict[str, Meaning]:
    """{word: meaning} of `comparatives`, `superlatives` or `equals`."""
    return {word: Meaning(row["of"], row["says"]) for word, row in _table()[group].items()}


@cache
def listed(group: str) -> tuple[str, ...]:
    """A plain list: `wins`, `quality` or `set_aside`."""
    return tuple(_table()[group])


@cache
def metric_names() -> dict[str, tuple[str, ...]]:
    """{what people call it: the ids that may be meant}."""
    return {name: tuple(ids) for name, ids in _table()["metrics"].items()}


@cache
def pattern(group: str) -> re.Pattern[str]:
    """Any of the expressions of `unsure` or `negations`."""
    return re.compile("|".join(f"(?:{each})" for each in _table()[group]), re.IGNORECASE)


@cache
def alternatives(group: str) -> str:
    """The words of a group as one expression, longer ones first."""
    words = _table()[group]
    return "|".join(re.escape(each) for each in sorted(words, key=len, reverse=True))


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return found
