"""What a judgement reads: one benchmark's runs, values, fields and plans, pulled from the catalog once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from ledger.catalog import Catalog
from ledger.run import Role, State
from sitegen.comparison.request_rows import LengthBin, Level, length_of, level_of


@dataclass(frozen=True)
class Measured:
    """One value of a metric in one run, or the reason why there is none."""

    metric: str
    definition: str
    """`step_time@1`."""
    version: int
    unit: str
    rank: int | None
    value: float | None
    missing_reason: str | None


@dataclass(frozen=True)
class ItemResult:
    """What came of one item in one launch."""

    accepted: float | None
    """Share of its attempts that were accepted; None where none could be judged."""
    answered: int
    requests: int
    input_tokens: float | None = None
    """Mean over its attempts; None where no answer tells."""


@dataclass(frozen=True)
class Searched:
    """What chose the settings of a search trial."""

    space: str
    """Names the tuning path."""
    number: int
    """Its place in it, from 1."""
    method: str
    parameters: dict[str, Any]
    """{setting: value} of what is searched."""
    chosen_by: str


@dataclass(frozen=True)
class TrialRun:
    """One run folder as a judgement sees it."""

    run_id: str
    trial_key: str
    stack: str
    role: Role
    repeat: int
    attempt: int
    launch_order: int
    state: State
    reason: str | None
    detail: str | None
    started_at: str
    host: str
    path: str
    batch: str
    profile: str | None
    commit: str | None
    blob: str | None
    workload_digest: str
    environment_digest: str
    intervention: str | None
    """Which test of an explanation it is part of; None for any other role."""
    changed: bool | None
    """Whether it ran with that intervention's change."""
    set_aside: str | None
    """Why the run does not count (`retracted: wrong clock`); None when it does."""
    measured: tuple[Measured, ...] = field(repr=False, default=())
    fields: dict[str, str] = field(repr=False, default_factory=dict)
    """{`card.workload.data.batch_size`: value as JSON text}."""
    steps: dict[str, float] = field(repr=False, default_factory=dict)
    """A profiled launch's own clock, {`measured` or `profiled`: mean seconds of its steps in that phase}."""
    items: dict[str, ItemResult] = field(repr=False, default_factory=dict)
    """A timed launch's results by prompt or task."""
    seconds: float = 0.0
    """From the launch's start to its end."""
    search: Searched | None = None
    """None for any role but `search`."""
    tuned_stack: str | None = None
    """The stack whose search found the settings; None where no search did."""
    tuned_by: str | None = None
    """Id of the search trial that found them."""
    levels: tuple[Level, ...] = field(repr=False, default=())
    """A timed launch at each level of load that it was driven at, lowest first."""
    lengths: tuple[LengthBin, ...] = field(repr=False, default=())
    """A timed launch's requests of the declared load by their length, shortest first."""

    @property
    def configuration(self) -> tuple[str, ...]:
        """What makes two launches of one stack repeats of each other: settings and software."""
        settings = sorted(f"{name}={value}" for name, value in self.fields.items() if name.startswith("setting."))
        return (self.environment_digest, *settings)

    def find(self, metric: str, version: int | None = None, rank: int | None = None) -> Measured | None:
        """The row of a metric: of one version, or of the newest."""
        rows = [
            row for row in self.measured if row.metric == metric and row.rank == rank and version in {None, row.version}
        ]
        return max(rows, key=lambda row: row.version, default=None)

    def shown(self, metric: str) -> Measured | None:
        """The row of the rank whose parts are shown, the lowest that there is; else that of the whole run."""
        rank = min((row.rank for row in self.measured if row.metric == metric and row.rank is not None), default=None)
        return self.find(metric, rank=rank)


@dataclass(frozen=True)
class PlannedTrial:
    """One row of a batch's plan."""

    batch: str
    stack: str
    role: Role
    repeat: int
    trial_key: str
    state: str
    """`planned`, `excluded` or `settled`."""
    reason: str | None
    install: str | None
    created_at: str
    workload_digest: str
    profile: str | None
    tuned_stack: str | None = None
    space: str | None = None
    """The tuning path that a search trial is of."""


