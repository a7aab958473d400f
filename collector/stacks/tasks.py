"""The `tasks` adapter: a suite of tasks given to a harness, which may have a model behind it.

Capability depends on the system around the model: the harness is any command that gets a task and a place to work, so
that two harnesses around one model are two stacks, and a team's own repository can be the suite.
"""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Annotated, Any, ClassVar

import jinja2
from pydantic import BaseModel, ConfigDict, Field

from collector.stacks import launch_files, task_suite, tasks_output, training_launch
from collector.stacks.interface import (
    Adapter,
    Ending,
    Job,
    MissingPrerequisite,
    Observed,
    SettingsError,
    Trial,
    WorkloadError,
)
from collector.stacks.launch_files import VARIABLE, PlainValue
from collector.stacks.task_suite import Suite
from ledger.benchmark import Benchmark
from ledger.canonical import digest, file_digest
from ledger.run import Reason, Role
from ledger.workloads.command import METRIC
from ledger.workloads.fields import Seconds
from ledger.workloads.tasks import TasksWorkload

SCRIPT = training_launch.LAUNCH / "tasks.py"
PROCESSES = training_launch.LAUNCH / "processes.py"
TEMPLATE = training_launch.LAUNCH / "run_tasks.sh.jinja"


class Service(BaseModel):
    """A process that stays for the whole launch, such as a server of the model that a harness asks."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    command: str
    """Listens on 127.0.0.1 at STACKPROOF_PORT; run beside the stack's files."""
    health: str = "/health"
    """Answers 200 once it is ready."""
    startup_limit: Seconds = 300.0


class TasksSettings(BaseModel):
    """What a stack may set: the harness, and what stands behind it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    harness: str
    """A line of shell, run in the place to work for each attempt. It finds the task in STACKPROOF_TASK (prompt.txt,
    task.json), its own files in STACKPROOF_HARNESS, and writes its answer to STACKPROOF_ANSWER, or prints it."""
    files: tuple[str, ...] = ()
    """The harness's files, from the workspace's root: copied into the launch and sealed with it."""
    model: str | None = None
    """The model behind this harness, from the workspace's root; the workload's where not set. STACKPROOF_MODEL."""
    service: Service | None = None
    """Started once a launch; harnesses find it in STACKPROOF_SERVICE and OPENAI_BASE_URL."""
    secrets: tuple[Annotated[str, Field(pattern=VARIABLE)], ...] = ()
    """Variables of the collector's environment that harness and service may see, such as a service's key."""
    parameters: dict[Annotated[str, Field(pattern=METRIC)], PlainValue] = Field(default_factory=dict)
    """The stack's settings proper: each is given as STACKPROOF_SETTING_<NAME>."""


