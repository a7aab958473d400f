"""What `collect` shows while it works: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from collector.stacks.interface import Trial
from ledger.plain_text import neutral
from ledger.run import Run, State


class Progress:
    """Lines and a bar on stderr, so that stdout stays for results."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar: Bar | None = None
        self._total = 0
        self._began = 0.0
        self._label = ""

    def say(self, text: str) -> None:
        """One line."""
        self._console.print(neutral(text), markup=False)

    @contextmanager
    def launches(self, total: int) -> Iterator[None]:
        """The span in which `total` trials are launched."""
        self._total = total
        if not self._console.is_terminal or total == 0:
            yield
            return
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        with Bar(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self._console) as self._bar:
            self._bar.add_task("launching", total=total)
            yield
        self._bar = None

    def begin(self, trial: Trial, order: int) -> None:
        """A trial is launched now."""
        self._began = time.monotonic()
        self._label = f"[{order}/{self._total}] {trial.label}"
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=trial.label)

    def end(self, run: Run, path: Path) -> None:
        """A trial is sealed."""
        took = time.monotonic() - self._began
        outcome = run.outcome
        how = "completed" if outcome.state is State.COMPLETED else f"failed: {outcome.reason}"
        self.say(f"{self._label}: {how} in {took:.1f} s, sealed as {path.name}")
        if outcome.detail:
            self.say(f"    {outcome.detail}")
        if self._bar:
            self._bar.advance(self._bar.task_ids[0])
