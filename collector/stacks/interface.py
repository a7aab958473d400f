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
from ledger.run import Reason, Role


@dataclass(frozen=True)
class Trial:
    """One planned launch of one stack."""

    benchmark: Benchmark
    stack_name: str
    settings: dict[str, Any]
    """Resolved: defaults filled in by the adapter."""
    role: Role
    repeat: int
    """Counts from 1 within stack and role."""
    trial_key: str

    @property
    def stack(self) -> Stack:
        """The stack as the benchmark file declares it."""
        return self.benchmark.stacks[self.stack_name]


@dataclass(frozen=True)
class MissingPrerequisite:
    """Why this machine cannot launch a stack, and the command that would change it."""

    what: str
    install: str


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
    """A stack's settings that the adapter cannot use. `key` is the setting's name; `known` the names it knows."""

    def __init__(self, key: str, what: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.key = key
        self.what = what
        self.known = known


class Adapter(ABC):
    """One kind of stack. Implementations are stateless."""

    name: ClassVar[str]
    """As benchmark files write it."""
    workload_kinds: ClassVar[frozenset[str]]
    """Which `workload.kind` it can run."""
    requires: ClassVar[tuple[str, ...]]
    """Distributions whose versions, with all that they need, are the stack's software environment."""

    @abstractmethod
    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        """The settings with every default filled in, as plain JSON data. Raises SettingsError."""

    @abstractmethod
    def digests(self, benchmark: Benchmark) -> dict[str, str]:
        """{`model`, `dataset`, `adapter`: sha256} of what decides the work beside the settings."""

    @abstractmethod
    def missing(self, settings: dict[str, Any]) -> MissingPrerequisite | None:
        """What this machine lacks to launch a stack with these settings, or None."""

    @abstractmethod
    def write_launch(self, trial: Trial, folder: Path) -> None:
        """Write `run.sh` and all that it needs into `folder` (the run folder's `launch/`).

        `sh run.sh` must work with STACKPROOF_OUT (an empty folder for the trial's output) and STACKPROOF_WORKSPACE
        (where caches, models and data sets live) set, and use `${STACKPROOF_PYTHON:-python3}` for Python.
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
