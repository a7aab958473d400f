"""How a benchmark file says which settings of a stack are searched, with which method, and for how long."""

from __future__ import annotations

import itertools
import json
import math
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    model_validator,
)

from ledger.quantity import shown
from ledger.workloads.fields import Launches, Name, Part, Positive, Seed, Text, different

MOST_POINTS = 10_000
"""Of one grid."""

MOST_WHOLE = 2**53
"""Beyond it an optimiser, which counts in floating point, cannot tell one whole number from the next."""
MOST = 1e300
"""Of other numbers, so that the width of a range is one too."""


def _in_bounds(value: float) -> bool:
    return abs(value) <= MOST_WHOLE if isinstance(value, int) else math.isfinite(value) and abs(value) <= MOST


def _a_number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _in_bounds(value):
        raise ValueError(f"must be a finite number (a whole one up to 2^53), got {shown(value)}")
    return value


def _a_value(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"must be a number, a text, true or false, got {shown(value)}")
    return value if isinstance(value, bool | str) else _a_number(value)


Scalar = Annotated[StrictBool | StrictInt | StrictFloat | StrictStr, BeforeValidator(_a_value)]
Number = Annotated[StrictInt | StrictFloat, BeforeValidator(_a_number)]


class Range(Part):
    """Numbers from `low` to `high`, both among them; whole ones where both are written so."""

    low: Number
    high: Number
    step: Annotated[Number, Field(gt=0)] | None = None
    """From one number to the next; a grid needs it."""
    log: StrictBool = False
    """Whether a doubling counts alike, wherever it is; without `step`."""

    @model_validator(mode="after")
    def _in_order(self) -> Range:
        if self.high <= self.low:
            raise ValueError(f"high must be above low ({self.low}), got {self.high}")
        if self.log and (self.step is not None or self.low <= 0):
            raise ValueError("with log there is no step, and low must be above 0")
        if self.is_whole and isinstance(self.step, float):
            raise ValueError(f"low and high are whole, so step must be, got {self.step}")
        if self.step is not None and (self.high - self.low) / self.step > MOST_WHOLE:
            raise ValueError(f"step is too small for a range from {self.low} to {self.high}, got {self.step}")
        return self

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def points(self) -> list[Any]:
        """Its numbers in order. Raises ValueError where it has no step."""
        if self.step is None:
            raise ValueError("a range needs a step to be a grid's")
        count = int((self.high - self.low) / self.step + 1e-9) + 1
        return [self.low + index * self.step for index in range(min(count, MOST_POINTS + 1))]

    def holds(self, value: Any) -> bool:
        """Whether a search of the range may try `value`."""
        if isinstance(value, bool) or not isinstance(value, int if self.is_whole else int | float):
            return False
        steps = 0.0 if self.step is None else (value - self.low) / self.step
        return self.low <= value <= self.high and abs(steps - round(steps)) < 1e-9


Listed = Annotated[tuple[Scalar, ...], Field(min_length=1), AfterValidator(different)]


def _form(values: Any) -> str:
    return "range" if isinstance(values, Range | dict) else "list"


Space = dict[Text, Annotated[Annotated[Listed, Tag("list")] | Annotated[Range, Tag("range")], Discriminator(_form)]]
"""{setting: the values that it may take}."""


class Budget(Part):
    """How long one stack is searched: whichever ends first."""

    trials: Launches | None = None
    minutes: Positive | None = None
    """Of launches, all of the stack's together."""

    @model_validator(mode="after")
    def _ends(self) -> Budget:
        if self.trials is None and self.minutes is None:
            raise ValueError("never ends: give it trials or minutes")
        return self

    @property
    def text(self) -> str:
        """`12 trials`, `30 min of launches`, or both."""
        parts = [f"{self.trials} trials"] if self.trials else []
        parts += [f"{self.minutes:g} min of launches"] if self.minutes else []
        return " or ".join(parts)


class Search(Part):
    """How the stacks' spaces are searched."""

    method: Literal["grid", "random", "tpe"] = "tpe"
    """`grid` tries every point, `random` draws, `tpe` (tree-structured Parzen estimator) learns from earlier trials."""
    seed: Seed = 0
    budget: Budget
    """Of each stack."""
    budgets: dict[Name, Budget] = Field(default_factory=dict)
    """Of the stacks that get another one: the comparison is then also one of effort, and says so."""
    same: tuple[dict[Name, Text], ...] = ()
    """Settings that are the same thing under other names, `{vllm: max_num_seqs, llamacpp: parallel}`: by them the best
    settings of one stack are tried on another. A name that both know needs no entry."""

    def budget_of(self, stack: str) -> Budget:
        """The stack's own budget, or that of all."""
        return self.budgets.get(stack, self.budget)

    def counterpart(self, setting: str, origin: str, target: str) -> str | None:
        """What the stack `origin` calls `setting`, as `target` calls it; None where the file does not say."""
        return next((row.get(target) for row in self.same if row.get(origin) == setting), None)


def size(space: Space) -> int | None:
    """How many points a space has; None where it holds numbers without end."""
    total = 1
    for values in space.values():
        if isinstance(values, Range) and values.step is None:
            if not values.is_whole:
                return None
            total *= int(values.high) - int(values.low) + 1
        else:
            total *= len(values.points()) if isinstance(values, Range) else len(values)
    return total


def grid(space: Space) -> list[dict[str, Any]]:
    """Every point, the last setting turning fastest. Raises ValueError for a range without a step."""
    lists = [values.points() if isinstance(values, Range) else list(values) for values in space.values()]
    return [dict(zip(space, point, strict=True)) for point in itertools.product(*lists)]


def holds(space: Space, point: dict[str, Any]) -> bool:
    """Whether `point` names a value of the space for each of its settings."""
    return all(
        name in point and (values.holds(point[name]) if isinstance(values, Range) else _listed(values, point[name]))
        for name, values in space.items()
    )


def text(point: dict[str, Any]) -> str:
    """A point in words that are the same for the same point: `compile=true, threads=2`."""
    return ", ".join(f"{name}={json.dumps(value, sort_keys=True)}" for name, value in sorted(point.items()))


def _listed(values: tuple[Any, ...], value: Any) -> bool:
    return any(each == value and isinstance(each, bool) == isinstance(value, bool) for each in values)
