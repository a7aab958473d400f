"""Families and sizes of models by the names that people give them, where a name tells them."""

from __future__ import annotations

import re

ALIKE = 2.0
"""Sizes within this factor of each other count as the same size."""

_MAKERS = frozenset({"meta", "hf", "the", "unsloth"})
_WORDS = re.compile(r"[a-z]+")
_SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)([kmbt])(?![a-z0-9])")
_SCALE = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


def family(name: str | None) -> str | None:
    """The first word of a model's name that is no maker's: `meta-llama/Llama-3.1-8B` is a `llama`."""
    words = _WORDS.findall(_last(name))
    found = [word for word in words if word not in _MAKERS]
    return found[0] if found else None


def size(name: str | None) -> float | None:
    """Parameters, as the name tells them: `8B` is 8e9, `8x7B` 56e9, `135M` 135e6; None where it does not."""
    match = _SIZE.search(_last(name).replace("_", "-"))
    return None if match is None else int(match[1] or 1) * float(match[2]) * _SCALE[match[3]]


def same_size(one: float, other: float) -> bool:
    """Whether two sizes are within a factor of `ALIKE`."""
    return min(one, other) > 0 and max(one, other) / min(one, other) <= ALIKE


def _last(name: str | None) -> str:
    """The last part of a path or an address, in lower case."""
    return str(name or "").rstrip("/").rpartition("/")[2].lower()
