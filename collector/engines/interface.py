"""What an engine does: run one launch folder to its end and say how it ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from collector.interrupts import Interrupts
from collector.supervised import Exit

__all__ = ["Engine", "Exit", "LaunchRequest"]


@dataclass(frozen=True)
class LaunchRequest:
    """One `sh launch/run.sh`, with the folders it gets."""

    launch: Path
    """The folder that holds run.sh."""
    out: Path
    """STACKPROOF_OUT: empty, for the trial's output."""
    workspace: Path
    """STACKPROOF_WORKSPACE."""
    stdout: Path
    stderr: Path
    result: Path
    """Where the supervisor writes how it ended."""
    timeout_s: float
    variables: dict[str, str]
    """Environment variables beside those that the host passes on."""
    interrupts: Interrupts
    """The first one ends the trial."""
    python: Path | None = None
    """The stack's own Python; the collector's where None."""
    client_python: Path | None = None
    """Of the program that drives the stack, where it has one."""


class Engine(ABC):
    """A way to run launches."""

    name: ClassVar[str]

    @abstractmethod
    def launch(self, request: LaunchRequest, started: Callable[[int], None]) -> Exit:
        """Run to the end; `started` is told the process id above the trial's own processes.

        An interrupt ends the trial, and returns an Exit with `cancelled` unless the trial had ended by itself.
        """
