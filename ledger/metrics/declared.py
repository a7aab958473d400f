"""Metrics that a benchmark file declares for itself: what any command measures, read from what it wrote.

A declared metric's definition is named by the digest of what was declared, so that two benchmark files that call
different things by one name are never compared, and an edited declaration is another definition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ledger import extraction
from ledger.canonical import digest
from ledger.metrics.registry import Metric, Missing, Result
from ledger.workloads.command import CommandWorkload, DeclaredMetric, Extract

FILE = "launch/trial.json"
"""Holds a launch's declared metrics under `metrics`, each with the extraction that its stack uses."""


def of_workload(workload: object) -> dict[str, Metric]:
    """{id: metric} that a benchmark's workload declares; none but a command's does."""
    declared = workload.metrics if isinstance(workload, CommandWorkload) else {}
    return {name: _metric(name, each, each.extract) for name, each in declared.items()}


def of_folder(folder: Path) -> list[Metric]:
    """The metrics that a run folder's own launch declares, ready to be computed from it."""
    path = folder / FILE
    return parse(path.read_bytes()) if path.is_file() else []


def parse(trial: bytes) -> list[Metric]:
    """The metrics that a launch's trial.json declares; none where it declares none, or makes no sense."""
    try:
        found = json.loads(trial).get("metrics", {})
        each = {name: DeclaredMetric.model_validate(declared) for name, declared in dict(found).items()}
    except (ValueError, AttributeError, TypeError, RecursionError, ValidationError):
        return []
    return [_metric(name, declared, declared.extract) for name, declared in each.items()]


def written(metrics: Mapping[str, DeclaredMetric], extracts: Mapping[str, Extract]) -> dict[str, Any]:
    """What trial.json holds: each metric with the stack's own extraction, or else the workload's."""
    return {
        name: {**_plain(each), "extract": _plain(extracts.get(name, each.extract))} for name, each in metrics.items()
    }


def _plain(part: DeclaredMetric | Extract | None) -> Any:
    return None if part is None else part.model_dump(mode="json", by_alias=True, exclude_none=True)


def _metric(name: str, declared: DeclaredMetric, wanted: Extract | None) -> Metric:
    meaning = {"unit": declared.unit, "direction": declared.direction, "definition": declared.definition}

    def compute(tables: Any) -> Result:
        if wanted is None:
            return Missing("neither the workload nor the stack says how to read it")
        try:
            return extraction.read(wanted, tables.folder, declared.unit)
        except extraction.NothingFoundError as error:
            return Missing(str(error))

    return Metric(
        id=name,
        version=1,
        title=declared.title or name.replace("_", " ").capitalize(),
        unit=declared.unit,
        direction=declared.direction,
        definition=declared.definition,
        inputs=(extraction.place(wanted.file),) if wanted else (),
        source="declared by the benchmark file",
        kinds=frozenset({"command"}),
        compute=compute,
        scope=digest(meaning)[:8],
    )
