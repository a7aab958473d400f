"""Text for a terminal: wrapped paragraphs, tables and commands that are never wider than 80 columns."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Sequence

WIDTH = 80
NARROWEST = 20
"""Below this, text is wider than the terminal."""
INDENT = "  "
NO_BREAK = "\N{NO-BREAK SPACE}"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[mµn]?s|[KMGT]iB|B|nats|min|h)\b|%)")
LEAST_CELL = 10
"""A cell is cut down to this; where a row is too wide still, it is written as text."""


def width() -> int:
    """Columns to write in: COLUMNS, as terminals and people set it, and at most 80."""
    said = os.environ.get("COLUMNS", "")
    return max(NARROWEST, min(WIDTH, int(said))) if said.isdecimal() and int(said) else WIDTH


def heading(text: str) -> list[str]:
    """A section's first line, which is not indented, broken where it is too long."""
    return textwrap.wrap(text, width(), break_on_hyphens=False)


def command_lines(command: str) -> list[str]:
    """A command, which a shell still takes where it had to be broken."""
    lines = textwrap.wrap(
        command, width() - len(INDENT) - 2, break_long_words=False, break_on_hyphens=False, subsequent_indent=INDENT
    )
    return [f"{INDENT}{line} \\" for line in lines[:-1]] + [f"{INDENT}{lines[-1]}"]


def wrapped(text: str, bullet: str = "") -> list[str]:
    """Lines that fit; a word that does not fit into one is broken, a number and its unit stay together."""
    lines = textwrap.wrap(
        _BEFORE_UNIT.sub(NO_BREAK, text),
        width(),
        initial_indent=INDENT + bullet,
        subsequent_indent=INDENT + " " * len(bullet),
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def table(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Columns two blanks apart, cut where a row would not fit; `align` is l or r for each.

    Where columns cannot be cut any further, each row is written as text instead.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * len(widths) > width() and max(widths) > LEAST_CELL:
        widths[widths.index(max(widths))] -= 1
    if sum(widths) + 2 * len(widths) > width():
        return [line for row in rows for line in wrapped(" · ".join(filter(None, map(str.strip, row))), "- ")]
    return [_line(row, widths, align) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    cells = [
        _cut(cell, width).rjust(width) if side == "r" else _cut(cell, width).ljust(width)
        for cell, width, side in zip(row, widths, align, strict=True)
    ]
    return (INDENT + "  ".join(cells)).rstrip()


def _cut(cell: str, width: int) -> str:
    """The cell, its middle left out where it is too long: paths differ at their end."""
    if len(cell) <= width:
        return cell
    head = (width - 1) // 2
    return f"{cell[:head]}…{cell[len(cell) - (width - 1 - head) :]}"
