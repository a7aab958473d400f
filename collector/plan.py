"""Planning: which trials a benchmark asks for, in which order, and which of them are still to be launched."""

from __future__ import annotations

import contextlib
import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from collector import environment as host
from collector.prepared import Prepared, prepare
from collector.sequence import Launchable, Step, intervention_sequence, launch_sequence, turned
from collector.settled import SealedRuns
from collector.stacks.interface import MissingPrerequisite, Trial
from collector.tuning.history import Tried
from collector.tuning.stack_search import StackSearch
from collector.tuning.transfer import transfers
from ledger.benchmark import BenchmarkFile
from ledger.canonical import canonical_json, short_digest
from ledger.durable import INCOMING, storage_errors, write_new
from ledger.errors import InputError
from ledger.run import BenchmarkOrigin, Role, Tuned
from ledger.suggestion import nearest

FORMAT = 1


class Purpose(enum.StrEnum):
    """What the launches of a plan are for."""

    COMPARISON = "comparison"
    INTERVENTIONS = "interventions"
    TRANSFER = "transfer"


@dataclass(frozen=True)
class Wish:
    """What is to be planned, beside the benchmark file."""

    stacks: tuple[str, ...] = ()
    """All of them when empty."""
    repeats: int | None = None
    profiled: int | None = None
    retry_failed: bool = False
    purpose: Purpose = Purpose.COMPARISON


@dataclass(frozen=True)
class Excluded:
    """A trial that is not launched, and why."""

    trial: Trial
    why: MissingPrerequisite


@dataclass(frozen=True)
class Settled:
    """A trial that has a run already."""

    trial: Trial
    run_id: str


@dataclass(frozen=True)
class Plan:
    """One batch: what it launches, in order, and what it does not."""

    origin: BenchmarkOrigin
    workload_digest: str
    launches: tuple[Trial, ...]
    excluded: tuple[Excluded, ...]
    settled: tuple[Settled, ...]
    environments: dict[str, dict[str, Any]]
    """{stack: environment.json before the launch}."""
    warnings: tuple[str, ...] = ()
    """What lies in the evidence and does not count."""
    searches: tuple[StackSearch, ...] = ()
    """Of the stacks whose settings are searched here: how far each is."""

    @property
    def is_search(self) -> bool:
        """Whether it is a round of a search: what is planned after it depends on what it finds."""
        return any(trial.role is Role.SEARCH for trial in self.launches)

    def to_json(self, created_at: str) -> dict[str, Any]:
        """The content of `plan-<batch>.json`."""
        return {
            "format": FORMAT,
            "benchmark": vars(self.origin),
            "created_at": created_at,
            "host": host.host_name(),
            "workload_digest": self.workload_digest,
            "planned": [{**_row(trial), "launch_order": order} for order, trial in enumerate(self.launches, 1)],
            "excluded": [
                {**_row(each.trial), "reason": each.why.what, "install": each.why.install} for each in self.excluded
            ],
            "settled": [{**_row(each.trial), "run_id": each.run_id} for each in self.settled],
        }


def make_plan(file: BenchmarkFile, origin: BenchmarkOrigin, sealed: SealedRuns, source: Path, wish: Wish) -> Plan:
    """The plan of one `collect`. Raises InputError for a stack that cannot be planned.

    As long as the settings of a chosen stack are searched it is the next round of that: one trial of each. After that
    it launches each stack with the best settings that were found.
    """
    chosen = _choose(file, wish.stacks)
    declared = {name: prepare(file, name, source) for name in chosen}
    sealed.refresh()
    searched = [name for name in chosen if file.benchmark.stacks[name].search and not declared[name].missing]
    searches = tuple(StackSearch(file, declared[name], sealed, source) for name in searched)
    empty = Plan(origin, file.benchmark.workload_digest, (), (), (), {}, tuple(sealed.broken), searches)
    following = [each.next() for each in searches]
    refused = tuple(Excluded(*row) for each in following for row in each.refused)
    launches = [each.trial for each in following if each.trial]
    if launches:
        environments = {each.prepared.job.stack_name: each.prepared.environment for each in following if each.prepared}
        ordered = tuple(turned(launches, max(trial.repeat for trial in launches)))
        return replace(empty, launches=ordered, excluded=refused, environments=environments)
    best = {each.stack: found for each in searches if (found := each.best) is not None}
    made = _after_search(file, empty, best, chosen, declared, sealed, source, wish)
    return replace(made, excluded=(*refused, *made.excluded))


