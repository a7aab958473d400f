"""What a search has tried: its sealed trials with what they measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from collector.settled import SealedRuns
from ledger.benchmark import Benchmark
from ledger.errors import EvidenceError
from ledger.run import Role, Run, State
from ledger.search import Budget


@dataclass(frozen=True)
class Tried:
    """One search trial that has ended."""

    run_id: str
    number: int
    parameters: dict[str, Any]
    value: float | None
    """The objective's; None where the trial failed or did not measure it."""
    excess: float
    """How far it is outside the envelope, as a share of the limit it breaks most; 0 inside."""
    seconds: float
    """From start to end."""

    @property
    def qualifies(self) -> bool:
        """Whether it has a value and broke no limit that it measured."""
        return self.value is not None and self.excess == 0


def read(sealed: SealedRuns, space: str, benchmark: Benchmark) -> list[Tried]:
    """The trials of one tuning path in order; `space` is its digest. One that was cancelled is not among them."""
    found: dict[int, Tried] = {}
    for run_id, run in sealed.counting():
        if run.role is Role.SEARCH and run.search is not None and run.search.space == space:
            found.setdefault(run.search.number, _tried(sealed, run_id, run, benchmark))
    return [found[number] for number in sorted(found)]


def best(tried: Sequence[Tried], benchmark: Benchmark) -> Tried | None:
    """The trial with the best objective among those inside the envelope, else among all that have one; else None."""
    measured = [each for each in tried if each.value is not None]
    sign = -1 if benchmark.envelope.objective.minimise is None else 1
    among = [each for each in measured if each.qualifies] or measured
    return min(among, key=lambda each: (sign * (each.value or 0.0), each.number), default=None)


def spent(tried: Sequence[Tried], budget: Budget) -> bool:
    """Whether the budget is used up."""
    if budget.trials is not None and len(tried) >= budget.trials:
        return True
    return budget.minutes is not None and sum(each.seconds for each in tried) >= 60 * budget.minutes


def _tried(sealed: SealedRuns, run_id: str, run: Run, benchmark: Benchmark) -> Tried:
    values = dict(_values(sealed, run_id)) if run.outcome.state is State.COMPLETED else {}
    over = [limit.excess(values[metric]) for metric, limit in benchmark.envelope.limits.items() if metric in values]
    took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)
    return Tried(
        run_id=run_id,
        number=run.search.number if run.search else 0,
        parameters=dict(run.search.parameters) if run.search else {},
        value=values.get(benchmark.envelope.objective.metric),
        excess=max([0.0, *over]),
        seconds=took.total_seconds(),
    )


def _values(sealed: SealedRuns, run_id: str) -> Iterable[tuple[str, float]]:
    """(metric, value) over all ranks; of several versions the newest comes last."""
    with contextlib.suppress(EvidenceError, KeyError, TypeError):  # `verify` names what is broken
        rows = sorted(sealed.folder(run_id).json("metrics.json"), key=lambda row: int(row["version"]))
        yield from ((row["metric"], row["value"]) for row in rows if row["rank"] is None and row["value"] is not None)
