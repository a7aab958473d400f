"""The `tasks` workload: a suite of tasks that a harness around a model is given, each with its own check."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ledger.workloads.fields import Part, Seconds, Text, Whole, different
from ledger.workloads.serve import ServedModel


class Suite(Part):
    """A folder of tasks."""

    path: Text
    """From the workspace's root; every folder below it with a `task.yaml` is a task."""
    only: Annotated[tuple[Text, ...], AfterValidator(different)] = ()
    """Names of the tasks to run, where not all."""


class TasksWorkload(Part):
    """A job of tasks, each attempted by the stack's harness and judged by the task's own check."""

    kind: Literal["tasks"]
    suite: Suite
    model: ServedModel | None = None
    """What stands behind the harness; None where it has no model, or names its own."""
    attempts: Whole = Field(ge=1, le=1_000, default=1)
    """At each task, in one launch; the item is the task, and its attempts are averaged."""
    time_limit: Seconds = 300.0
    """Of one attempt, where the task sets none."""
