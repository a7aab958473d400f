"""The work that a benchmark file asks for: one file a kind, each a frozen, checked model.

A workload enters a trial's identity as a whole, so that it holds what decides the work and nothing else: no price, no
limit, no number of repeats.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ledger.workloads.command import CommandWorkload
from ledger.workloads.serve import ServeWorkload
from ledger.workloads.tasks import TasksWorkload
from ledger.workloads.train import TrainWorkload

Workload = Annotated[
    TrainWorkload | ServeWorkload | TasksWorkload | CommandWorkload,
    Field(discriminator="kind"),
]
"""Any of them, told apart by `kind`."""
