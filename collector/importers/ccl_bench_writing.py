"""Runs written as CCL-Bench's files: the card as it was sealed, and a row of the table for each completed run.

Their `avg_step_time` is written for training alone, where it means what ours does. Every other value stands under its
own name, `stackproof.METRIC`, with its definition in the table's `metric_info`: none is passed off as one of theirs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from collector.importers import ccl_bench_cards as cards
from collector.importers.ccl_bench_cards import Card
from ledger.durable import storage_errors
from ledger.errors import EvidenceError, InputError
from ledger.metrics import registry
from ledger.run_folder import RunFolder
from ledger.yaml_file import parse_yaml

OURS = "stackproof."
"""Before the names of our metrics in their table."""
STEP_TIME = "avg_step_time"
_METADATA = (
    "description", "hf_url", "trace_url", "model_family", "phase", "precision", "moe", "granularity", "epochs",
    "iteration", "batch_size", "seq_len", "input_len", "output_len", "dataset", "hardware_type", "hardware_model",
    "total_count", "count_per_node", "network_topology", "driver_version", "framework", "compiler", "tp", "pp", "pp_mb",
    "dp_replicate", "dp_shard", "ep", "cp", "comm_library", "comm_library_ver", "comm_env", "protocol_selection",
    "trace_types", "metric_traces", "bandwidth_scaleout", "bandwidth_scaleup",
)  # fmt: skip
"""Names of a row's facts; what is not known is `""` there."""


def write(runs: Sequence[RunFolder], target: Path) -> tuple[int, int]:
    """Write the runs below `target`, a new or empty folder: (cards, rows). Raises InputError, StorageError."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError("is there already", where=str(target), todo="name a new folder")
    made = {_name(run): (_card_text(run), _row(run)) for run in runs}
    rows = [row for _, row in made.values() if row is not None]
    with storage_errors(target):
        for name, (text, _) in made.items():
            folder = target / "trace_collection" / name
            folder.mkdir(parents=True)
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        (target / "website").mkdir()
        table = json.dumps(_table(rows), indent=2, ensure_ascii=False, allow_nan=False)
        (target / "website" / "benchmark_data.json").write_text(f"{table}\n", encoding="utf-8")
    return len(made), len(rows)


def _name(run: RunFolder) -> str:
    return f"{run.run.benchmark.name}-{run.run.stack}-{run.run_id}"


def _card_text(run: RunFolder) -> str:
    """The sealed card; of a failed run with the failure as their `runs:` hold it."""
    text = run.bytes("card.yaml").decode()
    if run.run.outcome.state == "completed":
        return text
    reason = run.run.outcome.reason
    trial = {"config": run.run.settings, "metrics": {}, "status": "error", "error_msg": str(reason or "failed")}
    return text.rstrip("\n") + "\n" + yaml.safe_dump({"runs": [trial]}, sort_keys=False, allow_unicode=True)


def _row(run: RunFolder) -> dict[str, Any] | None:
    """A row of their table; None for a failed run, which has none there."""
    if run.run.outcome.state != "completed":
        return None
    card = cards.read(f"{_name(run)}.yaml", parse_yaml(run.bytes("card.yaml").decode(), run.path / "card.yaml").data)
    if not isinstance(card, Card):
        raise EvidenceError(card.what, where=str(run.path))
    metadata = {name: "" if card.facts.get(name) is None else card.facts[name] for name in _METADATA}
    values = {
        each["metric"]: each["value"]
        for each in run.json("metrics.json")
        if each["rank"] is None and each["step"] is None and each["value"] is not None
    }
    metrics: dict[str, float | None] = {f"{OURS}{metric}": value for metric, value in sorted(values.items())}
    if card.facts.get("phase") == "training":
        metrics = {STEP_TIME: values.get("step_time"), **metrics}
    name = _name(run)
    return {"trace": name, "metadata": {"workload_name": name, **metadata}, "metrics": metrics}


def _table(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = sorted({metric for row in rows for metric in row["metrics"]})
    return {
        "all_metrics": names,
        "metric_categories": [{"id": "stackproof", "label": "stackproof", "description": "Definitions of stackproof"}],
        "metric_info": {name: _info(name) for name in names},
        "rows": list(rows),
    }


def _info(name: str) -> dict[str, Any]:
    """How their table describes a metric; `higher_is_better` is left out where neither is."""
    metric = registry.get("step_time" if name == STEP_TIME else name.removeprefix(OURS))
    if metric is None:
        return {"label": name, "description": "declared by the benchmark file", "category": "stackproof"}
    info = {
        "label": f"{metric.title} ({metric.unit})",
        "description": f"{metric.definition} ({metric.definition_id})",
        "unit": metric.unit,
        "category": "stackproof",
    }
    return info if metric.direction == "neither" else {**info, "higher_is_better": metric.direction == "higher"}
