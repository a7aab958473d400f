"""Reading a number out of what a command wrote: a path into JSON, a regular expression over text, a CSV column.

The file itself is the evidence; the number is derived from it, again whenever somebody asks.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ledger import quantity
from ledger.workloads.command import Extract

MOST_BYTES = 64 * 2**20
"""Of a file that is read whole."""
NUMBER = re.compile(r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
LOGS = frozenset({"stdout.log", "stderr.log"})
OUTPUT = "samples/output"
"""Where a run folder keeps the files that metrics are read from."""

REDUCTIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "mean": statistics.fmean,
    "harmonic_mean": statistics.harmonic_mean,
    "median": statistics.median,
    "min": min,
    "max": max,
    "sum": math.fsum,
}


class NothingFoundError(ValueError):
    """A file that does not hold the number that was to be read from it."""


def place(file: str) -> str:
    """Where a run folder keeps an extraction's `file`."""
    return f"logs/{file}" if file in LOGS else f"{OUTPUT}/{file}"


def read(wanted: Extract, folder: Path, unit: str) -> float:
    """The number, in the metric's `unit`, from the run folder `folder`. Raises NothingFoundError."""
    path = folder / place(wanted.file)
    if not path.is_file():
        raise NothingFoundError(f"the command wrote no {wanted.file}")
    if path.stat().st_size > MOST_BYTES:
        raise NothingFoundError(f"{wanted.file} is larger than {MOST_BYTES >> 20} MiB")
    text = path.read_bytes().decode(errors="replace")
    found = [value * _factor(wanted.unit, unit) for value in _numbers(wanted, text)]
    if not found:
        raise NothingFoundError(f"{wanted.file} holds no {_sought(wanted)}")
    value = REDUCTIONS[wanted.reduce](found)
    if not math.isfinite(value):
        raise NothingFoundError(f"{_sought(wanted)} in {wanted.file} is no finite number")
    return value


def _factor(written: str | None, unit: str) -> float:
    return 1.0 if written is None else quantity.factor(written, unit)


def _sought(wanted: Extract) -> str:
    if wanted.json_ is not None:
        return f"number at {wanted.json_}"
    return f"column {wanted.column!r}" if wanted.column is not None else f"match of {wanted.regex!r}"


def _numbers(wanted: Extract, text: str) -> list[float]:
    if wanted.json_ is not None:
        return list(_from_json(wanted, text))
    if wanted.column is not None:
        return list(_from_column(wanted, text))
    assert wanted.regex is not None  # noqa: S101 (Extract has exactly one of the three)
    return [value for found in re.findall(wanted.regex, text, re.MULTILINE) if (value := _number(found)) is not None]


def _from_json(wanted: Extract, text: str) -> Iterator[float]:
    """Numbers at a path; `*` stands for every entry. A file of JSON lines is a list of its lines."""
    assert wanted.json_ is not None  # noqa: S101 (the caller asked for JSON)
    for value in _at(_parse(wanted.file, text), wanted.json_.split(".")):
        number = _number(value)
        if number is not None:
            yield number


def _parse(file: str, text: str) -> Any:
    try:
        if file.endswith((".jsonl", ".ndjson")):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NothingFoundError(f"{file} is not JSON ({error})") from None


def _at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    if not path:
        yield value
        return
    key, rest = path[0], path[1:]
    if key == "*" and isinstance(value, list | dict):
        for each in value if isinstance(value, list) else value.values():
            yield from _at(each, rest)
    elif isinstance(value, dict) and key in value:
        yield from _at(value[key], rest)
    elif isinstance(value, list) and re.fullmatch(r"-?\d+", key) and -len(value) <= int(key) < len(value):
        yield from _at(value[int(key)], rest)


def _from_column(wanted: Extract, text: str) -> Iterator[float]:
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
    try:
        if wanted.column not in (reader.fieldnames or []):
            raise NothingFoundError(f"{wanted.file} has no column {wanted.column!r}")
        for row in reader:
            number = _number(row[wanted.column])
            if number is not None:
                yield number
    except csv.Error as error:
        raise NothingFoundError(f"{wanted.file} is not CSV ({error})") from None


def _number(value: Any) -> float | None:
    """A finite number, or text that begins with one (`94.645 ms`, `1,024`); None for all else."""
    if isinstance(value, str):
        match = NUMBER.match(value.strip())
        value = float(match[0].replace(",", "")) if match else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)
