"""Adds stacks to a benchmark file as people wrote it: one insertion of text, every other byte stays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from ledger import benchmark as benchmark_file
from ledger.benchmark import BenchmarkFile
from ledger.errors import InputError

_PUBLIC = re.compile(r"^[ \t]*(?:#[ \t]*)?public:[ \t]*(?P<value>\S.*?)[ \t]*$", re.MULTILINE)
STACKS = "stacks"


@dataclass(frozen=True)
class Place:
    """Where a further stack goes."""

    offset: int
    """Characters before it."""
    indent: str
    """Of a stack's name."""
    step: str
    """What a stack's own keys are indented by beyond that."""


def rows_there(text: str) -> set[str]:
    """The public rows that a file names already, in its comments too."""
    found = set()
    for match in _PUBLIC.finditer(text):
        try:
            found.add(str(yaml.safe_load(match["value"])))
        except yaml.YAMLError:
            continue
    return found


def place(file: BenchmarkFile) -> Place:
    """The end of the file's stacks. Raises InputError where they are written in braces."""
    text = file.source.text
    root: Any = yaml.compose(text, yaml.SafeLoader)
    stacks = next(value for key, value in root.value if key.value == STACKS)
    if stacks.flow_style or root.flow_style:
        where = file.source.where((STACKS,))
        raise InputError("stacks: is written in braces, so that no line can be added", where=where, todo=_BLOCK)
    first, body = stacks.value[0]
    indent = " " * first.start_mark.column
    inner = body.value[0][0].start_mark.column if isinstance(body, yaml.MappingNode) and not body.flow_style else 0
    # An alias, or a body in braces, tells no indentation of its own.
    step = " " * (inner - len(indent)) if inner > len(indent) else indent or "  "
    return Place(_end(text, stacks, len(indent)), indent, step)


_BLOCK = "write each stack on lines of its own, as `stackproof init` does"


def _end(text: str, stacks: yaml.Node, column: int) -> int:
    """Where the line after the stacks' last one starts; comments that are indented as stacks are belong to them."""
    # A block's end is marked at what follows it: blank lines and further comments before that are walked back over.
    lines = text[: stacks.end_mark.index].splitlines(keepends=True)
    while lines and _is_beyond(lines[-1], column):
        lines.pop()
    return sum(map(len, lines))


def _is_beyond(line: str, column: int) -> bool:
    bare = line.strip()
    return not bare or (bare.startswith("#") and len(line) - len(line.lstrip()) < column)


def inserted(file: BenchmarkFile, stacks: list[str], where: Place) -> str:
    """The file's text with the texts of `stacks` added, checked: all that was there is there, and means the same.

    Raises InputError where it would not be.
    """
    text = file.source.text
    end = "\r\n" if "\r\n" in text else "\n"
    before, after = text[: where.offset], text[where.offset :]
    if before and not before.endswith(("\n", "\r")):
        before += end
    added = "".join(f"{line}{end}" for stack in stacks for line in stack.split("\n"))
    result = before + added + after
    again = benchmark_file.parse(result, file.source.path)
    old, new = file.source.data, again.source.data
    kept = {name: new[STACKS].get(name) for name in old[STACKS]}
    if {**new, STACKS: kept} != old or list(new) != list(old):
        todo = "add the stacks that --dry-run prints by hand"
        raise InputError("cannot be added to without a change of what it says", where=str(file.source.path), todo=todo)
    return result
