"""The file that says which published rows are compared: benchmarks whose stacks are rows of one collection.

benchmarks:
  titan-megatron:
    question: Which framework trains Llama 3.1 8B faster?
    task: One step of training
    objective: {minimise: step_time@ccl-bench}
    stacks:
      torchtitan: {best: "*_titan_best/*"}
      megatron-lm: some-row-of-the-collection
    comparisons:
      - {baseline: torchtitan, candidate: megatron-lm, threshold: 5%}
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from pydantic import ConfigDict, Field, ValidationError

from ledger import benchmark as benchmark_file
from ledger import benchmark_errors, imported
from ledger.benchmark import BenchmarkFile, Objective
from ledger.errors import InputError
from ledger.metrics import registry
from ledger.public import LABEL, Collection, Row
from ledger.suggestion import nearest
from ledger.workloads.fields import Name, Part, Text
from ledger.yaml_file import YamlFile, read_yaml

ROW = "row.json"
"""What a run folder of a row holds among its outputs: the row as it was imported."""
HELD = (
    "card.workload.work_per_step.samples",
    "card.workload.work_per_step.tokens",
    "card.workload.data.batch_size",
    "card.workload.data.seq_len",
)
"""What must be the same beside what is held for every kind of work, for a time a step says nothing without it."""
PER_STEP = "step_time"
HEAD = f"# Drafted by `stackproof import --compare`. {LABEL[:1].upper()}{LABEL[1:]}.\n"


class Best(Part):
    """The row with the best value of the objective among those whose ids match."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    best: Text


class Compared(Part):
    """One benchmark."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: Text
    task: Text
    objective: Objective
    stacks: dict[Name, Text | Best] = Field(min_length=2)
    comparisons: tuple[dict[str, Any], ...] = Field(min_length=1)
    """As in a benchmark file."""


class CompareFile(Part):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmarks: dict[Name, Compared] = Field(min_length=1)


@dataclass(frozen=True)
class Chosen:
    """One row that stands for a stack."""

    row: Row
    selected: str | None = None
    """How it was chosen among others, in words."""


@dataclass(frozen=True)
class Drafted:
    """One benchmark with the rows of its stacks."""

    file: BenchmarkFile
    rows: dict[str, Chosen]
    """{stack: row}."""


def read(path: Path, collection: Collection) -> list[Drafted]:
    """Every benchmark of the file, its rows found. Raises InputError: file, line and key."""
    source = read_yaml(path)
    try:
        found = CompareFile.model_validate(source.data)
    except ValidationError as error:
        location, what, todo = benchmark_errors.explain(error, CompareFile, source.data)
        key = ".".join(str(part) for part in location)
        raise InputError(f"{key}: {what}" if key else what, where=source.where(location), todo=todo) from None
    return [_draft(name, each, collection, source) for name, each in found.benchmarks.items()]


def _draft(name: str, compared: Compared, collection: Collection, source: YamlFile) -> Drafted:
    rows = {stack: _choose(name, stack, wanted, compared, collection, source) for stack, wanted in _wanted(compared)}
    data = _benchmark(name, compared, collection, rows)
    text = HEAD + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    try:
        file = benchmark_file.parse(text, Path(f"{name}.yaml"))
    except InputError as error:
        raise InputError(error.what, where=source.where(("benchmarks", name)), todo=error.todo) from None
    return Drafted(file, rows)


def _wanted(compared: Compared) -> list[tuple[str, str | Best]]:
    return list(compared.stacks.items())


def _choose(
    name: str, stack: str, wanted: str | Best, compared: Compared, collection: Collection, source: YamlFile
) -> Chosen:
    where, metric = source.where(("benchmarks", name, "stacks", stack)), compared.objective.metric
    if isinstance(wanted, str):
        by_id = {row.id: row for row in collection.rows}
        if wanted not in by_id:
            raise InputError(f"no row {wanted!r}", where=where, todo=nearest(wanted, by_id))
        row = by_id[wanted]
        if metric not in row.values:
            why = row.failure or row.missing.get(metric) or "the source publishes none"
            raise InputError(f"{row.id} has no {metric}: {why}", where=where, todo="name another row")
        return Chosen(row)
    matching = [row for row in collection.rows if fnmatchcase(row.id, wanted.best)]
    measured = [row for row in matching if metric in row.values]
    if not measured:
        what = f"no row that is named like {wanted.best!r} has {metric}"
        raise InputError(what, where=where, todo=f"rows are: {', '.join(row.id for row in collection.rows[:3])}, …")
    sign = 1 if compared.objective.minimise is not None else -1
    best = min(measured, key=lambda row: sign * row.values[metric])
    return Chosen(best, f"the best of {len(matching)} trials, of which {len(measured)} have a value")


def _benchmark(name: str, compared: Compared, collection: Collection, rows: dict[str, Chosen]) -> dict[str, Any]:
    """The content of the benchmark file."""
    objective = compared.objective
    held = list(HELD) if objective.metric.partition("@")[0] == PER_STEP else []
    comparisons = [{**each, "held": [*each.get("held", ()), *held]} if held else each for each in compared.comparisons]
    return {
        "name": name,
        "question": compared.question,
        "workload": {"kind": "command", "task": compared.task, "metrics": _metrics(compared, collection, rows)},
        "stacks": {
            stack: {
                "adapter": imported.ADAPTER,
                "description": f"{LABEL}: {each.row.title}",
                "settings": _settings(each.row),
            }
            for stack, each in rows.items()
        },
        "envelope": {"objective": objective.model_dump(exclude_none=True)},
        "comparisons": comparisons,
        "repeats": {"initial": 1, "max": 1, "profiled": 0},
    }


def _metrics(compared: Compared, collection: Collection, rows: dict[str, Chosen]) -> dict[str, Any]:
    """What the rows have values of, by the source's definitions. What is stackproof's own by its id is read from files
    that a row has not, and is left out."""
    better = "lower" if compared.objective.minimise is not None else "higher"
    found = {}
    for each in collection.quantities:
        if "@" in each.metric and any(each.metric in chosen.row.values for chosen in rows.values()):
            base = registry.get(each.metric.partition("@")[0])
            found[each.metric] = {
                "title": f"{base.title if base else each.name} ({collection.source})",
                "unit": each.unit,
                "direction": better if each.metric == compared.objective.metric else "neither",
                "definition": " ".join(f"{each.definition} {each.note or ''}".split()),
                "extract": {"file": ROW, "json": f"values.{each.metric}"},
            }
    return found


def _settings(row: Row) -> dict[str, Any]:
    named = {"framework": row.framework, "framework_version": row.framework_version}
    plan = {"parallelism": row.workload["parallelism"]} if row.workload.get("parallelism") else {}
    return {name: value for name, value in {**named, **plan, **row.settings}.items() if value is not None}
