"""A query's result as text: for people in a terminal, for pipes, for pages and for programs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from ledger.catalog import Result
from ledger.plain_text import markdown, neutral

_NUMBERS = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL\(.*\))")
_CONTROL = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_QUOTED = re.compile('[,"\r\n]')
SIGNIFICANT = 7
"""Digits of a number that people see; CSV and JSON keep them all."""


def as_csv(result: Result) -> str:
    """Comma-separated values with a header; exact numbers, ISO times, NULL as nothing and empty text as `""`."""
    lines = [result.columns, *([_csv_value(value) for value in row] for row in result.rows)]
    return "".join(",".join(map(_csv_field, line)) + "\n" for line in lines)


def as_json(result: Result) -> str:
    """A list of objects; times as ISO text, NULL as null, and so NaN and infinities, which JSON does not have."""
    plain = [{name: _json_value(value) for name, value in row.items()} for row in result.dicts()]
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def as_markdown(result: Result) -> str:
    """A GitHub table; hostile text stays text."""
    right = _right_aligned(result)
    lines = [
        [markdown(name) for name in result.columns],
        ["---:" if each else "---" for each in right],
        *([markdown(cell(value)) for value in row] for row in result.rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_text(result: Result) -> str:
    """Aligned columns, for pipes and files."""
    right = _right_aligned(result)
    lines = [[neutral(name) for name in result.columns], *_cells(result)]
    widths = [max(_width(line[index]) for line in lines) for index in range(len(result.columns))]
    lines.insert(1, ["-" * width for width in widths])
    return "".join(
        "  ".join(_pad(*each) for each in zip(line, widths, right, strict=True)).rstrip() + "\n" for line in lines
    )


def print_table(result: Result) -> None:
    """A table on a terminal; rows that are too wide for it are printed one value a line."""
    from rich.console import Console  # noqa: PLC0415 (rich is slow to import, and other formats do without)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    if _least_width(result) > console.width:
        console.print(Text(as_records(result)), end="", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name, right in zip(result.columns, _right_aligned(result), strict=True):
        table.add_column(Text(neutral(name)), justify="right" if right else "left", overflow="fold")
    for row in _cells(result):
        table.add_row(*map(Text, row))
    console.print(table)


def as_records(result: Result) -> str:
    """One value a line, a blank line between rows."""
    names = [neutral(name) for name in result.columns]
    width = max(map(_width, names), default=0)
    records = [
        "".join(f"{_pad(name, width, False)}  {value}".rstrip() + "\n" for name, value in zip(names, row, strict=True))
        for row in _cells(result)
    ]
    return "\n".join(records)


TEXT: dict[str, Callable[[Result], str]] = {
    "table": as_text,
    "csv": as_csv,
    "json": as_json,
    "markdown": as_markdown,
}
"""{format: how it is written}."""


def cell(value: Any) -> str:
    """One value for people: seven significant digits, NULL as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | Decimal):
        return _number(float(value))
    if isinstance(value, datetime):
        return _iso(value).replace("T", " ").replace(".000000", "")
    if isinstance(value, dict | list | tuple):
        return json.dumps(_json_value(value), ensure_ascii=False)
    return value.hex() if isinstance(value, bytes) else str(value)


def _number(value: float) -> str:
    if not math.isfinite(value) or (value != 0 and not 1e-4 <= abs(value) < 1e15):
        return f"{value:.{SIGNIFICANT}g}"
    if value.is_integer():
        return str(int(value))
    decimals = max(0, SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _cells(result: Result) -> list[list[str]]:
    return [[neutral(cell(value)) for value in row] for row in result.rows]


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if not text or _QUOTED.search(text) else text


def _csv_value(value: Any) -> Any:
    plain = _plain(value, _csv_number)
    if isinstance(plain, bool):
        return cell(plain)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, dict | list) else plain


def _csv_number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _json_value(value: Any) -> Any:
    return _plain(value, lambda number: number if math.isfinite(number) else None)


def _plain(value: Any, number: Callable[[float], Any]) -> Any:
    """A value as plain data: times as ISO text, bytes as hex digits, and what `number` makes of each number."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Decimal):
        return number(float(value))
    if isinstance(value, datetime):
        return _iso(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): _plain(each, number) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, number) for each in value]
    return value.hex() if isinstance(value, bytes) else str(value)


def _iso(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _right_aligned(result: Result) -> list[bool]:
    return [_NUMBERS.fullmatch(each) is not None for each in result.types]


def _least_width(result: Result) -> int:
    """Columns that a readable table needs: names and numbers whole, text in pieces of 20."""
    lines = [[neutral(name) for name in result.columns], *_cells(result)]
    right = _right_aligned(result)
    least = 0
    for index, number in enumerate(right):
        longest = max(_width(line[index]) for line in lines)
        least += longest if number else max(_width(lines[0][index]), min(longest, 20))
    return least + 2 * (len(right) - 1)


def _width(text: str) -> int:
    from rich.cells import cell_len  # noqa: PLC0415 (see print_table)

    return len(text) if text.isascii() else cell_len(text)


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
