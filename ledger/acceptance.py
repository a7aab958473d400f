"""Whether a run's result is an accepted one, by the rule that its workload declares."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.benchmark import Acceptance
from ledger.metrics.registry import Row


def judge(acceptance: Acceptance, rows: Iterable[Row]) -> bool | None:
    """True or false by the rule; None when the judged metric has no value for the whole run."""
    for row in rows:
        if row.metric == acceptance.field and row.step is None and row.value is not None:
            return acceptance.rule.allows(row.value)
    return None
