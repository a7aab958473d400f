"""Evidence made by hand, in memory: runs with stated values, for judging without folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ledger import benchmark as benchmark_file
from ledger.benchmark import BenchmarkFile
from ledger.run import Role, State
from sitegen.comparison.comparability import field_table
from sitegen.comparison.evidence import Evidence, Measured, TrialRun
from sitegen.comparison.judge import judge_evidence
from sitegen.comparison.selection import Selection, select
from sitegen.comparison.verdict import Verdict
from tests.factory import BENCHMARK, benchmark_text

UNITS = {"evaluation_loss": "nats"}


def declared(**changes: Any) -> BenchmarkFile:
    return benchmark_file.parse(benchmark_text(**changes), Path("tiny.yaml"))


def measured(metric: str, value: float | None, *, version: int = 1, rank: int | None = None) -> Measured:
    reason = "not measured here" if value is None else None
    return Measured(metric, f"{metric}@{version}", version, UNITS.get(metric, "s"), rank, value, reason)


def run(stack: str, repeat: int, order: int, step_time: float | None = None, **changes: Any) -> TrialRun:
    """One run; `step_time` None makes it a failed one, `parts` adds traced values, `fields` replaces fields."""
    loss, parts, version = changes.pop("loss", 2.5), changes.pop("parts", {}), changes.pop("version", 1)
    rows = [measured(name, value, rank=0) for name, value in parts.items()]
    if step_time is not None:
        rows += [measured("step_time", step_time, version=version), measured("evaluation_loss", loss)]
    role = changes.get("role", Role.TIMED)
    fields = dict.fromkeys(field_table("train").held, "same") | {"setting.threads": stack}
    values: dict[str, Any] = {
        "run_id": f"{stack}-{role}-{repeat}-{order}",
        "trial_key": f"{stack}-{role}-{repeat}",
        "stack": stack,
        "role": Role.TIMED,
        "repeat": repeat,
        "attempt": 1,
        "launch_order": order,
        "state": State.COMPLETED if step_time is not None or parts else State.FAILED,
        "reason": None if step_time is not None or parts else "out_of_memory",
        "detail": None,
        "started_at": f"2026-11-30T12:{order:02d}:00.000000+00:00",
        "host": "testhost",
        "path": f"tiny/2026-11-30/{stack}-{order}",
        "batch": "b",
        "profile": None,
        "commit": "c",
        "blob": "d",
        "workload_digest": declared().benchmark.workload_digest,
        "environment_digest": "e",
        "intervention": None,
        "changed": None,
        "set_aside": None,
        "measured": tuple(rows),
        "fields": fields | changes.pop("fields", {}),
    }
    return TrialRun(**{**values, **changes})


def interleaved(slow: list[float | None], fast: list[float | None], **changes: Any) -> list[TrialRun]:
    """Timed launches in the order A B B A …; `slow_changes` and `fast_changes` go to one side."""
    own = {"slow": changes.pop("slow_changes", {}), "fast": changes.pop("fast_changes", {})}
    runs, order = [], 0
    for repeat, pair in enumerate(zip(slow, fast, strict=True), 1):
        sides = [("slow", pair[0]), ("fast", pair[1])]
        for stack, value in sides if repeat % 2 else sides[::-1]:
            order += 1
            runs.append(run(stack, repeat, order, value, **changes, **own[stack]))
    return runs


def profiled(slow: dict[str, float], fast: dict[str, float], launches: int = 3) -> list[TrialRun]:
    """Profiled launches with the same parts in each."""
    return [
        run(stack, repeat, 30 + 2 * repeat + side, role=Role.PROFILED, parts=parts)
        for repeat in range(1, launches + 1)
        for side, (stack, parts) in enumerate((("slow", slow), ("fast", fast)))
    ]


def evidence(runs: list[TrialRun], **others: Any) -> Evidence:
    ordered = sorted(runs, key=lambda each: (each.started_at, each.launch_order))
    return Evidence(tuple(ordered), **{"plans": (), **others})


def selection(runs: list[TrialRun], **changes: Any) -> Selection:
    file = declared(**changes)
    return select(evidence(runs), file, file.benchmark.comparisons[0])


def verdict(runs: list[TrialRun], **changes: Any) -> Verdict:
    others = {"plans": changes.pop("plans", ())}
    if "libraries" in changes:
        others["libraries"] = changes.pop("libraries")
    file = declared(**changes)
    return judge_evidence(evidence(runs, **others), file, file.benchmark.comparisons[0])


def swapped_file() -> dict[str, Any]:
    return {"comparisons": [{**BENCHMARK["comparisons"][0], "baseline": "fast", "candidate": "slow"}]}
