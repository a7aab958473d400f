"""Virtual environments that stacks run in: made once from a requirements file, and kept under the workspace.

An environment's key is the digest of what it is made from. pip resolves versions when it is made; what it chose is
recorded with every run (the freeze), so that two hosts, or two days, that resolved differently can be told apart.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from collector import list_packages, supervised
from collector.interrupts import Interrupts
from collector.requirements_file import requirements_digest
from collector.stacks.interface import Adapter
from ledger.canonical import short_digest
from ledger.durable import storage_errors

FOLDER = ".stackproof/environments"
READY = "stackproof.json"
"""Written last into an environment: it is whole, and this is what it holds."""
LIMIT_S = 3_600.0
PASSED_ON = re.compile(
    r"PATH|HOME|USER|LANG|LC_ALL|TMPDIR|CC|CXX|CFLAGS|CMAKE_ARGS|LD_LIBRARY_PATH|XDG_CACHE_HOME|CUDA_HOME|ROCM_HOME"
    r"|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|PIP_[A-Z_]+|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy"
)
"""Variables that an install sees: where packages come from and how they are built, but no other secrets."""


@dataclass(frozen=True)
class Wanted:
    """An environment that a stack asks for; it may be there or not."""

    requirements: Path
    digest: str
    """Of all that the requirements file stands for."""
    repairs: int
    """Version of the adapter's repairs."""

    @property
    def key(self) -> str:
        """What names it: requirements, Python and repairs."""
        python = f"{platform.python_implementation()} {platform.python_version()} {platform.machine()}"
        return short_digest({"requirements": self.digest, "python": python, "repairs": self.repairs})

    def to_json(self) -> dict[str, Any]:
        """What environment.json says of it before it is made."""
        return {"key": self.key, "requirements": self.requirements.name, "requirements_digest": self.digest}


@dataclass(frozen=True)
class Made:
    """An environment that is there."""

    python: Path
    packages: dict[str, str]
    """{distribution: version} of all that it holds."""
    needs: dict[str, list[str]]
    """{distribution: what it needs of these}."""
    repaired: tuple[str, ...]
    took_s: float

    def describe(self, wish: Wanted, requires: tuple[str, ...]) -> dict[str, Any]:
        """What environment.json says of a stack that runs in it; `requires` are the adapter's distributions."""
        made = {**wish.to_json(), "repaired": list(self.repaired), "took_s": round(self.took_s, 3)}
        return {"packages": self.packages, "stack_packages": self.closure(requires), "virtual_environment": made}

    def closure(self, requires: tuple[str, ...]) -> dict[str, str]:
        """{distribution: version} of `requires` and, transitively, what those need; what is not there is left out."""
        found: dict[str, str] = {}
        waiting = list(requires)
        while waiting:
            name = waiting.pop()
            if name not in found and name in self.packages:
                found[name] = self.packages[name]
                waiting += self.needs.get(name, [])
        return dict(sorted(found.items()))


class BrokenEnvironmentError(Exception):
    """An environment that could not be made. `detail` says why in a sentence, `log` is what pip printed."""

    def __init__(self, detail: str, log: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.log = log


def wanted(requirements: Path, repairs: int = 0) -> Wanted:
    """The environment that a requirements file stands for. Raises InputError where the file cannot be used."""
    return Wanted(requirements, requirements_digest(requirements), repairs)


def prepare(
    wish: Wanted, adapter: Adapter | None, workspace: Path, say: Callable[[str], None], interrupts: Interrupts
) -> Made:
    """The environment, made now if it is not there. Raises BrokenEnvironmentError, StorageError."""
    home = workspace / FOLDER
    with storage_errors(home):
        home.mkdir(parents=True, exist_ok=True)
    folder = home / wish.key
    with FileLock(f"{folder}.lock"):
        found = _read(folder)
        if found is None:
            say(f"making the environment of {wish.requirements.name} ({wish.key}) …")
            found = _make(wish, adapter, folder, interrupts)
        return found


def _read(folder: Path) -> Made | None:
    try:
        data = json.loads((folder / READY).read_bytes())
        return Made(
            folder / "bin/python", data["packages"], data["needs"], tuple(data["repaired"]), float(data["took_s"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make(wish: Wanted, adapter: Adapter | None, folder: Path, interrupts: Interrupts) -> Made:
    """Install into `folder`; what a broken or interrupted install left there is removed first."""
    begin = time.monotonic()
    log = folder.with_name(f"{folder.name}.log")
    with storage_errors(folder):
        shutil.rmtree(folder, ignore_errors=True)
        log.unlink(missing_ok=True)
    python = folder / "bin/python"
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    _run([sys.executable, "-m", "venv", str(folder)], log.parent, "no virtual environment can be made", log, interrupts)
    path = wish.requirements.resolve()
    _run([*pip, "-r", str(path)], path.parent, f"{path.name} cannot be installed", log, interrupts)
    repaired = _repair(adapter, python) if adapter else []
    listed = json.loads(_list(python))
    took = time.monotonic() - begin
    content = {**wish.to_json(), **listed, "repaired": repaired, "took_s": took}
    with storage_errors(folder):
        aside = folder / f"{READY}.part"
        aside.write_text(json.dumps(content, indent=1, sort_keys=True))
        aside.replace(folder / READY)
    return Made(python, listed["packages"], listed["needs"], tuple(repaired), took)


def _repair(adapter: Adapter, python: Path) -> list[str]:
    try:
        return adapter.repair(python)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or error
        text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise BrokenEnvironmentError(f"it cannot be repaired after its install: {_why(text)}", text) from None


def _list(python: Path) -> str:
    """What the environment holds, as JSON."""
    command = [str(python), "-I", list_packages.__file__]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BrokenEnvironmentError("its packages cannot be listed", str(error)) from None


def _run(command: list[str], folder: Path, what: str, log: Path, interrupts: Interrupts) -> None:
    """Run `command`, with what it prints added to `log`. Raises BrokenEnvironmentError: what it said last."""
    passed = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
    result = log.with_suffix(".result")
    result.unlink(missing_ok=True)
    ended = supervised.run(
        command,
        folder=folder,
        variables={**passed, "PYTHONUNBUFFERED": "1", "PYTHONNOUSERSITE": "1"},
        stdout=log,
        stderr=log,
        result=result,
        timeout_s=LIMIT_S,
        interrupts=interrupts,
    )
    result.unlink(missing_ok=True)
    if ended.exit_code == 0:
        return
    text = log.read_text(encoding="utf-8", errors="replace")
    why = f"still running after {LIMIT_S:g} s" if ended.timed_out else _why(text)
    raise BrokenEnvironmentError(f"{what}: {why or ended.signal or f'exit code {ended.exit_code}'}", text)


def _why(log: str) -> str:
    """The line that tells why: pip's last error, else the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR:")]
    return (errors or lines or [""])[-1][:500]
