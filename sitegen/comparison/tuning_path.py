"""How settings were found by searches, and what they do on other stacks: what a verdict holds of both."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TuningTrial:
    """One trial of a search."""

    number: int
    """Its place, from 1."""
    parameters: str
    """`compile=true, threads=2`: what is searched."""
    chosen_by: str
    """In words: `TPE, told 12 trials`."""
    value: float | None
    """The objective's; None where it failed or did not measure it."""
    outside: tuple[str, ...]
    """Limits of the envelope that it broke, in words."""
    state: str
    reason: str | None
    detail: str | None
    seconds: float
    """From the launch's start to its end."""
    set_aside: str | None
    run_id: str


@dataclass(frozen=True)
class SettingEffect:
    """What one setting does alone: the ratio of two trials that differ in nothing else."""

    setting: str
    before: str
    after: str
    ratio: float | None
    """Value with it over value without it; None where that trial was not made or has no value."""
    trials: tuple[int, ...]
    """Numbers of the two trials."""


@dataclass(frozen=True)
class TuningPath:
    """The search of one stack's settings, and what came of it."""

    stack: str
    method: str
    metric: str
    title: str
    unit: str
    lower_is_better: bool
    settings: tuple[str, ...]
    """What was searched."""
    trials: tuple[TuningTrial, ...]
    refused: tuple[str, ...]
    """Settings that the stack cannot have and the search passed over, each with the reason."""
    budget: str | None
    """`12 trials`, as the file declares it; None where it declares no search any more."""
    ended: str | None
    """Why it ended; None where more trials of its budget are left."""
    seconds: float
    """Time of all its launches."""
    chosen: int | None
    """Number of the trial whose settings the timed launches have; None where none was launched with them yet."""
    searched: float | None
    """The objective in that trial."""
    confirmed: float | None
    """Its mean over the timed launches with the same settings."""
    low: float | None
    high: float | None
    """95 % interval of that mean."""
    launches: int
    origin: int | None
    """Number of the trial that effects start from: the stack's own settings where they were tried, else the first."""
    effects: tuple[SettingEffect, ...]
    """From `origin` to the chosen trial, one setting at a time."""
    interaction: float | None
    """What is left: ratio of the two trials over the product of the effects. None unless each of these is there."""

    @property
    def counting(self) -> tuple[TuningTrial, ...]:
        """Trials that were not set aside."""
        return tuple(trial for trial in self.trials if not trial.set_aside)

    @property
    def failed(self) -> tuple[TuningTrial, ...]:
        """Of these, those without a value."""
        return tuple(trial for trial in self.counting if trial.value is None)

    @property
    def outside(self) -> tuple[TuningTrial, ...]:
        """Of these, those that broke a limit."""
        return tuple(trial for trial in self.counting if trial.value is not None and trial.outside)

    @property
    def total(self) -> float | None:
        """Ratio of the chosen trial's value to that of the origin."""
        values = {trial.number: trial.value for trial in self.counting}
        before, after = values.get(self.origin or 0), values.get(self.chosen or 0)
        return after / before if before and after is not None else None


@dataclass(frozen=True)
class TransferCell:
    """One stack with the best settings of one stack."""

    stack: str
    """What was launched."""
    settings_of: str
    """Whose best settings it had."""
    slowdown: float | None
    """How many times worse the objective is than with the stack's own best settings; 1 is as good."""
    low: float | None
    high: float | None
    """95 % interval, over rounds."""
    rounds: int
    """In which both launches have a value."""
    absent: str | None
    """Why there is no slowdown, or no interval."""
    evidence: tuple[str, ...]
    """Run ids."""
    outside: tuple[str, ...] = ()
    """Metrics whose limit one of the launches broke."""

    @property
    def is_better(self) -> bool:
        """Whether the whole interval says that the stack's own search missed better settings, inside the envelope."""
        return self.high is not None and self.high < 1 and not self.outside


@dataclass(frozen=True)
class Transfer:
    """The matrix of some stacks; a row of cells for each, in the order of `stacks`."""

    stacks: tuple[str, ...]
    metric: str
    title: str
    rows: tuple[tuple[TransferCell, ...], ...]

    @property
    def worst(self) -> TransferCell | None:
        """The largest slowdown."""
        known = [cell for row in self.rows for cell in row if cell.slowdown is not None]
        return max(known, key=lambda cell: cell.slowdown or 0.0, default=None)

    @property
    def missed(self) -> tuple[TransferCell, ...]:
        """Stacks that are better with another one's settings than with their own best."""
        return tuple(cell for row in self.rows for cell in row if cell.is_better)
