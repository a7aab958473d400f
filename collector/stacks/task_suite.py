"""A suite of tasks: a folder, and in it a folder for each task with its `task.yaml`.

suite/
  package/         # what several tasks start from, where they name it as their base
  fix-the-median/
    task.yaml      # prompt, check, time limit
    files/         # what the harness finds in its place to work, laid over the base
    hidden/        # laid over the work before a command judges it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from collector.stacks import launch_files
from ledger import benchmark_errors
from ledger.answers import AnswerCheck
from ledger.errors import InputError
from ledger.suggestion import nearest
from ledger.workloads.fields import NAME, Part, Seconds, Text
from ledger.yaml_file import read_yaml

FILE = "task.yaml"
MOST_TASKS = 10_000


class CommandCheck(Part):
    """A command succeeds in a copy of the work, after the hidden files were laid over it."""

    kind: Literal["command"]
    command: Text
    time_limit: Seconds = 120.0


Check = Annotated[AnswerCheck | CommandCheck, Field(discriminator="kind")]


class Task(Part):
    """One task.yaml."""

    prompt: Text | None = None
    prompt_file: Text | None = None
    """A file beside task.yaml that holds the prompt."""
    check: Check
    base: Text | None = None
    """A folder of the suite that the place to work starts from; the task's own files are laid over it."""
    time_limit: Seconds | None = None
    """Of one attempt; the workload's where not set."""
    setup: Text | None = None
    """A command run in the place to work before the harness, unmeasured."""
    setup_limit: Seconds = 120.0
    visible_check: Text | None = None
    """A command that the harness may use to see how it is doing."""
    source: dict[str, Any] = Field(default_factory=dict)
    """Where the task comes from: repository, commit."""

    @model_validator(mode="after")
    def _one_prompt(self) -> Task:
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("must have exactly one of prompt and prompt_file")
        return self


@dataclass(frozen=True)
class Suite:
    """A checked suite."""

    folder: Path
    tasks: dict[str, Task]
    """{name: task}, sorted by name."""

    @property
    def digest(self) -> str:
        """Digest of every file of the suite."""
        return launch_files.tree_digest(self.folder)

    def described(self, name: str, time_limit: float) -> dict[str, Any]:
        """A task as the launch gets it: everything but what only the judge may know of an answer."""
        task = self.tasks[name]
        check: dict[str, Any] = {"kind": task.check.kind}
        if isinstance(task.check, CommandCheck):
            check |= {"command": task.check.command, "time_limit": task.check.time_limit}
        found = {
            "name": name,
            "prompt": _prompt(self.folder / name, task),
            "base": task.base,
            "check": check,
            "time_limit": task.time_limit or time_limit,
            "setup": task.setup,
            "setup_limit": task.setup_limit,
            "visible_check": task.visible_check,
        }
        return {key: value for key, value in found.items() if value is not None}


def read(folder: Path, only: tuple[str, ...] = ()) -> Suite:
    """Read and check a suite. Raises InputError: no such folder, no task, or a task.yaml's file, line and key."""
    if not folder.is_dir():
        raise InputError("no such folder of tasks", where=str(folder), todo="put the suite there, or mend its path")
    files = {path.parent.relative_to(folder).as_posix(): path for path in sorted(folder.rglob(FILE))}
    if not files:
        raise InputError(f"holds no task: no folder with a {FILE}", where=str(folder), todo="name the suite's folder")
    if len(files) > MOST_TASKS:
        raise InputError(f"holds more than {MOST_TASKS} tasks", where=str(folder), todo="name some with `suite.only`")
    for name in only:
        if name not in files:
            raise InputError(f"has no task {name!r}", where=str(folder), todo=nearest(name, files))
    chosen = {name: path for name, path in files.items() if not only or name in only}
    return Suite(folder, {name: _task(folder, name, path) for name, path in chosen.items()})


def _task(suite: Path, name: str, path: Path) -> Task:
    if not all(re.fullmatch(NAME, part) for part in name.split("/")):
        todo = "rename its folder: lower-case letters, digits and hyphens"
        raise InputError(f"the task's name {name!r} cannot be used", where=str(path.parent), todo=todo)
    source = read_yaml(path)
    try:
        task = Task.model_validate(source.data)
    except ValidationError as error:
        location, what, hint = benchmark_errors.explain(error, Task, source.data)
        key = ".".join(str(part) for part in location) or "file"
        raise InputError(f"{key}: {what}", where=source.where(location), todo=hint) from None
    _prompt(path.parent, task)
    if task.base is not None:
        _check_base(suite, task.base, source.where(("base",)))
    return task


def _check_base(suite: Path, base: str, where: str) -> None:
    found = suite / base
    if not found.resolve().is_relative_to(suite.resolve()):
        raise InputError(f"base: leads out of the suite, got {base!r}", where=where, todo="name a folder of the suite")
    if not found.is_dir():
        raise InputError(f"base: the suite has no folder {base!r}", where=where, todo="put it there, or mend its name")


def _prompt(folder: Path, task: Task) -> str:
    if task.prompt is not None:
        return task.prompt
    path = folder / str(task.prompt_file)
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError("leads out of the task's folder", where=str(path), todo="put the prompt beside task.yaml")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"the prompt cannot be read ({said})", where=str(path), todo="put it there") from None
    if not text.strip():
        raise InputError("the prompt says nothing", where=str(path), todo="write it")
    return text
