"""The `command` adapter: any launch script, with the metrics that the benchmark file says how to read.

The script gets its places in environment variables and may write samples (`steps.jsonl`, `requests.jsonl`), traces
(`traces/`), `summary.json`, the files that metrics are read from, or nothing but its output. It is sealed with the run.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any, ClassVar

import jinja2
from pydantic import BaseModel, ConfigDict, Field, model_validator

from collector.stacks import command_output, launch_files, training_launch, training_output
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
from ledger import quantity
from ledger.benchmark import Benchmark
from ledger.canonical import digest, file_digest
from ledger.metrics import declared
from ledger.run import Reason
from ledger.suggestion import nearest
from ledger.workloads.command import METRIC, CommandWorkload, Extract

TEMPLATE = training_launch.LAUNCH / "run_command.sh.jinja"


class CommandSettings(BaseModel):
    """What a stack may set: what is launched, and what it is told."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    script: str | None = None
    """A launch script, from the workspace's root; one without `#!` on its first line is run by sh."""
    command: str | None = None
    """Or a line of shell, run in STACKPROOF_OUT."""
    arguments: tuple[str, ...] = ()
    """Of the script."""
    files: tuple[str, ...] = ()
    """More files of the launch, from the workspace's root: copied beside the script and sealed with it."""
    secrets: tuple[Annotated[str, Field(pattern=VARIABLE)], ...] = ()
    """Variables of the collector's environment that the script may see, such as a token; they are never recorded."""
    parameters: dict[Annotated[str, Field(pattern=METRIC)], PlainValue] = Field(default_factory=dict)
    """The stack's settings proper: each is given as STACKPROOF_SETTING_<NAME>."""
    extract: dict[str, Extract] = Field(default_factory=dict)
    """{metric: how to read it}, where this stack's output says it in its own way."""

    @model_validator(mode="after")
    def _exactly_one(self) -> CommandSettings:
        if (self.script is None) == (self.command is None):
            raise ValueError("must have exactly one of script and command")
        return self


