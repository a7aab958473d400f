"""What the stated demand costs on each side of a comparison, in whole machines: from the launches' own metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.benchmark import Benchmark
from ledger.metrics import registry
from sitegen import flips
from sitegen.charts.chart import Chart
from sitegen.comparison.verdict import Verdict
from sitegen.format import value
from sitegen.pages.snapshot import Snapshot

HOURLY = frozenset({"node_hour", "device_hour"})
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
    curve: Chart | None
    """A month's cost over the demand; None where it is not paid by the machine's hour alone."""
    flips: tuple[str, ...]
    """Between which demands which side costs less."""


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
    currency = _currency(facts, [run for runs in sides.values() for run in runs])
    fleets = [_fleet(facts, stack, runs) for stack, runs in sides.items()]
    one, other = fleets
    return Demand(
        stated.requests_per_day,
        stated.peak_factor,
        stated.horizon,
        currency,
        tuple(rows),
        bool(load is not None and load.sweep),
        flips.chart(one, other, stated.requests_per_day, currency) if one and other else None,
        flips.in_words(one, other, stated.requests_per_day) if one and other else (),
    )


def _fleet(facts: Snapshot, stack: str, runs: list[str]) -> flips.Fleet | None:
    """A side's machines by their slowest launch; None where a launch lacks a value or they are not paid by the hour."""
    if any(row["per"] not in HOURLY for run in runs for row in facts.of("prices", run)):
        return None
    carries, machines, monthly = (
        _values(facts, runs, name)
        for name in ("requests_a_day_of_a_machine", "machines_at_demand", "cost_per_month_at_demand")
    )
    if not runs or not len(runs) == len(carries) == len(machines) == len(monthly):
        return None
    return flips.Fleet(stack, min(carries), monthly[0] / machines[0])


def _values(facts: Snapshot, runs: list[str], metric: str) -> list[float]:
    rows = [row for run in runs for row in facts.of("metrics", run) if row["metric"] == metric]
    return [float(row["value"]) for row in rows if row["value"] is not None]


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
