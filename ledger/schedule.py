"""The `schedule` of a benchmark file: when sealed trials are launched again, so that a verdict does not grow old."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, model_validator

from ledger import quantity
from ledger.workloads.fields import Part

LONGEST_DAYS = 3660
_DAY_S = 86_400


def _a_period(seconds: float) -> float:
    if not 1 <= seconds <= LONGEST_DAYS * _DAY_S:
        raise ValueError(f"must be from 1 s to {LONGEST_DAYS} days, got {seconds:g} s")
    return seconds


Period = Annotated[float, BeforeValidator(quantity.duration, float | str), AfterValidator(_a_period)]


class Schedule(Part):
    """When an agent launches trials again that have a run. It is outside a trial's identity."""

    every: Period | None = None
    """A fresh set of timed launches, when the set before is older."""
    stale_after: Period | None = None
    """Launches of any role, when their last run is older."""

    @model_validator(mode="after")
    def _says_when(self) -> Schedule:
        if self.every is None and self.stale_after is None:
            raise ValueError("must have every or stale_after, or both")
        return self
