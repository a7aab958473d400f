"""The transfer matrix: what each stack loses when it runs with the settings that were best for another one.

Every round launched each stack with its own best settings and with each other's, so that a slowdown is read off
launches of the same minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ledger.benchmark import Benchmark
from ledger.run import Reason, Role, State
from sitegen.comparison.evidence import Evidence, TrialRun
from sitegen.comparison.meaning import title_of
from sitegen.comparison.selection import EXCLUDED
from sitegen.comparison.statistics import NoInterval, paired_ratio
from sitegen.comparison.tuning_path import Transfer, TransferCell
from sitegen.format import count

Key = tuple[str, int]
"""A round: its batch, and its number in there."""


def matrix(evidence: Evidence, benchmark: Benchmark, stacks: Sequence[str], workload: str) -> Transfer | None:
    """The matrix over those of `stacks` that a transfer was launched or planned of; None for fewer than two.

    `workload` is the digest of the work that is judged. Only the newest best settings of each stack count.
    """
    runs = [
        run
        for run in evidence.runs
        if run.role is Role.TRANSFER and run.workload_digest == workload and not run.set_aside
    ]
    newest = {run.tuned_stack: run.tuned_by for run in sorted(runs, key=lambda run: run.started_at)}
    runs = [run for run in runs if newest[run.tuned_stack] == run.tuned_by and run.reason != Reason.CANCELLED]
    known = tuple(name for name in stacks if any(name in {run.stack, run.tuned_stack} for run in runs))
    if len(known) < 2:
        return None
    metric = benchmark.envelope.objective.metric
    found = _Matrix(evidence, benchmark, workload, runs)
    rows = tuple(tuple(found.cell(stack, owner) for owner in known) for stack in known)
    return Transfer(known, metric, title_of(metric, benchmark), rows)


@dataclass(frozen=True)
class _Matrix:
    evidence: Evidence
    benchmark: Benchmark
    workload: str
    runs: Sequence[TrialRun]

    def cell(self, stack: str, owner: str) -> TransferCell:
        own, other = self._of(stack, stack), self._of(stack, owner)
        ids, outside = tuple(run.run_id for run in other), tuple(self._outside(other))
        values, usual = self._values(other), self._values(own)
        if not values:
            return TransferCell(stack, owner, None, None, None, 0, self._why_absent(stack, owner, other), ids)
        if stack == owner:
            return TransferCell(stack, owner, 1.0, None, None, len(values), None, ids, outside)
        pairs = [(usual[key], values[key]) for key in values if key in usual]
        if not self._lower_is_better:
            pairs = [(after, before) for before, after in pairs]
        if not pairs or min(map(min, pairs)) <= 0:
            why = "it has values of zero" if pairs else f"no round has a value of {stack} with its own settings"
            return TransferCell(stack, owner, None, None, None, len(pairs), why, ids, outside)
        found = paired_ratio(pairs)
        if isinstance(found, NoInterval):
            return TransferCell(stack, owner, found.center, None, None, len(pairs), found.reason, ids, outside)
        return TransferCell(stack, owner, found.center, found.low, found.high, len(pairs), None, ids, outside)

    @property
    def _lower_is_better(self) -> bool:
        return self.benchmark.envelope.objective.minimise is not None

    def _of(self, stack: str, owner: str) -> list[TrialRun]:
        """Its launches; where settings or software changed meanwhile, the newest ones."""
        own = [run for run in self.runs if run.stack == stack and run.tuned_stack == owner]
        newest = max(own, key=lambda run: run.started_at, default=None)
        return [run for run in own if newest and run.configuration == newest.configuration]

    def _values(self, runs: Sequence[TrialRun]) -> dict[Key, float]:
        metric = self.benchmark.envelope.objective.metric
        rows = {(run.batch, run.repeat): run.find(metric) for run in runs if run.state is State.COMPLETED}
        return {key: row.value for key, row in rows.items() if row is not None and row.value is not None}

    def _outside(self, runs: Sequence[TrialRun]) -> Iterable[str]:
        for metric, limit in self.benchmark.envelope.limits.items():
            rows = [run.find(metric) for run in runs if run.state is State.COMPLETED]
            if any(row is not None and row.value is not None and not limit.allows(row.value) for row in rows):
                yield metric

    def _why_absent(self, stack: str, owner: str, runs: Sequence[TrialRun]) -> str:
        failed = Counter((run.reason or "").replace("_", " ") for run in runs if run.state is State.FAILED)
        if failed:
            return f"{count(len(runs), 'launch')}: {', '.join(failed)}"
        if runs:
            return f"{self.benchmark.envelope.objective.metric} was not measured"
        rows = [
            row
            for row in self.evidence.plans
            if (row.role, row.state, row.stack, row.tuned_stack) == (Role.TRANSFER, EXCLUDED, stack, owner)
            and row.workload_digest == self.workload
        ]
        newest = max(rows, key=lambda row: row.created_at, default=None)
        return (newest.reason if newest else None) or "not launched"
