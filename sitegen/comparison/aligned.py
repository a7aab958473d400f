"""Two sides' traced steps aligned by operation: the rows of a table that adds up to the difference exactly.

Kernels carry their vendor's names; the operation that launched them does not, so that is what two sides have in common.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Level(enum.StrEnum):
    """What a row of the table stands for."""

    OPERATION = "operation"
    """What a part's time was spent in: an operator of the framework."""
    UNKNOWN = "unknown operation"
    """Device work that no known operator launched."""
    PART = "part"
    """A part as a whole, for nothing is done in it that has a name: idle time, gaps."""
    OVERLAP = "overlap"
    """What the operations of a part hold more than once (streams, threads) or under another part: it is taken off."""


@dataclass(frozen=True)
class Operation:
    """One row. Times are whole nanoseconds over `Operations.steps` steps, so that sums are exact."""

    level: Level
    part: str
    """Metric id of the part that it is in: `compute.gemm`, `idle`."""
    title: str
    """What people call that part."""
    name: str | None
    """The operation's: `aten::mm`; None at any other level."""
    baseline_ns: int | None
    """None where the side has no such operation: that is missing, not zero."""
    candidate_ns: int | None
    baseline_calls: int | None = None
    """Calls over the same steps; None where there is nothing to count."""
    candidate_calls: int | None = None
    baseline_kernels: tuple[str, ...] = ()
    """What it launched on the side's device, the longest first, up to a limit."""
    candidate_kernels: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What stands in the table for it."""
        match self.level:
            case Level.PART:
                return self.title
            case Level.OVERLAP:
                return f"Overlap in {self.title}"
            case Level.UNKNOWN:
                return "By no known operation"
        return self.name or self.title

    @property
    def change_ns(self) -> int:
        """Nanoseconds that the candidate takes longer in it; a row of one side alone counts whole."""
        return (self.candidate_ns or 0) - (self.baseline_ns or 0)


@dataclass(frozen=True)
class Rest:
    """All further rows together."""

    rows: int
    baseline_ns: int
    candidate_ns: int

    @property
    def change_ns(self) -> int:
        """As of an `Operation`."""
        return self.candidate_ns - self.baseline_ns


@dataclass(frozen=True)
class Operations:
    """The difference of the traced steps by operation: `rows` and `rest` add up to it exactly."""

    steps: int
    """All times and calls are over this many steps."""
    baseline_ns: int
    """Of the traced steps, whole."""
    candidate_ns: int
    rows: tuple[Operation, ...]
    """The largest changes first, up to a limit."""
    rest: Rest | None
    """None where every row is shown."""
    aligned: float | None
    """Share of the operations' time, both sides together, that is in operations which both have."""
    absent: str | None = None
    """Why there is nothing; all else is empty then."""

    @property
    def change_ns(self) -> int:
        """Nanoseconds that the candidate's traced steps take longer."""
        return self.candidate_ns - self.baseline_ns

    def seconds(self, nanoseconds: int | None) -> float | None:
        """A time of a row or of all, in seconds a step."""
        return None if nanoseconds is None else nanoseconds / self.steps / 1e9
