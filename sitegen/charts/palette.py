"""What each part of a step and each kind of work looks like: one colour and one pattern, the same in every figure.

The colours themselves are the style sheet's (`--sp-part-N`, `--sp-kind-NAME`), for they follow light and dark. Patterns
are what tells them apart where colours cannot: in print without colour, and for those who see colours otherwise. Two
kinds have a pattern in common only where one is clearly lighter.
"""

from __future__ import annotations

from ledger.traces.work import KINDS
from sitegen.comparison.accounting import PARTS
from sitegen.comparison.request_accounting import PHASES

PART_PATTERNS = ("", "/", "x", "-", ".", "\\", "+")
"""By the number of a part, as plotly calls them; the last is what no part is named for."""

HOST = len(KINDS)
"""The code of a host operator, where the device's work is shown beside it; the others are those of KINDS."""

NAMES = (*KINDS, "host")
"""Of each code of a kind of work, in the order of a legend; a part of the names in the style sheet."""

_SAME_PART = {"communication": "exposed_communication", "copy": "exposed_copy", "input_wait": "input_wait"}
_PATTERNS = {
    "moe": "o", "norm": "|", "embedding": "+", "optimizer": "\\", "quantization": "o", "other": ".", "host": "..",
}  # fmt: skip


def number_of(part: str) -> int:
    """What picks a part's colour and pattern."""
    for known in (PARTS, PHASES):
        if part in known:
            return known.index(part) + 1
    return len(PARTS) + 1


def title_of(code: int) -> str:
    """A kind of work for people."""
    return "host operator" if code == HOST else NAMES[code].replace("_", " ")


def pattern_of(code: int) -> str:
    """The pattern of a kind of work; empty for a plain colour."""
    name = NAMES[code]
    return PART_PATTERNS[number_of(_SAME_PART[name]) - 1] if name in _SAME_PART else _PATTERNS.get(name, "")
