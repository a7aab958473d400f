"""Imported public results as rows of the catalog: what others published, apart from own evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger import public
from ledger.catalog.arrow import Row, Tables, to_arrow
from ledger.errors import EvidenceError
from ledger.public import LABEL, TOPICS, Collection

_FACTS = ("kind", "phase", "model", "precision", "dataset", "batch_size_scope")
_COUNTS = (
    "batch_size",
    "sequence_length",
    "input_length",
    "output_length",
    "concurrency",
    "samples_per_step",
    "tokens_per_step",
)


def read(evidence: Path, known: Mapping[str, pa.Schema], problems: list[str]) -> list[Tables]:
    """The rows of every collection in the workspace of `evidence`; `problems` gets a line for each broken file."""
    tables: list[Tables] = []
    folder = public.folder(evidence)
    for path in public.paths(folder):
        name = f"{public.FOLDER}/{path.relative_to(folder).as_posix()}"
        try:
            collection = public.read(path)
            rows = {"shortlist": _rows(collection, path.stem), "shortlist_metrics": _metrics(collection, path.stem)}
            tables.append({table: to_arrow(each, known[table]) for table, each in rows.items()})
        except EvidenceError as error:
            problems.append(f"{name} is left out: {error.what}")
        except (TypeError, ValueError, AttributeError, OverflowError, pa.ArrowException) as error:
            said = (str(error).splitlines() or [""])[0]
            problems.append(f"{name} is left out: a fact is not what it should be ({said})")
    return tables


def _rows(collection: Collection, digest: str) -> list[Row]:
    return [
        {
            "collection": digest,
            "source": collection.source,
            "row_id": row.id,
            "title": row.title,
            "label": LABEL,
            "state": row.state,
            "failure": row.failure,
            **{name: _text(row.workload.get(name)) for name in _FACTS},
            **{name: row.workload.get(name) for name in _COUNTS},
            "parallelism": _json(row.workload.get("parallelism")),
            "vendor": _text(row.hardware.get("vendor")),
            "device": _text(row.hardware.get("device")),
            "device_class": _text(row.hardware.get("class")),
            "devices": row.hardware.get("count"),
            "framework": row.framework,
            "framework_version": _text(row.framework_version),
            "settings": _json(row.settings),
            "workload": _json(row.workload),
            "hardware": _json(row.hardware),
            **{f"shows_{topic}": row.shows.get(topic) for topic in TOPICS},
            "cannot_show": _json(row.cannot_show),
            "problems": _json([{"code": each.code, "what": each.what} for each in row.problems]),
        }
        for row in collection.rows
    ]


def _metrics(collection: Collection, digest: str) -> list[Row]:
    quantities = {each.metric: each for each in collection.quantities}
    return [
        {
            "collection": digest,
            "source": collection.source,
            "row_id": row.id,
            "metric": metric,
            "unit": quantities[metric].unit,
            "value": row.values.get(metric),
            "missing_reason": row.missing.get(metric),
            "source_name": quantities[metric].name,
            "definition": quantities[metric].definition,
            "note": quantities[metric].note,
            "label": LABEL,
        }
        for row in collection.rows
        for metric in quantities
        if metric in row.values or metric in row.missing
    ]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
