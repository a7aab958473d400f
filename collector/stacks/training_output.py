"""What a training trial left behind, turned into samples/ and traces/ of its run folder.

The trial may have been killed at any point: half a line, half a trace and missing files are findings, never errors.
"""

from __future__ import annotations

import gzip
import json
import math
import shutil
import zlib
from pathlib import Path
from typing import Any

import msgspec

from collector.stacks.interface import Observed, Trial
from ledger import parquet
from ledger.run import Role
from ledger.workloads.train import TrainWorkload

TRACE = "rank-0.json.gz"
PHASES = frozenset({"warmup", "measured", "profiled"})
WHOLE_NUMBERS = ("step", "start_ns", "duration_ns", "samples", "tokens")


def collect(trial: Trial, out: Path, run: Path) -> Observed:
    """Copy and convert; `detail` names the first thing that is not there or not whole."""
    absent: dict[str, str] = {}
    problems = [
        _collect_steps(trial, out, run, absent),
        _collect_summary(out, run, absent),
        _collect_trace(trial, out, run),
    ]
    found = [problem for problem in problems if problem]
    wrote = any(out.iterdir())
    return Observed(complete=not found, detail="; ".join(found) or None, absent=absent, anything=wrote)


def read_summary(run: Path) -> dict[str, Any]:
    """samples/summary.json of a run folder, or nothing."""
    path = run / "samples/summary.json"
    return dict(json.loads(path.read_bytes())) if path.is_file() else {}


def _collect_steps(trial: Trial, out: Path, run: Path, absent: dict[str, str]) -> str | None:
    path = out / "steps.jsonl"
    lines = path.read_bytes().splitlines() if path.is_file() else []
    rows = [row for row in map(_step, lines) if row is not None]
    if rows:
        parquet.write(run / "samples/steps.parquet", rows, parquet.STEPS)
    bad = sum(row["loss"] is None for row in rows)
    if bad:
        absent["loss"] = f"{bad} of {len(rows)} steps have no finite loss"
    planned = trial.benchmark.work(TrainWorkload).steps
    if len(rows) < len(lines):
        return f"{len(rows)} of {planned} steps are whole, {len(lines) - len(rows)} lines are not"
    return None if len(rows) == planned else f"{len(rows)} of {planned} steps were written"


def _step(line: bytes) -> dict[str, object] | None:
    """One row, or None where the line is not one. A loss that is no finite number is null."""
    try:
        row = json.loads(line)
        whole = {key: row[key] for key in WHOLE_NUMBERS}
        if row["phase"] not in PHASES or any(type(value) is not int or value < 0 for value in whole.values()):
            return None
        return {**whole, "phase": row["phase"], "loss": _finite(row.get("loss"))}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _collect_summary(out: Path, run: Path, absent: dict[str, str]) -> str | None:
    path = out / "summary.json"
    try:
        summary = json.loads(path.read_bytes())
    except FileNotFoundError:
        return "there is no summary.json: the trial ended before its evaluation"
    except (OSError, ValueError, RecursionError):
        return "summary.json is not JSON"
    if not isinstance(summary, dict):
        return "summary.json is not an object"
    kept = {key: value for key, value in summary.items() if not _is_no_number(value)}
    absent.update(dict.fromkeys(summary.keys() - kept.keys(), "it was not a finite number"))
    (run / "samples").mkdir(parents=True, exist_ok=True)
    text = json.dumps(_without_no_numbers(kept), indent=1, sort_keys=True, allow_nan=False)
    (run / "samples/summary.json").write_text(text + "\n")
    return None


def _collect_trace(trial: Trial, out: Path, run: Path) -> str | None:
    path = out / TRACE
    if trial.role is not Role.PROFILED:
        return None
    if not path.is_file():
        return "the profiler wrote no trace"
    (run / "traces").mkdir(parents=True, exist_ok=True)
    # Copied, not moved: a collector that dies here leaves the next one the same output.
    shutil.copyfile(path, run / "traces" / TRACE)
    try:
        with gzip.open(run / "traces" / TRACE) as file:
            msgspec.json.decode(file.read(), type=_Trace)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        return f"the trace is not whole ({error})"
    return None


class _Trace(msgspec.Struct):
    """As much of a trace as shows that it is whole: the parser still reads all of it."""

    traceEvents: list[msgspec.Raw]  # noqa: N815 (the format's own name)


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _is_no_number(value: object) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _without_no_numbers(value: Any) -> Any:
    """The same without NaN, infinity and null at any depth."""
    if isinstance(value, dict):
        return {key: _without_no_numbers(inner) for key, inner in value.items() if not _is_no_number(inner)}
    return [_without_no_numbers(inner) for inner in value] if isinstance(value, list) else value
