"""Names of kernels without what tells two builds, sizes or devices apart, so that rows of two traces align.

Template arguments, parameters, tilings, addresses, digests and numberings go; what a skeleton kernel is instantiated
with stays behind a colon: `elementwise_kernel: GeluCUDAKernelImpl`. The patterns are `kernel_names.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from ledger.traces.mangled_names import readable

TABLE = Path(__file__).with_name("kernel_names.yaml")

_LONGEST = 8192
"""Characters of a name that are looked at."""
_DEEPEST = 12
"""Wrappers around what a kernel does, beyond which nothing is looked for."""
_OPEN, _CLOSE = frozenset("<({"), frozenset(">)}")


@lru_cache(maxsize=65536)
def folded(name: str) -> str:
    """The name that the same kernel has in another run. Folding twice changes nothing; a name is never empty unless
    it was."""
    name = " ".join(name[:_LONGEST].split())
    table = _table()
    while not table.kept.search(name):
        shorter = _folded_once(name, table) or name
        if shorter == name:
            break
        name = shorter
    return name


@dataclass(frozen=True)
class _Table:
    kept: re.Pattern[str]
    skeletons: re.Pattern[str]
    wrappers: re.Pattern[str]
    plain: re.Pattern[str]
    rewritten: tuple[tuple[re.Pattern[str], str], ...]


@cache
def _table() -> _Table:
    data: dict[str, Any] = yaml.load(
        TABLE.read_text(encoding="utf-8"),
        getattr(yaml, "CSafeLoader", yaml.SafeLoader),  # noqa: S506
    )
    kept, skeletons, wrappers, plain = (
        re.compile("|".join(f"(?:{each})" for each in data[key])) for key in ("kept", "skeletons", "wrappers", "plain")
    )
    rewritten = tuple((re.compile(rule["pattern"]), rule.get("to", "")) for rule in data["rewritten"])
    return _Table(kept, skeletons, wrappers, plain, rewritten)


def _folded_once(name: str, table: _Table) -> str:
    name = readable(name)
    name = _rewritten(name, table)
    name = _instantiated(name, table, 0) or name
    return _rewritten(name, table).strip()


def _rewritten(name: str, table: _Table) -> str:
    for pattern, to in table.rewritten:
        name = pattern.sub(to, name)
    return name


def _instantiated(name: str, table: _Table, depth: int) -> str:
    """A name without its brackets; behind a skeleton what it is instantiated with."""
    base, arguments = _without_brackets(name)
    if arguments:
        base = base.rpartition(" ")[2]  # what stands before is the type that it returns
    word = base.rpartition("::")[2]
    if depth > _DEEPEST or not arguments:
        return base
    if table.skeletons.search(word):
        told = _told(arguments, table, depth)
        return f"{base}: {told}" if told else base
    if table.wrappers.search(word):
        return _told(arguments, table, depth) or base
    return base


def _told(arguments: str, table: _Table, depth: int) -> str:
    """The first template argument that tells something."""
    for argument in _split(arguments):
        if not table.plain.search(argument):
            found = _instantiated(argument, table, depth + 1)
            if not table.plain.search(found):
                return found
    return ""


def _without_brackets(name: str) -> tuple[str, str]:
    """What stands outside all brackets, and what stands inside the first <>. A bracket that nothing closes holds the
    rest; what follows a list of parameters names a function inside, or qualifies it, and goes too."""
    outside, inside, opened = [], "", ""
    depth = start = 0
    for place, character in enumerate(name):
        if character in _OPEN:
            if not depth:
                if character == "(":
                    break
                start = place + 1
                opened = character
            depth += 1
        elif character in _CLOSE:
            depth = max(0, depth - 1)
            if not depth and not inside and opened == "<":
                inside = name[start:place]
        elif not depth:
            outside.append(character)
    else:
        if depth and not inside and opened == "<":
            inside = name[start:]
    return "".join(outside).strip().removesuffix("::"), inside


def _split(arguments: str) -> Iterator[str]:
    """Template arguments at their commas."""
    depth = start = 0
    for place, character in enumerate(arguments):
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == "," and depth <= 0:
            yield arguments[start:place].strip()
            start = place + 1
    yield arguments[start:].strip()
