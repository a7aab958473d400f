"""What the stated demand costs on each side of a comparison, in whole machines: from the launches' own metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.benchmark import Benchmark
from ledger.metrics import registry
from sitegen.comparison.verdict import Verdict
from sitegen.format import value
from sitegen.pages.snapshot import Snapshot

METRICS = (
    "requests_a_day_of_a_machine",
    "machines_at_demand",
    "use_at_demand",
    "cost_per_month_at_demand",
    "cost_per_accepted_result_at_demand",
    "cost_per_accepted_result",
    "one_off_cost_per_accepted_result",
)


@dataclass(frozen=True)
class Row:
    """One metric on both sides, lowest to highest over the timed launches."""

    metric: str
    title: str
    baseline: str
    candidate: str


@dataclass(frozen=True)
class Demand:
    """The table of a comparison page."""

    requests_per_day: float
    peak_factor: float
    horizon_s: float
    currency: str
    rows: tuple[Row, ...]
    sweeps: bool
    """Whether levels of load were driven, so that a machine's capacity is known."""


def of(verdict: Verdict, benchmark: Benchmark | None, facts: Snapshot) -> Demand | None:
    """The table, from the benchmark file that the launches sealed; None where it states no demand."""
    stated = benchmark.envelope.demand if benchmark else None
    if benchmark is None or stated is None or stated.requests_per_day is None:
        return None
    sides = {
        stack: [launch.run_id for launch in verdict.launches if launch.stack == stack and launch.state == "completed"]
        for stack in (verdict.baseline, verdict.candidate)
    }
    known = {each.id: each for each in registry.newest()}
    rows = [
        Row(name, known[name].title, *(_range(facts, runs, name, known[name].unit) for runs in sides.values()))
        for name in METRICS
    ]
    load = getattr(benchmark.workload, "load", None)
    return Demand(
        stated.requests_per_day,
        stated.peak_factor,
        stated.horizon,
        _currency(facts, [run for runs in sides.values() for run in runs]),
        tuple(rows),
        bool(load is not None and load.sweep),
    )


def _range(facts: Snapshot, runs: list[str], metric: str, unit: str) -> str:
    """`2` or `2 to 3`; why there is none where no launch has a value."""
    rows: list[dict[str, Any]] = [row for run in runs for row in facts.of("metrics", run) if row["metric"] == metric]
    values = [row["value"] for row in rows if row["value"] is not None]
    if not values:
        return next((row["missing_reason"] for row in rows if row["missing_reason"]), "no launch has a value")
    low, high = value(min(values), unit), value(max(values), unit)
    return low if low == high else f"{low} to {high}"


def _currency(facts: Snapshot, runs: list[str]) -> str:
    found = {row["currency"] for run in runs for row in facts.of("prices", run)}
    return ", ".join(sorted(found))


def sealed(evidence: Path, verdict: Verdict, facts: Snapshot) -> dict[str, list[Path]]:
    """{stack: run folders of its completed timed launches}, baseline first."""
    paths = {row["run_id"]: evidence / row["path"] for row in facts.tables["runs"]}
    return {
        stack: [
            paths[launch.run_id]
            for launch in verdict.launches
            if launch.stack == stack and launch.state == "completed" and launch.run_id in paths
        ]
        for stack in (verdict.baseline, verdict.candidate)
    }