def _after_search(
    file: BenchmarkFile,
    empty: Plan,
    best: Mapping[str, Tried],
    chosen: list[str],
    declared: Mapping[str, Prepared],
    sealed: SealedRuns,
    source: Path,
    wish: Wish,
) -> Plan:
    """The launches that compare or test, each stack with its best settings."""
    tuned = file
    for name, found in best.items():
        tuned = tuned.tuned(name, found.parameters)
    files: dict[Launchable, BenchmarkFile] = {}
    excluded: list[Excluded] = []
    if wish.purpose is Purpose.TRANSFER:
        found_transfers = transfers(file, best, wish.repeats, source)
        steps, files = list(found_transfers.steps), found_transfers.files
        excluded = [Excluded(*row) for row in found_transfers.refused]
    elif wish.purpose is Purpose.INTERVENTIONS:
        steps = intervention_sequence(tuned, chosen, wish.repeats)
    else:
        steps = launch_sequence(tuned, chosen, wish.repeats, wish.profiled)
    prepared: dict[Launchable, Prepared] = {
        (name, None): prepare(tuned, name, source) if name in best else declared[name] for name in chosen
    }
    for key in dict.fromkeys(step.launchable for step in steps):
        if key not in prepared:
            prepared[key] = prepare(files[key], key[0], source) if key in files else _changed(tuned, key, source)
    launches, settled = [], []
    for step in _with_origin(steps, best):
        ready = prepared[step.launchable]
        trial = ready.trial(step)
        run_id = sealed.settling(trial.trial_key, wish.retry_failed)
        if run_id:
            settled.append(Settled(trial, run_id))
        elif ready.missing:
            excluded.append(Excluded(trial, ready.missing))
        else:
            launches.append(trial)
    environments = {name: ready.environment for (name, _), ready in prepared.items()}
    return replace(
        empty,
        launches=tuple(launches),
        excluded=tuple(excluded),
        settled=tuple(settled),
        environments=environments,
    )


def _with_origin(steps: Iterable[Step], best: Mapping[str, Tried]) -> Iterable[Step]:
    """The steps, each with the trial whose settings its stack has."""
    for step in steps:
        found = None if step.tuned else best.get(step.stack)
        yield step if found is None else replace(step, tuned=Tuned(step.stack, found.run_id))


def _changed(file: BenchmarkFile, key: Launchable, source: Path) -> Prepared:
    name, intervention = key[0], key[1] or ""
    try:
        return prepare(file.changed(intervention), name, source)
    except InputError as error:
        index = next(n for n, each in enumerate(file.benchmark.comparisons) if intervention in each.interventions)
        at = ("comparisons", index, "interventions", intervention, "settings")
        raise file.error(at, f"as {name} is changed: {error.what}", error.todo) from None


def write_plan(plan: Plan, evidence: Path, created_at: str) -> tuple[str, Path]:
    """Write `plan-<batch>.json` beside the runs of its day; returns the batch's id and the path."""
    content = plan.to_json(created_at)
    batch = short_digest(content)
    path = evidence / plan.origin.name / created_at[:10] / f"plan-{batch}.json"
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, canonical_json(content) + b"\n", beside=evidence / INCOMING)
    return batch, path


def new_exclusions(plan: Plan, *evidence: Path) -> bool:
    """Whether the plan excludes a trial that no plan file of the benchmark in these folders tells of yet."""
    known: set[str] = set()
    for path in (path for each in evidence for path in (each / plan.origin.name).glob("*/plan-*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            known |= {each["trial_key"] for each in json.loads(path.read_bytes())["excluded"]}
    return any(each.trial.trial_key not in known for each in plan.excluded)


def _row(trial: Trial) -> dict[str, Any]:
    row = {
        "trial_key": trial.trial_key,
        "stack": trial.stack_name,
        "role": trial.role.value,
        "repeat": trial.repeat,
    }
    origins = {"arm": trial.arm, "search": trial.search, "tuned": trial.tuned}
    return {**row, **{name: asdict(each) for name, each in origins.items() if each is not None}}


def _choose(file: BenchmarkFile, wanted: tuple[str, ...]) -> list[str]:
    names = list(file.benchmark.stacks)
    for name in wanted:
        if name not in names:
            raise InputError(f"no stack {name!r}", where=str(file.source.path), todo=nearest(name, names))
    return [name for name in names if name in wanted] if wanted else names
