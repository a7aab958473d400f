"""What a collective is, by the name its library or profiler gives it: the table `collective_names.yaml`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("collective_names.yaml")


@cache
def operation_of(name: str) -> str:
    """The operation that a name means, such as `all_reduce`; `other` where no pattern knows it."""
    return next((operation for operation, pattern in _table()["operations"] if pattern.search(name)), "other")


@cache
def element_bytes(dtype: str) -> int | None:
    """Bytes of one element of a data type; None where it is not known."""
    return next((size for size, pattern in _table()["bytes"] if pattern.search(dtype)), None)


@cache
def _table() -> dict[str, list[tuple[Any, re.Pattern[str]]]]:
    data = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {
        part: [(key, re.compile(pattern, re.IGNORECASE)) for key, pattern in rows.items()]
        for part, rows in data.items()
    }
