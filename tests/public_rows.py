"""Public rows with known facts, in memory and as imported collections of a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ledger import public
from ledger.public import TOPICS, Collection, Origin, Problem, Quantity, Row, SourceFile
from ledger.shortlist import PublicRow, Published

UNITS = {"step_time": "s", "ttft": "s", "output_token_throughput": "tokens/s", "e2e": "s"}
COLLECTION = "0123456789abcdef"


def quantity(metric: str) -> Quantity:
    unit = UNITS.get(metric.partition("@")[0].partition(".")[0], "1")
    return Quantity(
        metric, unit, metric.partition("@")[0], f"What the source calls {metric}.", "not as here" * ("@" in metric)
    )


def row(row_id: str, values: dict[str, float] | None = None, **changes: Any) -> PublicRow:
    """A training row; `changes` replaces fields."""
    told = {
        metric: Published(metric, quantity(metric).unit, value, None, quantity(metric).definition, None)
        for metric, value in (values or {}).items()
    }
    fields: dict[str, Any] = {
        "collection": COLLECTION,
        "source": "made",
        "title": row_id,
        "state": "completed",
        "kind": "train",
        "model": "tiny-llama",
        **changes,
    }
    return PublicRow(row_id=row_id, values=told, **fields)


def stored(row_id: str, values: dict[str, float] | None = None, **changes: Any) -> Row:
    """The same as a row of a collection; `problems` are (code, what)."""
    problems = tuple(Problem(*each) for each in changes.pop("problems", ()))
    fields: dict[str, Any] = {
        "title": row_id,
        "state": "completed",
        "workload": {"kind": "train", "model": "tiny-llama"},
        "hardware": {"device": "A100", "vendor": "nvidia", "class": "data centre", "count": 4},
        "framework": "pytorch",
        "shows": {"trace": "beside it"},
        "cannot_show": {topic: "the source does not tell" for topic in TOPICS if topic != "trace"},
        **changes,
    }
    return Row(id=row_id, values=values or {}, problems=problems, **fields)


def imported(root: Path, *rows: Row, source: str = "made") -> str:
    """Store the rows as one collection in the workspace `root`; returns its digest."""
    metrics = dict.fromkeys(metric for each in rows for metric in (*each.values, *each.missing))
    origin = Origin((SourceFile("table.json", "a" * 64, 10),), commit="1f00d5e", licence="MIT")
    collection = Collection(source, "Made results", origin, tuple(map(quantity, metrics)), rows)
    public.write(collection, root / public.FOLDER)
    return collection.digest
