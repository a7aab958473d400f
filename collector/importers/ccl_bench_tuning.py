"""Tuning histories of CCL-Bench: one row a trial, failed ones too. `inf` as a score is a failure, not a value."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

from collector.importers import ccl_bench_cards as cards
from collector.importers import names, values
from collector.importers.ccl_bench_cards import Card
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files, mapping
from ledger.errors import InputError

COLUMNS = frozenset({"iteration", "config", "metrics", "score", "status"})
"""Columns that every history has; some have a few more."""
FRAMEWORKS = {"titan": "torchtitan", "megatron": "megatron-lm"}
"""{part of a history's name: framework}; the histories themselves do not tell it."""
LONGEST = 200
"""Characters kept of what a failed trial said."""


def is_history(header: str) -> bool:
    """Whether the first line of a CSV file is that of a tuning history."""
    return {each.strip() for each in header.split(",")} >= COLUMNS


def drafts(files: Files, name: str, dialect: Dialect) -> list[Draft]:
    """The trials of one history in their order. Raises InputError when a cell does not hold what its column should."""
    stem = PurePosixPath(name).stem
    framework = next((full for part, full in FRAMEWORKS.items() if part in stem.lower()), None)
    trials = [_trial(cells, f"{files.where(name)}: trial {number}") for number, cells in enumerate(files.table(name))]
    measured = {metric for trial in trials for metric in trial["metrics"]}
    found = []
    for trial in trials:
        draft = _draft(f"{stem}/{trial['iteration']}", trial, measured, dialect)
        draft.framework = framework
        draft.settings["history_file"] = name
        draft.cannot_show["work_per_step"] = "the history does not tell the batch of a step"
        found.append(draft)
    return found


def card_runs(card: Card, dialect: Dialect) -> list[Draft]:
    """The trials in a card's `runs:`, on the card's workload. Raises InputError when one is no trial."""
    trials = []
    for number, run in enumerate(card.runs):
        if not isinstance(run, dict):
            raise InputError(f"runs[{number}] is no mapping", where=card.file, todo="get the whole card")
        metrics = {key: value for key, value in mapping(run.get("metrics")).items() if key in dialect.entries}
        trials.append({**run, "iteration": number, "config": mapping(run.get("config")), "metrics": metrics})
    measured = {metric for trial in trials for metric in trial["metrics"]}
    found = []
    for trial in trials:
        draft = _draft(f"{card.name}/run-{trial['iteration']}", trial, measured, dialect)
        plan = {name: trial["config"][name] for name in ("tp", "dp", "pp", "cp", "ep") if name in trial["config"]}
        draft.workload = cards.workload(card.facts, card.architecture) | ({"parallelism": plan} if plan else {})
        draft.hardware = cards.hardware(card.facts)
        draft.framework, version = names.framework(card.facts.get("framework"))
        draft.framework_version = values.text(card.facts.get("framework_version")) or version
        if card.others:
            draft.settings["card"] = card.others
        draft.problems += card.problems
        draft.cannot_show["work_per_step"] = "the card does not say whether its batch is global"
        found.append(draft)
    return found


def _trial(cells: dict[str, str], where: str) -> dict[str, Any]:
    trial: dict[str, Any] = {**cells}
    for column in ("config", "metrics"):
        try:
            value = json.loads(cells[column] or "{}")
        except (json.JSONDecodeError, RecursionError):
            todo = "get the whole file"
            raise InputError(f"the column {column} is not JSON", where=where, todo=todo) from None
        if not isinstance(value, dict):
            raise InputError(f"the column {column} is no JSON object", where=where, todo="get the original file")
        trial[column] = value
    return trial


def _draft(id: str, trial: dict[str, Any], measured: set[str], dialect: Dialect) -> Draft:
    config, metrics = trial["config"], trial["metrics"]
    plan = ", ".join(f"{name} {config[name]}" for name in ("tp", "dp", "pp", "cp", "ep") if name in config)
    draft = Draft(id, f"{id.partition('/')[0]}, trial {trial['iteration']}{f' ({plan})' if plan else ''}")
    draft.settings = dict(config)
    draft.workload = {
        "kind": "train",
        "parallelism": {name: config[name] for name in ("tp", "dp", "pp", "cp", "ep") if name in config},
    }
    if str(trial.get("status")).lower() != "success":
        draft.state, draft.failure = "failed", _failure(trial.get("error_msg"))
    for name in sorted(measured):
        if name not in dialect.entries:
            draft.problem("unknown_metric", f"{name} is not known here and is left out")
        elif name in metrics or draft.state == "completed":
            draft.take(dialect.entries[name], metrics.get(name))
        else:
            draft.missing[dialect.entries[name].metric] = "the trial failed"
    draft.cannot_show |= {
        "quality": "the search looked at speed alone",
        "cost": "the source publishes no price",
        "repeats": "one launch of each trial: a search's best looks better than it is",
        "trace": "the history holds none",
        "requests": "training has none",
    }
    return draft


def _failure(message: Any) -> str:
    """The line of a trial's last words that tells most."""
    lines = [" ".join(line.split()) for line in str(message or "").splitlines()]
    lines = [line for line in lines if line.strip("=-^~ ")]
    telling = [line for line in lines if "Error" in line or "out of memory" in line or "Signal" in line]
    line = (telling or lines or ["failed without a message"])[-1 if telling else 0]
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
