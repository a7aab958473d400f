"""What stands beside run folders: plans of batches, and status records about runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger.canonical import short_digest
from ledger.catalog.arrow import Row, Tables, to_arrow
from ledger.catalog.reading import moment
from ledger.run_folder import BESIDE, DATE

KINDS = frozenset({"superseded", "retracted", "redacted", "excluded"})
PLAN = re.compile(r"plan-(?P<batch>[0-9a-f]{16})\.json")
BROKEN = (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError, pa.ArrowException)


def read_plans(evidence: Path, schema: pa.Schema, problems: list[str]) -> list[Tables]:
    """Every trial of every plan below `evidence`; what is broken is left out, with a line in `problems`."""
    tables: list[Tables] = []
    for path in sorted(evidence.glob("*/*/plan-*.json")):
        benchmark, date, name = path.relative_to(evidence).parts
        match = PLAN.fullmatch(name)
        if benchmark in BESIDE or benchmark.startswith(".") or not DATE.fullmatch(date) or match is None:
            continue
        try:
            tables.append({"plans": to_arrow(_plan_rows(_json_file(path), match["batch"], benchmark), schema)})
        except BROKEN as error:
            problems.append(_left_out(path, evidence, error))
    return tables


def _plan_rows(plan: dict[str, Any], batch: str, benchmark: str) -> list[Row]:
    if short_digest(plan) != batch:
        raise ValueError("its content does not give the digest in its name")
    if plan["benchmark"]["name"] != benchmark:
        raise ValueError(f"belongs to the benchmark {plan['benchmark']['name']!r}")
    common: Row = {
        "batch": batch,
        "benchmark": benchmark,
        "created_at": moment(plan["created_at"]),
        "workload_digest": plan["workload_digest"],
        "profile": plan["benchmark"].get("profile"),
    }
    kept = ("trial_key", "stack", "role", "repeat")
    return [
        {
            **common,
            "state": state,
            **{name: trial[name] for name in kept},
            **{name: trial.get(name) for name in ("launch_order", "reason", "install")},
        }
        for state in ("planned", "excluded", "settled")
        for trial in plan[state]
    ]


def read_status(
    evidence: Path, schema: pa.Schema, problems: list[str]
) -> tuple[list[Tables], dict[str, frozenset[str]]]:
    """Every status record below `evidence`, and {run_id: redacted paths, which may be absent}."""
    tables: list[Tables] = []
    redacted: dict[str, frozenset[str]] = {}
    for path in sorted((evidence / "status").glob("*/*.json")):
        run_id = path.parent.name
        try:
            row, paths = _status_row(_json_file(path), run_id)
            tables.append({"status": to_arrow([row], schema)})
        except BROKEN as error:
            problems.append(_left_out(path, evidence, error))
        else:
            redacted[run_id] = redacted.get(run_id, frozenset()) | paths
    return tables, redacted


def _status_row(record: dict[str, Any], run_id: str) -> tuple[Row, frozenset[str]]:
    if record["run_id"] != run_id:
        raise ValueError(f"is about another run, {record['run_id']!r}")
    if record["kind"] not in KINDS:
        raise ValueError(f"has the unknown kind {record['kind']!r}")
    paths = sorted(record.get("paths") or {}) if record["kind"] == "redacted" else []
    row: Row = {
        "run_id": run_id,
        "kind": record["kind"],
        "at": moment(record["at"]),
        "who": record["who"],
        "why": record["why"],
        "by_run": record.get("by"),
        "paths": json.dumps(paths) if paths else None,
    }
    return row, frozenset(paths)


def _json_file(path: Path) -> Any:
    if path.is_symlink() or not path.is_file():
        raise ValueError("is not a plain file")
    return json.loads(path.read_bytes())


def _left_out(path: Path, evidence: Path, error: Exception) -> str:
    said = str(error.args[0]) if isinstance(error, ValueError) and error.args else f"{type(error).__name__}: {error}"
    return f"{path.relative_to(evidence).as_posix()} is left out: {said}; see `stackproof verify`"
