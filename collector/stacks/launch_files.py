"""Files that a stack brings from the workspace into its launch, and values that it gives to what it launches."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from collector.stacks.interface import Job, MissingPrerequisite
from ledger import quantity
from ledger.canonical import digest, file_digest
from ledger.errors import InputError
from ledger.manifest import list_files

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
MOST_INPUT_FILES = 100_000


def _plain_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | int | float):
        return value
    raise ValueError(f"must be text, a number, true or false, got {quantity.shown(value)}")


PlainValue = Annotated[Any, BeforeValidator(_plain_value)]
"""A setting that can be given to a process."""


def problem(job: Job, path: str, *, folders: bool = False) -> str | None:
    """What is wrong with a path that the benchmark file names, in a few words."""
    found = job.find(path)
    if Path(path).is_absolute() or not found.resolve().is_relative_to(job.workspace.resolve()):
        return f"must be a path inside the workspace, got {quantity.shown(path)}"
    if folders and found.is_dir():
        return None
    return None if found.is_file() else f"{path} is not there" if not found.exists() else f"{path} is no file"


def below(job: Job, path: Path) -> str:
    """A path as a launch names it: from the workspace's root, whole where it lies elsewhere; links stay as they are."""
    path, root = (Path(os.path.abspath(each)) for each in (path, job.workspace))  # noqa: PTH100 (resolve follows links)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def placed(job: Job, path: Path) -> str:
    """The same with `{workspace}` in place of the root, for what serve.py fills in."""
    named = below(job, path)
    return named if Path(named).is_absolute() else f"{{workspace}}/{named}"


def copy(job: Job, paths: Iterable[str], folder: Path) -> None:
    """Copy files into a launch, each under the path that the benchmark file has for it."""
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(job.find(path), target)
        target.chmod(0o755)


def tree_digest(path: Path) -> str:
    """Digest of a file, or of every file below a folder with its name. Raises InputError for one that is too large."""
    if path.is_file():
        return file_digest(path)
    files = list_files(path)
    if len(files) > MOST_INPUT_FILES:
        raise InputError(f"holds more than {MOST_INPUT_FILES} files", where=str(path), todo="name the files that count")
    return digest({each.relative_to(path).as_posix(): file_digest(each) for each in files if each.is_file()})


def missing_variable(names: Iterable[str]) -> MissingPrerequisite | None:
    """The first variable that a launch needs and this process's environment lacks."""
    name = next((name for name in names if not os.environ.get(name)), None)
    return MissingPrerequisite(f"the variable {name} is not set", f"export {name}=…") if name else None


def setting_variables(parameters: Mapping[str, Any]) -> dict[str, str]:
    """{STACKPROOF_SETTING_<NAME>: the value as text}."""
    return {f"STACKPROOF_SETTING_{name.upper()}": _text(value) for name, value in parameters.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
