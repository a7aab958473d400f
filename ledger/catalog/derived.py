"""Metrics of definitions that are newer than a run: computed from what it sealed, and kept in a cache.

Only definitions that read samples and files of the launch are computed here. Those that read traces take long: they
come with the next launch. A row is dropped when an input of it is not the sealed file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger import workspace
from ledger.canonical import digest
from ledger.errors import InputError, StackproofError
from ledger.metrics import derive
from ledger.metrics.registry import Metric, newest
from ledger.metrics.tables import Tables
from ledger.run_folder import RunFolder
from ledger.traces import PATTERN

FORMAT = 1
FOLDER = "derived"

Sealed = set[tuple[str, int]]
"""(metric, version) of what a run's metrics.json holds."""


def place(evidence: Path, traces: Path | None = None) -> Path | None:
    """The cache's folder, beside that of the traces; None in a workspace that has no `.stackproof` yet.

    Looking at evidence makes no folder in somebody's repository: what builds or collects does.
    """
    try:
        local = traces.parent if traces is not None else workspace.find(evidence).local
    except InputError:
        return None
    return local / FOLDER if local.is_dir() else None


def rows(folder: RunFolder, digests: Mapping[str, str], sealed: Sealed, kept: Path | None) -> list[dict[str, Any]]:
    """Rows as metrics.json has them, for the definitions that `sealed` lacks; none for a run of a kind not known."""
    lacking = [each for each in _definitions() if (each.id, each.version) not in sealed]
    if not lacking:
        return []
    wanted = digest([each.definition_id for each in lacking])
    path = kept / f"{folder.run_id}.json" if kept else None
    found = _recall(path, wanted)
    if found is None:
        found = _compute(folder, lacking)
        if path is not None:
            _remember(path, wanted, found)
    return [row for row in found if all(digests.get(name) == value for name, value in row["inputs"].items())]


@cache
def _definitions() -> tuple[Metric, ...]:
    return tuple(each for each in newest() if PATTERN not in each.inputs)


def _compute(folder: RunFolder, lacking: list[Metric]) -> list[dict[str, Any]]:
    tables = Tables(folder.path)
    kind = tables.benchmark.workload.kind if tables.benchmark else None
    chosen = [each for each in lacking if kind in each.kinds]
    try:
        return [asdict(row) for row in derive.derive(folder.path, chosen)]
    except (OSError, KeyError, ValueError, AttributeError, TypeError, pa.ArrowException, StackproofError):
        return []  # samples that make no sense: the definitions of its own time have said so already


def _recall(path: Path | None, wanted: str) -> list[dict[str, Any]] | None:
    if path is None:
        return None
    try:
        data = json.loads(path.read_bytes())
        return list(data["rows"]) if (data["format"], data["definitions"]) == (FORMAT, wanted) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(path: Path, wanted: str, found: list[dict[str, Any]]) -> None:
    """Write the cache's file; one that cannot be written costs time and nothing else."""
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps({"format": FORMAT, "definitions": wanted, "rows": found}))
        aside.replace(path)
