"""Whether the sealed metrics are what their definitions give: `verify --recompute` (rule 8)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ledger.errors import EvidenceError
from ledger.finding import Finding
from ledger.metrics import declared, derive
from ledger.metrics.registry import Row, all_metrics
from ledger.run_folder import RunFolder

TOLERANCE = 1e-12
"""Relative. Floating-point sums are added in an order that depends on the processor's vector width, so the last bits of
a mean may differ from one machine to another; a changed sample moves it by far more."""

_Sealed = dict[str, Any]


def recompute(folder: RunFolder, redacted: tuple[str, ...] = ()) -> list[Finding]:
    """Sealed metrics that their own definitions do not give again.

    Each is computed by the version that sealed it, superseded ones too. Rows that rest on a redacted file are left out.
    """
    try:
        return list(_differences(folder, folder.json(derive.FILE), frozenset(redacted)))
    except (EvidenceError, KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        said = error.what if isinstance(error, EvidenceError) else f"{type(error).__name__}: {error}"
        return [_finding(folder, f"its metrics cannot be derived again ({said})")]


def _differences(folder: RunFolder, sealed: list[_Sealed], redacted: frozenset[str]) -> Iterator[Finding]:
    known = {each.definition_id: each for each in [*all_metrics(), *declared.of_folder(folder.path)]}
    used = dict.fromkeys(row["definition"] for row in sealed)
    for definition in used:
        if definition not in known:
            yield _finding(folder, f"{definition} is not a definition that this version knows", "upgrade stackproof")
    fresh: dict[tuple[object, ...], Row] = {
        _key(asdict(row)): row for row in derive.derive(folder.path, [known[each] for each in used if each in known])
    }
    for row in sealed:
        again = fresh.pop(_key(row), None)
        if row["definition"] not in known or redacted & set(row["inputs"]):
            continue
        problem = _difference(row, again)
        if problem:
            yield _finding(folder, f"{_name(row)}: {problem}")
    for unsealed in fresh.values():
        if unsealed.value is not None and not redacted:
            what = f"{_name(asdict(unsealed))}: was not sealed, its definition gives {unsealed.value!r}"
            yield _finding(folder, what)


def _difference(sealed: _Sealed, again: Row | None) -> str | None:
    value = sealed["value"]
    if again is None or again.value is None:
        absent = "no value" if again is None else f"no value ({again.missing_reason})"
        return None if value is None and again is not None else f"sealed {_word(value)}, its definition gives {absent}"
    if value is None or not math.isclose(value, again.value, rel_tol=TOLERANCE, abs_tol=0.0):
        return f"sealed {_word(value)}, its definition gives {again.value!r}"
    if sealed["unit"] != again.unit:
        return f"sealed in {sealed['unit']!r}, its definition is in {again.unit!r}"
    if sealed["inputs"] != again.inputs:
        return "was sealed for other inputs than the run holds"
    return None


def _key(row: _Sealed) -> tuple[object, ...]:
    return row["definition"], row["metric"], row["rank"], row["step"]


def _name(row: _Sealed) -> str:
    where = [f"{word} {row[word]}" for word in ("rank", "step") if row[word] is not None]
    return " ".join([row["definition"], *where])


def _word(value: object) -> str:
    return "no value" if value is None else json.dumps(value)


def _finding(folder: RunFolder, what: str, todo: str = "retract the run, or restore it from git") -> Finding:
    return Finding("recompute", folder.name, derive.FILE, what, todo)