class CommandAdapter(Adapter):
    """Whatever can be started from a shell."""

    name: ClassVar[str] = "command"
    workload_kinds: ClassVar[frozenset[str]] = frozenset({"command"})
    requires: ClassVar[tuple[str, ...]] = ()

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        """The settings with every default filled in. Raises SettingsError."""
        checked = training_launch.checked(CommandSettings, settings)
        metrics = benchmark.work(CommandWorkload).metrics
        for name, wanted in checked.extract.items():
            if name not in metrics:
                what = f"extract.{name}: the workload declares no such metric; {nearest(name, metrics)}"
                raise SettingsError("extract", what, KNOWN)
            _check_unit(name, wanted, metrics[name].unit)
        return checked.model_dump(mode="json", by_alias=True, exclude_none=True)

    def check(self, job: Job) -> None:
        """The script, its files and the workload's inputs are there. Raises SettingsError, WorkloadError."""
        for key in ("script", "files"):
            named = job.settings.get(key) or ()
            for path in (named,) if isinstance(named, str) else named:
                problem = launch_files.problem(job, path)
                if problem:
                    raise SettingsError(key, problem, KNOWN)
        for index, path in enumerate(job.benchmark.work(CommandWorkload).inputs):
            problem = launch_files.problem(job, path, folders=True)
            if problem:
                raise WorkloadError(("inputs", index), problem, "put it there, or mend the path")

    def digests(self, job: Job) -> dict[str, str]:
        """Digests of the job in words, of its inputs, and of all that is launched."""
        workload = job.benchmark.work(CommandWorkload)
        launched = {path: file_digest(job.find(path)) for path in _files(job)}
        return {
            "model": digest({"task": workload.task}),
            "dataset": digest({path: launch_files.tree_digest(job.find(path)) for path in workload.inputs}),
            "adapter": digest({"files": launched, "template": file_digest(TEMPLATE)}),
        }

    def missing(self, job: Job) -> MissingPrerequisite | None:
        """The script's secrets; nothing else could be known beforehand."""
        return launch_files.missing_variable(self.secrets(job))

    def secrets(self, job: Job) -> tuple[str, ...]:
        """What the script may see of the collector's environment."""
        return tuple(job.settings["secrets"])

    def write_launch(self, trial: Trial, folder: Path) -> None:
        """run.sh, the script with its files below `files/`, and trial.json with how its metrics are read."""
        launch_files.copy(trial, _files(trial), folder / "files")
        workload = trial.benchmark.work(CommandWorkload)
        extracts = {name: Extract.model_validate(each) for name, each in trial.settings["extract"].items()}
        config = {
            "format": 1,
            "task": workload.task,
            "settings": trial.settings,
            "role": trial.role.value,
            "repeat": trial.repeat,
            "metrics": declared.written(workload.metrics, extracts),
            "digests": self.digests(trial),
        }
        (folder / "trial.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
        (folder / "run.sh").write_text(environment.from_string(TEMPLATE.read_text()).render(_values(trial)))
        (folder / "run.sh").chmod(0o755)

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:  # noqa: ARG002 (every command alike)
        """Samples, traces and the files that metrics are read from."""
        return command_output.collect(out, run)

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        """The card of a command: the job in words, its inputs, and what the command says of itself."""
        summary = training_output.read_summary(run).get("framework")
        framework = summary if isinstance(summary, dict) else {}
        return {
            "workload": _workload_card(trial.benchmark.work(CommandWorkload), self.digests(trial)),
            "Model-executor": {
                "framework": {"name": trial.stack_name, **framework, "settings": trial.settings["parameters"]}
            },
            "metric_source": {"traces": ["json"] if (run / "traces").is_dir() else []},
        }

    def failure_reason(self, ending: Ending) -> Reason | None:
        """By the patterns of the frameworks that commands launch most."""
        return training_launch.failure_reason(ending, "command", "torch")


KNOWN = tuple(CommandSettings.model_fields)


def _workload_card(workload: CommandWorkload, digests: dict[str, str]) -> dict[str, Any]:
    card: dict[str, Any] = {
        "model": {"phase": "command", "model_family": workload.task, "digest": digests["model"]},
        "data": {"dataset": ", ".join(workload.inputs) or "none", "dataset_digest": digests["dataset"]},
        "acceptance": {"kind": "none"},
    }
    if workload.work_per_step is not None:
        card["work_per_step"] = workload.work_per_step.model_dump(exclude_none=True)
    if workload.acceptance is not None:
        wanted = workload.acceptance
        rule = f"{wanted.rule.operator} {wanted.rule.bound:g}"
        card["acceptance"] = {"kind": wanted.kind, "field": wanted.field, "rule": rule}
    return card


def _check_unit(name: str, wanted: Extract, unit: str) -> None:
    if wanted.unit is None:
        return
    try:
        quantity.factor(wanted.unit, unit)
    except ValueError as error:
        raise SettingsError("extract", f"extract.{name}.unit: {error}", KNOWN) from None


def _files(job: Job) -> list[str]:
    """All that is launched, from the workspace's root, the script first."""
    script = job.settings.get("script")
    return list(dict.fromkeys([*([script] if script else []), *job.settings["files"]]))


def _values(trial: Trial) -> dict[str, Any]:
    """What run.sh is filled with; every value is quoted for the shell."""
    settings = trial.settings
    variables = {
        "STACKPROOF_ROLE": trial.role.value,
        "STACKPROOF_REPEAT": str(trial.repeat),
        **launch_files.setting_variables(settings["parameters"]),
        **trial.stack.environment.variables,
    }
    words = [*_launcher(trial), *(shlex.quote(word) for word in settings["arguments"])]
    limit = trial.stack.memory_limit
    return {
        "variables": {name: shlex.quote(value) for name, value in variables.items()},
        "memory_limit_kib": limit // 1024 if limit else None,
        "command": settings.get("command"),
        "words": " ".join(words),
    }


def _launcher(trial: Trial) -> list[str]:
    """The words that start the script: modes are not evidence, so that its `#!` line is read here."""
    script = trial.settings.get("script")
    if script is None:
        return []
    with trial.find(script).open("rb") as file:
        first = file.readline(512).decode(errors="replace").strip()
    interpreter = [shlex.quote(word) for word in first[2:].split()] if first.startswith("#!") else ["sh"]
    return [*interpreter, f'"$here"/files/{shlex.quote(script)}']
