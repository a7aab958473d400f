"""What stands beside run folders: plans of batches, and status records about runs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ledger.canonical import SHORT, short_digest
from ledger.catalog.reading import Rows, moment
from ledger.run_folder import BESIDE, DATE

KINDS = frozenset({"superseded", "retracted", "redacted", "excluded"})
PLAN = re.compile(r"plan-(?P<batch>[0-9a-f]{%d})\.json" % SHORT)


@dataclass(frozen=True)
class Records:
    """Rows for one table, and a line for each file that could not be read."""

    rows: Rows
    problems: list[str]
    redacted: dict[str, frozenset[str]] = field(default_factory=dict)
    """Of status records: {run_id: paths that may be absent}."""


def read_plans(evidence: Path) -> Records:
    """Every trial of every plan below `evidence`."""
    records = Records([], [])
    for path in sorted(evidence.glob("*/*/plan-*.json")):
        benchmark, date, name = path.relative_to(evidence).parts
        match = PLAN.fullmatch(name)
        if benchmark in BESIDE or benchmark.startswith(".") or not DATE.fullmatch(date) or match is None:
            continue
        try:
            records.rows.extend(_plan_rows(_json_file(path), match["batch"], benchmark))
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            records.problems.append(_left_out(path, evidence, error))
    return records


def _plan_rows(plan: dict[str, Any], batch: str, benchmark: str) -> Rows:
    if short_digest(plan) != batch:
        raise ValueError("its content does not give the digest in its name")
    if plan["benchmark"]["name"] != benchmark:
        raise ValueError(f"belongs to the benchmark {plan['benchmark']['name']!r}")
    common: dict[str, object] = {
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


def read_status(evidence: Path) -> Records:
    """Every status record below `evidence`."""
    records = Records([], [])
    for path in sorted((evidence / "status").glob("*/*.json")):
        try:
            row, redacted = _status_row(_json_file(path), path.parent.name)
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            records.problems.append(_left_out(path, evidence, error))
            continue
        records.rows.append(row)
        run_id = path.parent.name
        records.redacted[run_id] = records.redacted.get(run_id, frozenset()) | redacted
    return records


def _status_row(record: dict[str, Any], run_id: str) -> tuple[dict[str, object], frozenset[str]]:
    if record["run_id"] != run_id:
        raise ValueError(f"is about another run, {record['run_id']!r}")
    if record["kind"] not in KINDS:
        raise ValueError(f"has the unknown kind {record['kind']!r}")
    paths = sorted(record.get("paths") or {}) if record["kind"] == "redacted" else []
    row: dict[str, object] = {
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
