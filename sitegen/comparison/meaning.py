"""What a metric's name means in a benchmark: stackproof's own definition, or the one that its file declares."""

from __future__ import annotations

from ledger.benchmark import Benchmark
from ledger.metrics import declared, registry
from ledger.metrics.registry import Metric


def metric_of(name: str, benchmark: Benchmark) -> Metric | None:
    """The newest definition of a metric, or None."""
    return declared.of_workload(benchmark.workload).get(name) or registry.get(name)


def title_of(name: str, benchmark: Benchmark) -> str:
    """What people call a metric."""
    known = metric_of(name, benchmark)
    return known.title if known else name.replace("_", " ").capitalize()
