"""The registry of metric definitions.

A metric is one function over the tables of a run folder. It returns values, or says why there are none: missing is
never 0, -1 or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Direction = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Missing:
    """Why a value is absent."""

    reason: str


@dataclass(frozen=True)
class Value:
    """One value of a metric: a finite number, for the whole run unless `rank`, `step` or `part` say else."""

    value: float
    rank: int | None = None
    step: int | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(
                f"a metric's value must be finite, got {self.value}; return Missing with the reason instead"
            )


Result = float | Missing | Iterable[Value]


@dataclass(frozen=True)
class Metric:
    """One definition. `id`@`version` never changes its meaning; a new formula is a new version."""

    id: str
    version: int
    title: str
    unit: str
    """`s`, `B`, `1/s`, `share`, `tokens/s`, `nats`, `USD`, …: always a base unit."""
    direction: Direction
    definition: str
    """One sentence."""
    inputs: tuple[str, ...]
    """Files of the run folder that it reads (`samples/steps.parquet`)."""
    source: str
    """Where the definition comes from."""
    kinds: frozenset[str]
    """Kinds of workload whose launches can give it."""
    compute: Callable[[Any], Result] = field(compare=False, repr=False)
    scope: str | None = None
    """What tells definitions apart that benchmark files declare for themselves; None for stackproof's own."""

    @property
    def definition_id(self) -> str:
        """`step_time@1`; `iteration_time@3f2a9c01` for one that a benchmark file declares."""
        return f"{self.id}@{self.scope or self.version}"


@dataclass(frozen=True)
class Row:
    """One row of metrics.json and of the catalog's `metrics` table. Exactly one of value and missing_reason is None."""

    metric: str
    definition: str
    version: int
    unit: str
    value: float | None
    missing_reason: str | None
    rank: int | None
    step: int | None
    inputs: dict[str, str]
    """{file: sha256} that the value was computed from."""


EVERY_KIND = ("train", "serve", "tasks", "command")

_METRICS: dict[tuple[str, int], Metric] = {}


def metric(
    id: str,
    *,
    version: int = 1,
    title: str,
    unit: str,
    direction: Direction,
    definition: str,
    inputs: tuple[str, ...],
    source: str,
    kinds: Iterable[str] = EVERY_KIND,
) -> Callable[[Callable[[Any], Result]], Callable[[Any], Result]]:
    """Register a function as a metric's definition."""

    def register(compute: Callable[[Any], Result]) -> Callable[[Any], Result]:
        if (id, version) in _METRICS:
            raise ValueError(f"the metric {id}@{version} is registered twice")
        found = Metric(id, version, title, unit, direction, definition, inputs, source, frozenset(kinds), compute)
        _METRICS[id, version] = found
        return compute

    return register


def all_metrics() -> list[Metric]:
    """Every definition, superseded ones too, in the order of registration."""
    _load()
    return list(_METRICS.values())


def newest() -> list[Metric]:
    """The newest version of each metric."""
    best: dict[str, Metric] = {}
    for each in all_metrics():
        if each.id not in best or each.version > best[each.id].version:
            best[each.id] = each
    return list(best.values())


def get(id: str) -> Metric | None:
    """The newest definition of a metric, or None."""
    return next((each for each in newest() if each.id == id), None)


def _load() -> None:
    from ledger.metrics import definitions  # noqa: F401, PLC0415 (registers on import; imports this module)
