"""What a launch of a server left behind: requests judged, the server's log, metrics and traces, and its card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from collector.stacks import training_output
from collector.stacks.interface import Observed, Trial
from ledger import answers, parquet
from ledger.workloads.serve import ServeWorkload

SERVER_LOG = "server.log"
METRICS = ("metrics_before.prom", "metrics_after.prom")


def collect(
    workload: ServeWorkload, prompts: dict[str, dict[str, Any]], planned: int, out: Path, run: Path
) -> Observed:
    """Copy and convert; `detail` says what is missing. Half a line of a killed launch is left out."""
    rows = [row for row in map(_row, _lines(out / "requests.jsonl")) if row is not None]
    judged = [_judged(row, workload, prompts) for row in rows]
    if judged:
        judged.sort(key=lambda row: (str(row["phase"]), row["level"] or 0.0, row["request"]))
        parquet.write(run / "samples/requests.parquet", judged, parquet.REQUESTS)
    if (out / SERVER_LOG).is_file():
        shutil.copyfile(out / SERVER_LOG, run / "logs" / SERVER_LOG)
    for name in METRICS:
        if (out / name).is_file():
            shutil.copyfile(out / name, run / "samples" / name)
    absent: dict[str, str] = {}
    if (out / "summary.json").is_file():
        training_output.collect_summary(out, run, absent)
    _traces(out, run)
    detail = None if len(rows) == planned else f"{len(rows)} of {planned} requests ended"
    if judged and all(row["error"] for row in judged):
        detail = f"every request failed, the first with: {judged[0]['error']}"
    return Observed(complete=detail is None, detail=detail, absent=absent, anything=bool(rows))


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.is_file() else []


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
        known = {name: row.get(name) for name in parquet.REQUESTS.names}
        pa.RecordBatch.from_pylist([known], schema=parquet.REQUESTS)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, pa.ArrowException):
        return None
    return known


def _judged(row: dict[str, Any], workload: ServeWorkload, prompts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if row["error"] is not None:
        return {**row, "accepted": False, "why": row["error"]}
    if row["item"] not in prompts:
        return {**row, "accepted": None, "why": "the data set has no such item"}
    accepted, why = answers.accepts(workload.acceptance, prompts[row["item"]], row["text"] or "")
    return {**row, "accepted": accepted, "why": why}


def _traces(out: Path, run: Path) -> None:
    """The profiler's traces, one a rank, in the order of their names."""
    found = sorted((out / "profile").glob("*.json*")) if (out / "profile").is_dir() else []
    for rank, path in enumerate(found):
        ending = ".json.gz" if path.name.endswith(".gz") else ".json"
        (run / "traces").mkdir(exist_ok=True)
        shutil.copyfile(path, run / "traces" / f"rank-{rank}{ending}")


def card(
    trial: Trial, run: Path, digests: dict[str, str], requires: tuple[str, ...], model_name: str
) -> dict[str, Any]:
    """The adapter's part of the workload card."""
    workload, settings = trial.benchmark.work(ServeWorkload), trial.settings
    environment = json.loads((run / "environment.json").read_bytes())
    versions = environment.get("stack_packages") or {}
    name = requires[0] if requires else trial.stack.adapter
    return {
        "workload": {
            "model": {
                "phase": "inference",
                "model_family": model_name,
                "precision": settings["precision"],
                "digest": digests["model"],
            },
            "data": {
                "dataset": workload.dataset.path,
                "dataset_digest": digests["dataset"],
                "items": _items(trial, workload),
            },
            "load": _load(workload),
            "acceptance": {
                "kind": workload.acceptance.kind,
                "field": workload.acceptance.field or "one rule for all",
                "rule": json.dumps(workload.acceptance.model_dump(mode="json", by_alias=True), sort_keys=True),
            },
        },
        "Model-executor": {"framework": {"name": name, "version": versions.get(name, "unknown"), "settings": settings}},
        "metric_source": {"traces": ["json"] if any((run / "traces").glob("*")) else []},
    }


def _items(trial: Trial, workload: ServeWorkload) -> int:
    text = trial.find(workload.dataset.path).read_text(encoding="utf-8")
    return sum(bool(line.strip()) for line in text.splitlines())


def _load(workload: ServeWorkload) -> dict[str, Any]:
    load = workload.load
    kind = "closed loop" if not load.is_open else "replayed" if load.from_log else "open loop"
    return {
        "kind": kind,
        "level": load.level,
        "requests": load.requests,
        "max_output_tokens": load.max_output_tokens,
        "sweep": list(load.sweep),
    }
