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

from collector.stacks import training_ranks
from collector.stacks.interface import Observed, Trial
from ledger import parquet
from ledger.run import Role
from ledger.workloads.train import TrainWorkload

PHASES = frozenset({"warmup", "measured", "profiled"})
RANK_NUMBERS = ("step", "start_ns", "duration_ns")
WHOLE_NUMBERS = (*RANK_NUMBERS, "samples", "tokens")


def collect(trial: Trial, out: Path, run: Path, ranks: int | None = None) -> Observed:
    """Copy and convert; `detail` names the first thing that is not there or not whole.

    `ranks` is None for a single process, which writes steps.jsonl; else each rank has a file of its own.
    """
    absent: dict[str, str] = {}
    problems = [
        _collect_steps(trial, out, run, absent) if ranks is None else _collect_ranks(trial, out, run, absent, ranks),
        collect_summary(out, run, absent),
        *(_collect_trace(trial, out, run, rank) for rank in range(ranks or 1)),
    ]
    found = [problem for problem in problems if problem]
    wrote = any(each.name != training_ranks.LOGS for each in out.iterdir())
    return Observed(complete=not found, detail="; ".join(found) or None, absent=absent, anything=wrote)


def read_summary(run: Path) -> dict[str, Any]:
    """samples/summary.json of a run folder, or nothing."""
    path = run / "samples/summary.json"
    return dict(json.loads(path.read_bytes())) if path.is_file() else {}


def _collect_steps(trial: Trial, out: Path, run: Path, absent: dict[str, str]) -> str | None:
    rows, lines = _read_rows(out / "steps.jsonl", WHOLE_NUMBERS)
    _write_steps(rows, run, absent)
    planned = trial.benchmark.work(TrainWorkload).steps
    if len(rows) < lines:
        return f"{len(rows)} of {planned} steps are whole, {lines - len(rows)} lines are not"
    return None if len(rows) == planned else f"{len(rows)} of {planned} steps were written"


def _collect_ranks(trial: Trial, out: Path, run: Path, absent: dict[str, str], ranks: int) -> str | None:
    workload = trial.benchmark.work(TrainWorkload)
    read = [_read_rows(out / f"steps-rank-{rank}.jsonl", RANK_NUMBERS) for rank in range(ranks)]
    by_rank = [rows for rows, _ in read]
    tokens = workload.global_batch_size * workload.sequence_length
    work = {"samples": workload.global_batch_size, "tokens": tokens}
    rows = [{**row, **work} for row in training_ranks.together(by_rank)]
    _write_steps(rows, run, absent)
    if rows:
        parquet.write(run / "samples/ranks.parquet", training_ranks.rows(by_rank), training_ranks.SCHEMA)
    broken = sum(lines - len(found) for found, lines in read)
    if broken:
        return f"{len(rows)} of {workload.steps} steps are whole on all {ranks} ranks, {broken} lines are not"
    done = len(rows) == workload.steps
    return None if done else f"{len(rows)} of {workload.steps} steps were written by all {ranks} ranks"


def _write_steps(rows: list[dict[str, Any]], run: Path, absent: dict[str, str]) -> None:
    if rows:
        parquet.write(run / "samples/steps.parquet", rows, parquet.STEPS)
    bad = sum(row["loss"] is None for row in rows)
    if bad:
        absent["loss"] = f"{bad} of {len(rows)} steps have no finite loss"


def _read_rows(path: Path, numbers: tuple[str, ...]) -> tuple[list[dict[str, Any]], int]:
    """The whole rows of a file, and how many lines it has."""
    lines = path.read_bytes().splitlines() if path.is_file() else []
    return [row for row in (_step(line, numbers) for line in lines) if row is not None], len(lines)


def _step(line: bytes, numbers: tuple[str, ...]) -> dict[str, Any] | None:
    """One row, or None where the line is not one. A loss that is no finite number is null."""
    try:
        row = json.loads(line)
        whole = {key: row[key] for key in numbers}
        if row["phase"] not in PHASES or any(type(value) is not int or value < 0 for value in whole.values()):
            return None
        return {**whole, "phase": row["phase"], "loss": _finite(row.get("loss"))}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def collect_summary(out: Path, run: Path, absent: dict[str, str]) -> str | None:
    """Keep the finite values of summary.json; what is wrong with it, in a few words."""
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
    write_json(run / "samples/summary.json", kept)
    return None


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write plain data, without what JSON has no number for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_without_no_numbers(value), indent=1, sort_keys=True, allow_nan=False) + "\n")


def _collect_trace(trial: Trial, out: Path, run: Path, rank: int) -> str | None:
    name = f"rank-{rank}.json.gz"
    if trial.role is not Role.PROFILED:
        return None
    which = f" of rank {rank}" if rank else ""
    if not (out / name).is_file():
        return f"the profiler wrote no trace{which}"
    (run / "traces").mkdir(parents=True, exist_ok=True)
    # Copied, not moved: a collector that dies here leaves the next one the same output.
    shutil.copyfile(out / name, run / "traces" / name)
    try:
        with gzip.open(run / "traces" / name) as file:
            msgspec.json.decode(file.read(), type=_Trace)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        return f"the trace{which} is not whole ({error})"
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
