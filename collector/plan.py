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
MOST_TRIALS = 10_000
"""Of one plan."""


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


def make_plan(
    file: BenchmarkFile,
    origin: BenchmarkOrigin,
    sealed: SealedRuns,
    *,
    source: Path,
    stacks: tuple[str, ...] = (),
    repeats: int | None = None,
    profiled: int | None = None,
    retry_failed: bool = False,
    interventions: bool = False,
) -> Plan:
    """The plan of one `collect`. Raises InputError for a stack that cannot be planned.

    With `interventions` it holds the tests of explanations, of the comparisons whose two stacks are chosen, instead.
    """
    chosen = _choose(file, stacks)
    jobs: dict[Launchable, Job] = {(name, None): make_job(file, name, source) for name in chosen}
    if interventions:
        steps = intervention_sequence(file, chosen, repeats)
    else:
        steps = [Step(*each) for each in launch_sequence(file, chosen, repeats, profiled)]
    jobs |= {key: _changed_job(file, *key, source) for step in steps if (key := step.launchable) not in jobs}
    ready = {key: _ready(file, jobs[key]) for key in dict.fromkeys(step.launchable for step in steps)}
    sealed.refresh()
    launches, excluded, settled = [], [], []
    for step in steps:
        prepared = ready[step.launchable]
        trial = _trial(prepared, step)
        run_id = sealed.settling(trial.trial_key, retry_failed)
        missing = prepared.missing
        if run_id:
            settled.append(Settled(trial, run_id))
        elif missing:
            excluded.append(Excluded(trial, missing))
        else:
            launches.append(trial)
    digest = file.benchmark.workload_digest
    environments = {name: prepared.environment for (name, _), prepared in ready.items()}
    return Plan(origin, digest, tuple(launches), tuple(excluded), tuple(settled), environments, tuple(sealed.broken))


Launchable = tuple[str, str | None]
"""A stack as the file has it, or as the intervention named second changes it."""


@dataclass(frozen=True)
class Step:
    """One launch of a sequence."""

    stack: str
    role: Role
    repeat: int
    arm: Arm | None = None

    @property
    def launchable(self) -> Launchable:
        """What is launched."""
        return self.stack, self.arm.intervention if self.arm and self.arm.changed else None


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


def launch_sequence(
    file: BenchmarkFile, stacks: list[str], repeats: int | None, profiled: int | None
) -> list[tuple[str, Role, int]]:
    """(stack, role, repeat) in launch order.

    One warm-up each, then timed rounds that run forward and backward in turn (A B B A …), so that drift of the host
    weighs on all stacks alike, then profiled rounds in the same way, apart from the timed ones.
    """
    benchmark = file.benchmark
    declared = benchmark.stacks
    timed = {name: repeats or declared[name].repeats or benchmark.repeats.initial for name in stacks}
    traced = dict.fromkeys(stacks, benchmark.repeats.profiled if profiled is None else profiled)
    _refuse_too_many(file, len(stacks) + sum(timed.values()) + sum(traced.values()))
    sequence: list[tuple[str, Role, int]] = []
    for role, counts in ((Role.WARMUP, dict.fromkeys(stacks, 1)), (Role.TIMED, timed), (Role.PROFILED, traced)):
        for repeat in range(1, max(counts.values(), default=0) + 1):
            order = stacks if repeat % 2 else stacks[::-1]
            wanted = [name for name in order if repeat <= counts[name] and _has_role(file, name, role)]
            sequence += [(name, role, repeat) for name in wanted]
    return sequence


def intervention_sequence(file: BenchmarkFile, stacks: list[str], repeats: int | None) -> list[Step]:
    """The launches that test explanations, one intervention after the other.

    Each round launches both stacks as they are and the changed one, every other round backward: what the change does is
    read off launches of the same minutes.
    """
    benchmark = file.benchmark
    steps: list[Step] = []
    for comparison in benchmark.comparisons:
        sides = (comparison.baseline, comparison.candidate)
        for name, change in comparison.interventions.items() if set(sides) <= set(stacks) else ():
            arms = [(side, Arm(name, changed=False)) for side in sides] + [(change.stack, Arm(name, changed=True))]
            for repeat in range(1, (repeats or benchmark.repeats.initial) + 1):
                order = arms if repeat % 2 else arms[::-1]
                steps += [Step(stack, Role.INTERVENTION, repeat, arm) for stack, arm in order]
    if not steps:
        what = "declares no intervention" + (" between the chosen stacks" if stacks != list(benchmark.stacks) else "")
        todo = "add `interventions` to one of its comparisons: each changes a stack so that a claim's cause is gone"
        raise InputError(what, where=str(file.source.path), todo=todo)
    _refuse_too_many(file, len(steps))
    return steps


def _has_role(file: BenchmarkFile, name: str, role: Role) -> bool:
    """Whether a stack is launched for `role`: the file says so, and its adapter can do that."""
    stack = file.benchmark.stacks[name]
    return role in stack.roles and role in ADAPTERS[stack.adapter].roles


def _refuse_too_many(file: BenchmarkFile, count: int) -> None:
    if count > MOST_TRIALS:
        what = f"asks for {count} launches, and one plan holds at most {MOST_TRIALS}"
        raise InputError(what, where=str(file.source.path), todo="plan fewer stacks (--stack) or repeats")


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
