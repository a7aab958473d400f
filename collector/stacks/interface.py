"""What an adapter does for the collector.

An adapter turns a planned trial into a launch folder that runs by itself (`sh launch/run.sh`), and turns what that
launch left behind into samples and traces. It never imports the framework: that happens in the launched process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ledger.benchmark import Benchmark, Stack
from ledger.run import Arm, Reason, Role, SearchStep, Tuned
from ledger.yaml_file import Location


@dataclass(frozen=True)
class Job:
    """A stack with the work that it is to do."""

    benchmark: Benchmark
    stack_name: str
    settings: dict[str, Any]
    """Resolved: defaults filled in by the adapter."""
    workspace: Path
    """The root that the benchmark file's paths start from."""
    beside: Path | None = field(default=None, kw_only=True)
    """The benchmark file's folder, where files that came with it lie."""

    @property
    def stack(self) -> Stack:
        """The stack as the benchmark file declares it."""
        return self.benchmark.stacks[self.stack_name]

    def find(self, path: str) -> Path:
        """Where a path of the benchmark file is: below the workspace's root, else beside the file itself."""
        found = self.workspace / path
        if self.beside is not None and not found.exists() and (self.beside / path).exists():
            return self.beside / path
        return found

    @property
    def has_environment(self) -> bool:
        """Whether it runs in a virtual environment of its own, made from its requirements."""
        return self.stack.environment.requirements is not None


@dataclass(frozen=True)
class Trial(Job):
    """One planned launch of one stack."""

    role: Role
    repeat: int
    """Counts from 1 within stack and role."""
    trial_key: str
    arm: Arm | None = field(default=None, kw_only=True)
    """Which launch of an intervention it is."""
    search: SearchStep | None = field(default=None, kw_only=True)
    """What chose its settings, when it is part of a search."""
    tuned: Tuned | None = field(default=None, kw_only=True)
    """Where its settings come from, when a search chose them before."""

    @property
    def label(self) -> str:
        """`eager timed 3`, `eager fewer-launches changed 3`, or `eager search 3 (threads=2)`."""
        name = f"{self.stack_name} {self.arm.label if self.arm else self.role} {self.repeat}"
        return f"{name} ({self.said})" if self.said and not self.arm else name

    @property
    def said(self) -> str:
        """What sets it apart from other launches of its stack and role, in words; empty where nothing does."""
        if self.search:
            return self.search.label
        if self.role is Role.TRANSFER and self.tuned:
            return f"settings of {self.tuned.stack}"
        return self.arm.label if self.arm else ""


@dataclass(frozen=True)
class MissingPrerequisite:
    """Why a trial cannot be launched, and the command that would change it; None where nothing would."""

    what: str
    install: str | None


@dataclass(frozen=True)
class Ending:
    """How the launched process ended, as its supervisor saw it."""

    exit_code: int | None
    signal: str | None
    """`SIGKILL` and the like, when a signal ended it."""
    timed_out: bool
    cancelled: bool
    log_tail: tuple[str, ...]
    """Last lines of stdout, then of stderr, redacted."""


@dataclass(frozen=True)
class Observed:
    """What the adapter found in the trial's output and moved into the run folder."""

    complete: bool
    """Whether all that the trial should have written is there."""
    detail: str | None = None
    """What is missing, in a few words, when it is not complete."""
    absent: dict[str, str] = field(default_factory=dict)
    """{what was not measured: why}."""
    anything: bool = True
    """False when the trial wrote nothing at all."""


class SettingsError(ValueError):
    """A stack's settings that the adapter cannot use. `key` is the setting's name or empty; `known` what it knows."""

    def __init__(self, key: str, what: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.key = key
        self.what = what
        self.known = known


class WorkloadError(ValueError):
    """A workload that the adapter cannot run as declared. `location` is the key's place below `workload`."""

    def __init__(self, location: Location, what: str, todo: str | None = None) -> None:
        super().__init__(what)
        self.location = location
        self.what = what
        self.todo = todo


class Adapter(ABC):
    """One kind of stack. Implementations are stateless."""

    name: ClassVar[str]
    """As benchmark files write it."""
    workload_kinds: ClassVar[frozenset[str]]
    """Which `workload.kind` it can run."""
    requires: ClassVar[tuple[str, ...]]
    """Distributions whose versions, with all that they need, are the stack's software environment."""
    any_of_requires: ClassVar[bool] = False
    """Whether one of `requires` is enough."""
    install: ClassVar[str | None] = None
    """The command that adds `requires`, or the step."""
    roles: ClassVar[frozenset[Role]] = frozenset({Role.WARMUP, Role.TIMED, Role.PROFILED})
    """What launching it can be for: without a profiler there are no profiled launches."""
    client_requirements: ClassVar[Path | None] = None
    """Requirements of the program that drives the stack, where it has one: it runs in an environment of its own."""
    repairs: ClassVar[int] = 0
    """Version of what `repair` does: an environment that was repaired in another way is made again."""

    @abstractmethod
    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        """The settings with every default filled in, as plain JSON data. Raises SettingsError."""

    def check(self, job: Job) -> None:  # noqa: B027 (most have nothing to look up)
        """Look at the files that the work needs, before anything is launched.

        Raises WorkloadError or SettingsError where the benchmark file names what is not there, InputError where one of
        those files is wrong.
        """

    @abstractmethod
    def digests(self, job: Job) -> dict[str, str]:
        """{`model`, `dataset`, `adapter`: sha256} of what decides the work beside the settings."""

    @abstractmethod
    def missing(self, job: Job) -> MissingPrerequisite | None:
        """What this machine lacks to launch the stack, or None. Its own environment, where it has one, is not asked."""

    def secrets(self, job: Job) -> tuple[str, ...]:  # noqa: ARG002 (most need none)
        """Variables of the collector's environment that the launch may see, such as a service's key; never recorded."""
        return ()

    def repair(self, python: Path) -> list[str]:  # noqa: ARG002 (most need none)
        """Put right what an install of the stack's requirements leaves broken; returns what was done, a line each.

        Called once, after the install into the environment of `python`. Raises subprocess.CalledProcessError or OSError
        where that fails.
        """
        return []

    @abstractmethod
    def write_launch(self, trial: Trial, folder: Path) -> None:
        """Write `run.sh` and all that it needs into `folder` (the run folder's `launch/`).

        `sh run.sh` must work with STACKPROOF_OUT (an empty folder for the trial's output) and STACKPROOF_WORKSPACE
        (where caches, models and data sets live) set, and use `${STACKPROOF_PYTHON:-python3}` for Python, and
        `${STACKPROOF_CLIENT_PYTHON:-python3}` for the program of `client_requirements`.
        """

    @abstractmethod
    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:
        """Turn what the trial wrote into `out` into `run`'s samples/ and traces/. Never raises on bad output."""

    @abstractmethod
    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        """The adapter's part of the workload card: `workload.model`, `workload.data`, `Model-executor`, … (nested).

        `run` is the folder that is about to be sealed; what the trial said about itself is in its samples/.
        """

    def failure_reason(self, ending: Ending) -> Reason | None:  # noqa: ARG002 (implementations read it)
        """The reason that the log gives for a non-zero end, or None where it gives none that the adapter knows."""
        return None
