"""A stack looked at once for all its launches: its job, what identifies the work, its environment, what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector import environment as host
from collector import virtual_environment
from collector.jobs import make_job
from collector.sequence import Step
from collector.stacks.interface import Adapter, Job, MissingPrerequisite, Trial
from collector.stacks.registry import ADAPTERS
from ledger.benchmark import BenchmarkFile
from ledger.run import Role, trial_key


@dataclass(frozen=True)
class Prepared:
    """One stack with one set of settings."""

    job: Job
    digests: dict[str, str]
    environment: dict[str, Any]
    """environment.json before the launch."""
    missing: MissingPrerequisite | None

    @property
    def environment_digest(self) -> str:
        """Digest of the software, and of the variables that the stack sets."""
        return host.environment_digest(self.environment, self.job.stack.environment.variables)

    def trial(self, step: Step) -> Trial:
        """One launch of it."""
        job, benchmark = self.job, self.job.benchmark
        key = trial_key(
            benchmark=benchmark.name,
            workload=benchmark.workload.model_dump(mode="json"),
            digests=self.digests,
            stack=job.stack_name,
            settings={**job.settings, "memory_limit": job.stack.memory_limit},
            environment_digest=self.environment_digest,
            role=step.role.value,
            repeat=step.repeat,
            arm=step.arm,
            tuned_on=step.tuned.stack if step.tuned and step.role is Role.TRANSFER else None,
        )
        named = (benchmark, job.stack_name, job.settings, job.workspace)
        launch = (step.role, step.repeat, key)
        return Trial(*named, *launch, beside=job.beside, arm=step.arm, search=step.search, tuned=step.tuned)


def prepare(file: BenchmarkFile, name: str, source: Path) -> Prepared:
    """The stack `name` as the file has it. Raises InputError: file, line and key."""
    job = make_job(file, name, source)
    adapter = ADAPTERS[job.stack.adapter]
    return Prepared(job, adapter.digests(job), _environment(file, job, adapter), adapter.missing(job))


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