class TasksAdapter(Adapter):
    """A harness, with or without a model."""

    name: ClassVar[str] = "tasks"
    workload_kinds: ClassVar[frozenset[str]] = frozenset({"tasks"})
    requires: ClassVar[tuple[str, ...]] = ()
    roles: ClassVar[frozenset[Role]] = frozenset({Role.TIMED})

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:  # noqa: ARG002 (alike for all)
        """The settings with every default filled in. Raises SettingsError."""
        return training_launch.checked(TasksSettings, settings).model_dump(mode="json")

    def check(self, job: Job) -> None:
        """The suite is one, and the harness's files are there. Raises SettingsError, WorkloadError, InputError."""
        for path in job.settings["files"]:
            problem = launch_files.problem(job, path)
            if problem:
                raise SettingsError("files", problem, KNOWN)
        workload = job.benchmark.work(TasksWorkload)
        if not job.find(workload.suite.path).is_dir():
            raise WorkloadError(("suite", "path"), f"no such folder {workload.suite.path}", "put the suite there")
        _suite(job)
        own, path = job.settings["model"], _model(job)
        if path is not None and not job.find(path).exists():
            what = f"no such model {path}: fetch it, mend its path, or collect other stacks with --stack"
            if own is not None:
                raise SettingsError("model", what, KNOWN)
            raise WorkloadError(("model", "path"), what)

    def digests(self, job: Job) -> dict[str, str]:
        """Digests of the model where one is named, of the suite, and of all that is launched."""
        model = _model(job)
        launched = {path: file_digest(job.find(path)) for path in job.settings["files"]}
        scripts = {each.name: file_digest(each) for each in (SCRIPT, PROCESSES, TEMPLATE)}
        return {
            "model": launch_files.tree_digest(job.find(model)) if model else digest(None),
            "dataset": _suite(job).digest,
            "adapter": digest({"files": launched, "scripts": scripts}),
        }

    def missing(self, job: Job) -> MissingPrerequisite | None:
        """The tool that shows what a harness changed, and the harness's secrets."""
        if shutil.which("diff") is None:
            return MissingPrerequisite("diff is not installed", "apt-get install diffutils")
        return launch_files.missing_variable(self.secrets(job))

    def secrets(self, job: Job) -> tuple[str, ...]:
        """What the harness needs to ask a service."""
        return tuple(job.settings["secrets"])

    def write_launch(self, trial: Trial, folder: Path) -> None:
        """run.sh, tasks.py, the harness's files, and trial.json with the tasks but without their expected answers."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "files").mkdir()
        launch_files.copy(trial, trial.settings["files"], folder / "files")
        for script in (SCRIPT, PROCESSES):
            shutil.copyfile(script, folder / script.name)
        workload, suite = trial.benchmark.work(TasksWorkload), _suite(trial)
        config = {
            "format": 1,
            "suite": launch_files.below(trial, suite.folder),
            "suite_digest": suite.digest,
            "attempts": workload.attempts,
            "tasks": [suite.described(name, workload.time_limit) for name in suite.tasks],
            "harness": trial.settings["harness"],
            "service": trial.settings["service"],
            "model": launch_files.below(trial, trial.find(model)) if (model := _model(trial)) else None,
            "variables": launch_files.setting_variables(trial.settings["parameters"]),
            "role": trial.role.value,
            "repeat": trial.repeat,
        }
        (folder / "trial.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
        limit = trial.stack.memory_limit
        values = {
            "variables": {name: shlex.quote(value) for name, value in trial.stack.environment.variables.items()},
            "memory_limit_kib": limit // 1024 if limit else None,
        }
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
        (folder / "run.sh").write_text(environment.from_string(TEMPLATE.read_text()).render(values))
        (folder / "run.sh").chmod(0o755)

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:
        """Every attempt, judged."""
        return tasks_output.collect(trial, _suite(trial), out, run)

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:  # noqa: ARG002
        """The card of a suite and its harness."""
        workload, digests = trial.benchmark.work(TasksWorkload), self.digests(trial)
        suite, model = _suite(trial), _model(trial)
        kinds = sorted({task.check.kind for task in suite.tasks.values()})
        return {
            "workload": {
                "model": {
                    "phase": "tasks",
                    "model_family": Path(model).stem if model else "none",
                    "precision": workload.model.precision if workload.model else "as the model's file",
                    "digest": digests["model"],
                },
                "data": {
                    "dataset": workload.suite.path,
                    "dataset_digest": digests["dataset"],
                    "tasks": len(suite.tasks),
                    "attempts": workload.attempts,
                },
                "acceptance": {"kind": ", ".join(kinds), "field": "task.yaml", "rule": "each task's own check"},
            },
            "Model-executor": {"framework": {"name": trial.stack_name, "settings": trial.settings["parameters"]}},
            "metric_source": {"traces": []},
        }

    def failure_reason(self, ending: Ending) -> Reason | None:
        """A service that never got healthy, or what commands fail of."""
        if any("the service was not healthy" in line or "before it was healthy" in line for line in ending.log_tail):
            return Reason.UNHEALTHY
        return training_launch.failure_reason(ending, "command", "torch")


KNOWN = tuple(TasksSettings.model_fields)


def _suite(job: Job) -> Suite:
    wanted = job.benchmark.work(TasksWorkload).suite
    return task_suite.read(job.find(wanted.path), wanted.only)


def _model(job: Job) -> str | None:
    """The path of the model behind the harness, where one is named."""
    named = job.benchmark.work(TasksWorkload).model
    own: str | None = job.settings["model"]
    return own if own is not None else named.path if named else None
