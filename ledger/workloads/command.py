"""The `command` workload: any launch script, with metrics that the file declares and says how to read."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ledger import quantity
from ledger.workloads.acceptance import Pattern, Threshold
from ledger.workloads.fields import Part, Text, Whole, different


def _a_name(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or any(part in {"", ".", ".."} for part in parts):
        raise ValueError(f"must be a path below STACKPROOF_OUT, got {quantity.shown(path)}")
    return path


METRIC = r"^[a-z][a-z0-9_]{0,62}$"
SOURCED = r"^[a-z][a-z0-9_]{0,62}(@[a-z0-9][a-z0-9-]{0,30})?$"
"""`NAME@SOURCE` is what a source calls NAME, by its own definition."""


class Extract(Part):
    """Where a command's own output holds a number. Exactly one of `json`, `regex` and `column`."""

    file: Annotated[Text, AfterValidator(_a_name)] = "stdout.log"
    """Below STACKPROOF_OUT, or `stdout.log` and `stderr.log`."""
    json_: Text | None = Field(default=None, alias="json")
    """Path into a JSON file: `results.0.step_time`."""
    regex: Pattern | None = None
    """With one group that holds the number."""
    column: Text | None = None
    """Header of a CSV file's column."""
    reduce: Literal["last", "first", "mean", "harmonic_mean", "median", "min", "max", "sum"] = "last"
    """What becomes of several numbers."""
    unit: Text | None = None
    """The unit that the output is in, such as `ms`, where it is not the metric's."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Extract:
        given = [name for name in (self.json_, self.regex, self.column) if name is not None]
        if len(given) != 1:
            raise ValueError(f"must have exactly one of json, regex and column, got {len(given)}")
        if self.regex is not None and re.compile(self.regex).groups != 1:
            raise ValueError(f"regex must have one group that holds the number, got {quantity.shown(self.regex)}")
        return self


MetricName = Annotated[str, Field(pattern=SOURCED)]


class DeclaredMetric(Part):
    """A metric of the file's own."""

    unit: Text
    """A base unit: `s`, `B`, `share`, `tokens/s`, …"""
    direction: Literal["lower", "higher", "neither"]
    definition: Text
    """One sentence, for the site's glossary."""
    title: Text | None = None
    extract: Extract | None = None
    """How to read it; a stack's `settings.extract` may say it in its own way."""

    @model_validator(mode="after")
    def _unit_fits(self) -> DeclaredMetric:
        if self.extract is not None and self.extract.unit is not None:
            quantity.factor(self.extract.unit, self.unit)
        return self


class WorkPerStep(Part):
    """How much one step does, so that unequal work is seen."""

    samples: Annotated[Whole, Field(ge=1)] | None = None
    tokens: Annotated[Whole, Field(ge=1)] | None = None


class CommandWorkload(Part):
    """A job that a script of one's own does."""

    kind: Literal["command"]
    task: Text
    """What the job is, in a sentence: the same for every stack."""
    inputs: Annotated[tuple[Text, ...], AfterValidator(different)] = ()
    """Files and folders that decide the work, from the workspace's root: their digests enter the trial's identity."""
    work_per_step: WorkPerStep | None = None
    metrics: dict[MetricName, DeclaredMetric] = Field(min_length=1)
    acceptance: Threshold | None = None
