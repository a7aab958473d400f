"""Deriving metrics.json from what a run folder holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ledger.canonical import file_digest
from ledger.errors import StackproofError
from ledger.metrics import declared
from ledger.metrics.registry import Metric, Missing, Row, Value, newest
from ledger.metrics.tables import Launch, Tables

FILE = "metrics.json"


def derive(folder: Path, definitions: Sequence[Metric] | None = None, launch: Launch | None = None) -> list[Row]:
    """Every metric's newest definition over `folder`, in the registry's order; an absent value has its reason.

    Definitions for other kinds of work are left out, and the launch's own declared metrics follow. `definitions`
    chooses others, superseded ones too. `launch` says what a folder that is not sealed yet is the launch of.
    """
    tables = Tables(folder, launch)
    digests: dict[str, str] = {}
    rows: list[Row] = []
    for each in [*_fitting(tables), *declared.of_folder(folder)] if definitions is None else definitions:
        inputs = {name: digests.setdefault(name, file_digest(folder / name)) for name in _present(folder, each)}
        rows.extend(_rows(each, tables, inputs))
    return rows


def _fitting(tables: Tables) -> list[Metric]:
    """The newest definitions for the kind of work that was done; all where that is not known."""
    kind = tables.benchmark.workload.kind if tables.benchmark else None
    return [each for each in newest() if kind is None or kind in each.kinds]


def write(folder: Path, rows: list[Row]) -> None:
    """Write metrics.json into a folder that is about to be sealed."""
    text = json.dumps([asdict(row) for row in rows], indent=1, sort_keys=True, allow_nan=False)
    (folder / FILE).write_text(text + "\n")


def _rows(each: Metric, tables: Tables, inputs: dict[str, str]) -> list[Row]:
    result = _compute(each, tables)
    if isinstance(result, Missing):
        return [Row(each.id, each.definition_id, each.version, each.unit, None, result.reason, None, None, inputs)]
    return [
        Row(each.id, each.definition_id, each.version, each.unit, found.value, None, found.rank, found.step, inputs)
        for found in result
    ]


def _compute(each: Metric, tables: Tables) -> list[Value] | Missing:
    """The metric's values; samples that make no sense leave it missing, for they must not cost the run its record."""
    try:
        result = each.compute(tables)
        if isinstance(result, Missing):
            return result
        return [Value(float(result))] if isinstance(result, float | int) else list(result)
    except (ArithmeticError, ValueError, TypeError, StackproofError) as error:
        return Missing(f"cannot be computed from its inputs ({error})")


def _present(folder: Path, each: Metric) -> list[str]:
    """The metric's inputs that are there; a name with a `*` stands for all files that match."""
    found = [path for name in each.inputs for path in sorted(folder.glob(name))]
    return [path.relative_to(folder).as_posix() for path in found if path.is_file()]
