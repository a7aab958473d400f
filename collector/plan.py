"""Planning: which trials a benchmark asks for, in which order, and which of them are still to be launched."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from collector import environment as host
from collector import virtual_environment
from collector.jobs import make_job
from collector.settled import SealedRuns
from collector.stacks.interface import Adapter, Job, MissingPrerequisite, Trial
from collector.stacks.registry import ADAPTERS
from ledger.benchmark import BenchmarkFile
from ledger.canonical import canonical_json, short_digest
from ledger.durable import INCOMING, storage_errors, write_new
from ledger.errors import InputError
from ledger.run import Arm, BenchmarkOrigin, Role, trial_key
from ledger.suggestion import nearest

FORMAT = 1


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


@dataclass(frozen=True)
class Wish:
    """What is to be planned, beside the benchmark file."""

    stacks: tuple[str, ...] = ()
    """All of them when empty."""
    repeats: int | None = None
    profiled: int | None = None
    retry_failed: bool = False
    purpose: Purpose = Purpose.COMPARISON


def make_plan(file: BenchmarkFile, origin: BenchmarkOrigin, sealed: SealedRuns, source: Path, wish: Wish) -> Plan:
    """The plan of one `collect`. Raises InputError for a stack that cannot be planned.

    While a chosen stack's settings are searched, and its budget lasts, it is the next round of that search. Then it
    launches each stack with its best settings.
    """
    chosen = _choose(file, wish.stacks)
    sealed.refresh()
    jobs: dict[Launchable, Job] = {(name, None): make_job(file, name, source) for name in chosen}
    searches = [each for name in chosen if (each := _search(file, jobs[name, None], sealed)) is not None]
    found = [each.next_trial() for each in searches]
    steps = [each.step for each in found if each.step is not None]
    excluded = [row for each in found for row in each.refused]
    if steps:
        turn = max(step.repeat for step in steps)
        steps = list(turned(steps, turn))
    else:
        best = {each.job.stack_name: each.chosen for each in searches if each.chosen is not None}
        file = _tuned(file, searches)
        jobs = {(name, None): make_job(file, name, source) for name in chosen}
        if wish.purpose is Purpose.TRANSFER:
            steps, 
@dataclass(frozen=True)
class _Ready:
    """A stack, looked at once for all its launches."""

    job: Job
    digests: dict[str, str]
    environment: dict[str, Any]
    missing: MissingPrerequisite | None


def _changed_job(file: BenchmarkFile, name: str, intervention: str | None, source: Path) -> Job:
    try:
        return make_job(file.changed(intervention or ""), name, source)
    except InputError as error:
        index = next(n for n, each in enumerate(file.benchmark.comparisons) if intervention in each.interventions)
        at = ("comparisons", index, "interventions", intervention or "", "settings")
        raise file.error(at, f"as {name} is changed: {error.what}", error.todo) from None


def _ready(file: BenchmarkFile, job: Job) -> _Ready:
    adapter = ADAPTERS[job.stack.adapter]
    return _Ready(job, adapter.digests(job), _environment(file, job, adapter), adapter.missing(job))


def _environment(file: BenchmarkFile, job: Job, adapter: Adapter) -> dict[str, Any]:
    """environment.json before the launch; of a virtual environment it says only what that is made from."""
    found = host.environment(adapter.requires, job.workspace)
    named = job.stack.environment.requirements
    if named is None:
        return found
    path = job.find(named)
    if not path.is_file():
        at = ("stacks", job.stack_name, "environment", "requirements")
        raise file.error(at, f"{named}: no such requirements file", "write it, or mend its name")
    wish = virtual_environment.wanted(path, adapter.repairs)
    return {**found, "packages": {}, "stack_packages": {}, "virtual_environment": wish.to_json()}


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
    return row if trial.arm is None else {**row, "arm": asdict(trial.arm)}


def _choose(file: BenchmarkFile, wanted: tuple[str, ...]) -> list[str]:
    names = list(file.benchmark.stacks)
    for name in wanted:
        if name not in names:
            raise InputError(f"no stack {name!r}", where=str(file.source.path), todo=nearest(name, names))
    return [name for name in names if name in wanted] if wanted else names


def _trial(ready: _Ready, step: Step) -> Trial:
    job, benchmark, stack = ready.job, ready.job.benchmark, ready.job.stack
    key = trial_key(
        benchmark=benchmark.name,
        workload=benchmark.workload.model_dump(mode="json"),
        digests=ready.digests,
        stack=job.stack_name,
        settings={**job.settings, "memory_limit": stack.memory_limit},
        environment_digest=host.environment_digest(ready.environment, stack.environment.variables),
        role=step.role.value,
        repeat=step.repeat,
        arm=step.arm,
    )
    named = (benchmark, job.stack_name, job.settings, job.workspace)
    return Trial(*named, step.role, step.repeat, key, beside=job.beside, arm=step.arm)
