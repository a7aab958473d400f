"""What a public row's facts are in the words of our adapters, and what of them has no such word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from collector.shortlist.text import one_line
from ledger.shortlist import PublicRow
from ledger.yaml_file import read_yaml

COMMAND = "command"
"""The adapter for a framework that none of ours launches."""
PRECISIONS = frozenset({"float16", "bfloat16", "float32"})
LAUNCHES = "launch"
"""Folder of the launch scripts that people write for such frameworks."""
_GPUS = frozenset({"nvidia", "amd"})
_PARAMETER = re.compile(r"[a-z][a-z0-9_]*")
_TO_PARAMETER = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Mapped:
    """A row as an adapter takes it."""

    adapter: str
    settings: dict[str, Any]
    not_carried: tuple[str, ...]
    """`name=value` of what the adapter has no setting for."""


def adapter(framework: str | None) -> str:
    """The adapter that launches a framework; `command` where none of ours does."""
    for name, table in _tables().items():
        if framework is not None and framework.lower() in table["names"]:
            return str(name)
    return COMMAND


def mapped(row: PublicRow, precision: str | None) -> Mapped:
    """The row for an adapter of ours; a precision is set where it is not the workload's own (`precision`)."""
    chosen = adapter(row.framework)
    table = _tables()[chosen]
    facts, settings = _facts(row), {}
    for name, setting in table["parallelism"].items():
        degree = facts.get(name)
        if isinstance(degree, int) and degree > 1 and setting not in settings:
            settings[setting] = facts.pop(name)
            if chosen == "torch" and name == "dp_shard":
                settings["data_parallel_mode"] = "fsdp2"
    for name in table["settings"]:
        if isinstance(facts.get(name), str | int | float | bool):
            settings[name] = facts.pop(name)
    if "precision" in table and row.precision in PRECISIONS:
        facts.pop("precision")
        if row.precision != precision:
            settings[table["precision"]] = row.precision
    elif row.precision == precision:
        facts.pop("precision", None)
    if row.vendor in _GPUS:
        settings |= table.get("devices", {})
    return Mapped(chosen, settings, tuple(_written(facts)))


def as_command(row: PublicRow, name: str) -> Mapped:
    """A launch script that is still to be written, with the row's facts as its parameters."""
    parameters: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for fact, value in _facts(row).items():
        key = _TO_PARAMETER.sub("_", fact.lower()).strip("_")
        if _PARAMETER.fullmatch(key) and isinstance(value, str | int | float | bool) and key not in parameters:
            parameters[key] = one_line(value) if isinstance(value, str) else value
        else:
            rest[fact] = value
    settings = {"script": f"{LAUNCHES}/{name}.sh", "parameters": parameters}
    return Mapped(COMMAND, settings, tuple(_written(rest)))


def _facts(row: PublicRow) -> dict[str, Any]:
    """What was set, degrees of parallelism of 1 left out: {name: value}."""
    degrees = row.workload.get("parallelism")
    found = {
        name: value
        for name, value in (degrees if isinstance(degrees, dict) else {}).items()
        if value not in (None, 1, False)
    }
    if row.precision is not None:
        found["precision"] = row.precision
    if row.workload.get("batch_size") is not None:
        found["batch_size"] = row.workload["batch_size"]
    return {**found, **{name: value for name, value in row.settings.items() if value is not None}}


def _written(facts: dict[str, Any]) -> list[str]:
    return [f"{one_line(name)}={one_line(value)}" for name, value in facts.items()]


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml")).data
    return tables
