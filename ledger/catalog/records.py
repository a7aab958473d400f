"""What stands beside run folders: plans of batches, and status records about runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger import status
from ledger.canonical import short_digest
from ledger.catalog.arrow import Row, Tables, to_arrow
from ledger.catalog.reading import moment
from ledger.errors import EvidenceError
from ledger.run_folder import BESIDE, DATE

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
            tables.append(
                {"plans": to_arrow(_plan_rows(json.loads(_plain_bytes(path)), match["batch"], benchmark), schema)}
            )
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
            "tuned_stack": (trial.get("tuned") or {}).get("stack"),
            "space": (trial.get("search") or {}).get("space"),
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
    for path in status.paths(evidence):
        try:
            record = status.parse(_plain_bytes(path), path.parent.name, path.name, path.name)
            tables.append({"status": to_arrow([_status_row(record)], schema)})
        except (*BROKEN, EvidenceError) as error:
            problems.append(_left_out(path, evidence, error))
        else:
            paths = frozenset(name for name, _ in record.paths)
            redacted[record.run_id] = redacted.get(record.run_id, frozenset()) | paths
    return tables, redacted


def _status_row(record: status.StatusRecord) -> Row:
    return {
        "run_id": record.run_id,
        "kind": record.kind.value,
        "at": moment(record.at),
        "who": record.who,
        "why": record.why,
        "by_run": record.by,
        "paths": json.dumps([name for name, _ in record.paths]) if record.paths else None,
    }


def _plain_bytes(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise ValueError("is not a plain file")
    return path.read_bytes()


def _left_out(path: Path, evidence: Path, error: Exception) -> str:
    if isinstance(error, EvidenceError):
        said = error.what
    elif isinstance(error, ValueError) and error.args:
        said = str(error.args[0])
    else:
        said = f"{type(error).__name__}: {error}"
    return f"{path.relative_to(evidence).as_posix()} is left out: {said}; see `stackproof verify`"
