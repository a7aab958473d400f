"""Whether a result is an accepted one, by the rule that its workload declares."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.metrics.registry import Row
from ledger.workloads import Workload
from ledger.workloads.acceptance import Threshold


def judge(workload: Workload, rows: Iterable[Row]) -> bool | None:
    """Whether a launch as a whole is accepted, by its metrics.

    None when the judged metric has no value for the whole run, and for workloads whose unit is not the launch: their
    requests and tasks are judged one by one.
    """
    rule = getattr(workload, "acceptance", None)
    if not isinstance(rule, Threshold):
        return None
    for row in rows:
        if row.metric == rule.field and row.step is None and row.value is not None:
            return rule.rule.allows(row.value)
    return None
