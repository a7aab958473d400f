"""What earlier launches say of how many more it takes: the power of the planned launches, comparison by comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import stdev

from ledger import power, run_folder
from ledger.benchmark import Benchmark, Comparison
from ledger.errors import EvidenceError, InputError
from ledger.run import Role, Run, State
from ledger.workspace import Workspace

LEAST = 3
"""Blocks from which a spread is told."""


def notes(workspace: Workspace, benchmark: Benchmark) -> list[str]:
    """One line for each declared comparison: what the planned launches would find, and how many would be enough."""
    if not benchmark.comparisons:
        return []
    values = _values(workspace, benchmark)
    return [_note(comparison, benchmark, values) for comparison in benchmark.comparisons]


def _note(comparison: Comparison, benchmark: Benchmark, values: dict[str, dict[tuple[str, int], float]]) -> str:
    name = f"power, {comparison.baseline} against {comparison.candidate}"
    first, second = (values.get(stack, {}) for stack in (comparison.baseline, comparison.candidate))
    ratios = [math.log(second[key] / first[key]) for key in sorted(first.keys() & second.keys())]
    if len(ratios) < LEAST:
        return f"{name}: not known before {LEAST} launches of each"
    spread, threshold, planned = stdev(ratios), comparison.threshold, benchmark.repeats.initial
    ratio = 1 + 2 * threshold
    chance = power.expected_power(planned, spread, len(ratios), ratio, threshold)
    enough = power.launches_for(spread, len(ratios), ratio, threshold)
    many = f"{enough} would find it" if enough else f"even {power.MOST} would not find it"
    allowed = f", {benchmark.repeats.max} are allowed" if enough is None or enough > benchmark.repeats.max else ""
    return (
        f"{name}: {planned} launches a side find a difference of {200 * threshold:.3g} % (twice the threshold) "
        f"in {100 * chance:.0f} % of cases; {many} in {100 * power.POWER:.0f} %{allowed} "
        f"(spread {100 * spread:.1f} % over {len(ratios)} blocks)"
    )


def _values(workspace: Workspace, benchmark: Benchmark) -> dict[str, dict[tuple[str, int], float]]:
    """{stack: {(batch, repeat): the objective's value}} of the completed timed launches of this work."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    for run, value in _measured(workspace, benchmark):
        found.setdefault(run.stack, {})[run.batch, run.repeat] = value
    return found


def _measured(workspace: Workspace, benchmark: Benchmark) -> Iterator[tuple[Run, float]]:
    metric, work = benchmark.envelope.objective.metric, benchmark.workload_digest
    try:
        folders = [folder for folder in run_folder.scan(workspace.evidence) if folder.path.parts[-3] == benchmark.name]
    except InputError:
        return
    for folder in folders:
        try:
            run, rows = folder.run, folder.json("metrics.json")
            values = [row["value"] for row in rows if row["metric"] == metric and row["rank"] is None and row["value"]]
        except (EvidenceError, KeyError, TypeError):
            continue  # verify names it
        timed = run.role is Role.TIMED and run.outcome.state is State.COMPLETED and run.workload_digest == work
        if timed and values and values[-1] > 0:
            yield run, values[-1]
