"""Text of others as parts of a YAML file: comments of one line, and scalars that mean only themselves."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from ledger.plain_text import neutral

WIDTH = 118
LONGEST = 160
"""Characters of one published value in a comment."""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_AS_IT_IS = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that JSON leaves as they are and YAML takes for line ends, or not at all."""
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def one_line(value: Any) -> str:
    """A published value as a line of harmless text, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    line = neutral(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def comment(text: str, indent: str) -> list[str]:
    """`text` as comment lines."""
    width = max(40, WIDTH - len(indent))
    lines = textwrap.wrap(one_spaced(text), width, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}# {line}" for line in lines]


def one_spaced(text: str) -> str:
    """Words of harmless text with one space between them."""
    return neutral(" ".join(text.split()))


def scalar(value: Any) -> str:
    """A value in YAML's flow style, as JSON where it is not plainly a word."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {scalar(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(scalar, value)) + "]"
    return _NOT_AS_IT_IS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def block(key: str, values: dict[str, Any], indent: str, step: str) -> list[str]:
    """A mapping as lines of YAML's block style."""
    if not values:
        return [f"{indent}{key}: {{}}"]
    lines = [f"{indent}{key}:"]
    for name, value in values.items():
        if isinstance(value, dict):
            lines += block(name, value, indent + step, step)
        else:
            lines.append(f"{indent}{step}{scalar(name)}: {scalar(value)}")
    return lines
