"""The file in which a user states how much one step does in imported rows whose source does not tell it.

- rows: "20260429_093910_titan_best/*"
  samples: 32
  tokens: 32768
  source: "train_llama8b.sh: --training.global_batch_size 32, sequence length 1024"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator

from collector.importers.interface import Work
from ledger import benchmark_errors
from ledger.canonical import bytes_digest
from ledger.errors import InputError
from ledger.public import SourceFile
from ledger.workloads.fields import Part, Text, Whole
from ledger.yaml_file import read_yaml


class Statement(Part):
    """What a step does in the rows whose ids match."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: Text
    samples: Whole | None = Field(ge=1, default=None)
    tokens: Whole | None = Field(ge=1, default=None)
    source: Text

    @model_validator(mode="after")
    def _says_something(self) -> Statement:
        if self.samples is None and self.tokens is None:
            raise ValueError("must give samples or tokens of one step")
        return self


class WorkFile(Part):
    """The whole file: `work_per_step`, a list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    work_per_step: tuple[Statement, ...] = Field(min_length=1)


def read(path: Path) -> tuple[tuple[Work, ...], SourceFile]:
    """The statements in a file, and the file itself. Raises InputError: file, line and key."""
    source = read_yaml(path)
    try:
        found = WorkFile.model_validate(source.data)
    except ValidationError as error:
        location, what, todo = benchmark_errors.explain(error, WorkFile, source.data)
        key = ".".join(str(part) for part in location)
        raise InputError(f"{key}: {what}" if key else what, where=source.where(location), todo=todo) from None
    work = tuple(
        Work(each.rows, source.where(("work_per_step", number)), each.source, each.samples, each.tokens)
        for number, each in enumerate(found.work_per_step)
    )
    data: Any = source.text.encode()
    return work, SourceFile(path.name, bytes_digest(data), len(data))
