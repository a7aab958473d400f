"""Small files of /proc and /sys, which may not be there."""

from __future__ import annotations

from pathlib import Path


def line(path: Path) -> str | None:
    """What a file of one line says; None where it is not there, cannot be read or is empty."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def number(path: Path) -> int | None:
    """A file of one decimal number."""
    text = line(path)
    return int(text) if text is not None and text.removeprefix("-").isdigit() else None


def pairs(path: Path, separator: str) -> dict[str, str]:
    """`key<separator>value` lines; the first of a key counts."""
    found: dict[str, str] = {}
    for each in (line(path) or "").splitlines():
        key, sign, value = each.partition(separator)
        if sign:
            found.setdefault(key.strip(), value.strip().strip('"'))
    return found


def listed(text: str) -> list[int]:
    """The numbers of a list as the kernel writes it: `0-2,8` is 0, 1, 2 and 8."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
