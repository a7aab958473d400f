"""Text from evidence made harmless to show: log lines, names and reasons may hold escape sequences or markup."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that a terminal or a browser acts on instead of showing them."""
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def neutral(text: str) -> str:
    """`text` with each control and formatting character spelled out (`\\x1b`, `\\u202e`): one line, safe to print."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spelled(each) if unicodedata.category(each) in _UNSEEN else each for each in text)


def markdown(text: str) -> str:
    """`text` for a Markdown table's cell: shown as it is, never read as markup."""
    return _MARKDOWN.sub(lambda found: "\\" + found[0], neutral(text))


def _spelled(character: str) -> str:
    number = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
