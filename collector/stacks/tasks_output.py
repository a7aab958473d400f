"""What a launch over a suite left behind, judged where the launch itself did not, as samples/requests.parquet."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from collector.stacks import training_output
from collector.stacks.interface import Observed, Trial
from collector.stacks.task_suite import CommandCheck, Suite, Task
from ledger import parquet
from ledger.workloads.tasks import TasksWorkload

SERVICE_LOG = "service.log"


def collect(trial: Trial, suite: Suite, out: Path, run: Path) -> Observed:
    """Copy and convert; `detail` says how many attempts are missing. Half a line of a killed launch is left out."""
    rows = [row for row in map(_row, _lines(out / "requests.jsonl")) if row is not None and row["item"] in suite.tasks]
    judged = [_judged(row, suite.tasks[row["item"]]) for row in rows]
    if judged:
        parquet.write(run / "samples/requests.parquet", judged, parquet.REQUESTS)
    if (out / SERVICE_LOG).is_file():
        shutil.copyfile(out / SERVICE_LOG, run / "logs" / SERVICE_LOG)
    absent: dict[str, str] = {}
    if (out / "summary.json").is_file():
        training_output.collect_summary(out, run, absent)
    planned = len(suite.tasks) * trial.benchmark.work(TasksWorkload).attempts
    detail = None if len(rows) == planned else f"{len(rows)} of {planned} attempts were made"
    if judged and all(row["accepted"] is None for row in judged):
        detail = f"no attempt could be judged: {judged[0]['error']}"
    return Observed(complete=detail is None, detail=detail, absent=absent, anything=bool(rows))


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.is_file() else []


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
        return row if isinstance(row, dict) and isinstance(row.get("item"), str) else None
    except (ValueError, RecursionError):
        return None


def _judged(row: dict[str, Any], task: Task) -> dict[str, Any]:
    """The row with its verdict: a command's was given while the work was there, an answer's is given now."""
    known = {name: row.get(name) for name in parquet.REQUESTS.names}
    if known["error"] is not None or isinstance(task.check, CommandCheck):
        return known
    accepted, why = task.check.judge(str(known["text"] or ""))
    return {**known, "accepted": accepted, "why": why}
