"""A small, redacted sample of logged prompts: enough to see what kind they are of, and nobody's data."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

from ledger.secrets import Redactor
from ledger.yaml_file import read_yaml

MOST_READ = 20_000
"""Characters of one prompt that are looked at."""


class Sample:
    """Every prompt offered has the same chance to be kept; the same log gives the same sample."""

    def __init__(self, size: int, longest: int, redactor: Redactor) -> None:
        self._size = size
        self._longest = longest
        self._redactor = redactor
        self._random = random.Random(0)  # noqa: S311 (a sample, not a secret)
        self._offered = 0
        self._kept: list[str] = []

    def offer(self, text: str) -> None:
        """Perhaps keep a prompt."""
        self._offered += 1
        if len(self._kept) < self._size:
            self._kept.append(text[:MOST_READ])
        elif self._size and (place := self._random.randrange(self._offered)) < self._size:
            self._kept[place] = text[:MOST_READ]

    def texts(self) -> tuple[str, ...]:
        """The sample, redacted, then cut: a cut may not hide the half of a secret."""
        return tuple(self._cut(self._redacted(each)) for each in self._kept)

    def _redacted(self, text: str) -> str:
        clean, _ = self._redactor.text(text)
        for name, pattern in _personal():
            clean = pattern.sub(f"[redacted:{name}]", clean)
        return clean

    def _cut(self, text: str) -> str:
        return text if len(text) <= self._longest else f"{text[: self._longest].rstrip()} …"


@cache
def _personal() -> list[tuple[str, re.Pattern[str]]]:
    data = read_yaml(Path(__file__).with_name("personal_data.yaml")).data
    return [(name, re.compile(pattern)) for name, pattern in data.items()]