Libraries = Callable[[Collection[str]], Mapping[str, Mapping[str, str]]]
"""{run id: {library: an example of its names}} of the runs that have a trace that can be read."""


def _no_traces(_: Collection[str]) -> Mapping[str, Mapping[str, str]]:
    """What is read where there are no traces."""
    return {}


@dataclass(frozen=True)
class Evidence:
    """Everything of one benchmark, runs in the order of their start."""

    runs: tuple[TrialRun, ...]
    plans: tuple[PlannedTrial, ...]
    broken: tuple[str, ...] = ()
    """One line for each run folder or plan that could not be read as it was sealed."""
    libraries: Libraries = field(repr=False, default=_no_traces)
    """Reads which libraries traces show; called only for runs of which something is to be seen."""


def load(catalog: Catalog, benchmark: str) -> Evidence:
    """Read one benchmark's evidence from the catalog."""
    measured: dict[str, list[Measured]] = defaultdict(list)
    for row in _rows(catalog, "metrics", benchmark):
        measured[row.pop("run_id")].append(Measured(**row))
    fields: dict[str, dict[str, str]] = defaultdict(dict)
    for row in _rows(catalog, "fields", benchmark):
        fields[row["run_id"]][row["field"]] = _plain(row["value"])
    steps: dict[str, dict[str, float]] = defaultdict(dict)
    for row in _rows(catalog, "steps", benchmark):
        steps[row["run_id"]][row["phase"]] = row["seconds"]
    items: dict[str, dict[str, ItemResult]] = defaultdict(dict)
    for row in _rows(catalog, "items", benchmark):
        name = "" if row["item"] is None else str(row["item"])
        items[row["run_id"]][name] = ItemResult(row["accepted"], row["answered"], row["requests"], row["input_tokens"])
    levels: dict[str, list[Level]] = defaultdict(list)
    for row in _rows(catalog, "levels", benchmark):
        levels[row["run_id"]].append(level_of(row))
    lengths: dict[str, list[LengthBin]] = defaultdict(list)
    for row in _rows(catalog, "lengths", benchmark):
        lengths[row["run_id"]].append(length_of(row))
    runs = tuple(
        replace(
            _run(row, tuple(measured[row["run_id"]]), fields[row["run_id"]], steps[row["run_id"]]),
            items=items[row["run_id"]],
            levels=tuple(levels[row["run_id"]]),
            lengths=tuple(lengths[row["run_id"]]),
        )
        for row in _rows(catalog, "runs", benchmark)
    )
    plans = tuple(
        PlannedTrial(**{**row, "role": Role(row["role"]), "created_at": _time(row["created_at"])})
        for row in _rows(catalog, "plans", benchmark)
    )
    broken = tuple(line for line in catalog.problems if line.startswith(f"{benchmark}/"))
    return Evidence(runs, plans, broken, catalog.trace_libraries)


def _rows(catalog: Catalog, name: str, benchmark: str) -> list[dict[str, Any]]:
    sql = resources.files("sitegen").joinpath("sql", f"comparison_{name}.sql").read_text(encoding="utf-8")
    return catalog.query(sql, (benchmark,)).dicts()


def _run(
    row: dict[str, Any], measured: tuple[Measured, ...], fields: dict[str, str], steps: dict[str, float]
) -> TrialRun:
    known = {
        "run.adapter": row["adapter"],
        "run.workload_digest": row["workload_digest"],
        "run.environment_digest": row["environment_digest"],
        "run.host": row["host"],
    }
    fields = {**fields, **{name: str(value) for name, value in known.items() if value is not None}}
    names = TrialRun.__dataclass_fields__.keys() & row.keys()
    values = {name: row[name] for name in names}
    values |= {"role": Role(row["role"]), "state": State(row["state"]), "started_at": _time(row["started_at"])}
    if row["space"] is not None:
        chosen = {name: row[name] for name in ("space", "number", "method", "chosen_by")}
        values["search"] = Searched(**chosen, parameters=json.loads(row["parameters"]))
    return TrialRun(**values, measured=measured, fields=fields, steps=steps)


def _time(moment: datetime) -> str:
    """A time as text that sorts: UTC, microseconds always there."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _plain(text: str | None) -> str:
    """A JSON value as people write it: strings without quotes."""
    if text is None:
        return ""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text
