"""Which command would bring the evidence forward: one that launches at least one trial, never one that finds all done.

`collect` launches what has no run yet, so a command that says nothing new launches nothing. What is known here is read
off the cited runs; an environment that changed since then makes `collect` launch more, not less.
"""

from __future__ import annotations

from dataclasses import dataclass

from ledger import imported
from ledger.benchmark import Benchmark, Stack
from ledger.run import Reason, Role, State
from sitegen.comparison.effect import LEAST_LAUNCHES
from sitegen.comparison.selection import Selection, Side


@dataclass(frozen=True)
class Planner:
    """Commands of `stackproof collect` for one comparison."""

    selection: Selection
    benchmark: Benchmark
    """The file as it is now: what `collect` will read."""

    @property
    def plain(self) -> str:
        """The benchmark in full: also where a short form or an earlier version was judged, which it replaces."""
        return self._command()

    def least_timed(self) -> str:
        """Enough timed launches of both sides for a verdict, failed ones again."""
        return self._ensure(Role.TIMED, LEAST_LAUNCHES)

    def up_to(self, role: Role, repeat: int) -> str:
        """Launches of a role up to `repeat`, of which at least one was not made."""
        return self._ensure(role, repeat)

    def more_timed(self) -> str:
        """More timed launches than were made: up to the declared most, or twice as many where that is reached."""
        made, most = self.made(Role.TIMED), self.benchmark.repeats.max
        return self._ensure(Role.TIMED, most if made < most else 2 * made)

    def more_profiled(self) -> str:
        """Twice as many profiled launches as were made."""
        return self._ensure(Role.PROFILED, max(1, 2 * self.made(Role.PROFILED)))

    def interventions(self) -> str:
        """The tests of explanations that the file declares."""
        return self._command("--interventions")

    def made(self, role: Role) -> int:
        """The highest repeat of a role that was launched on either side."""
        return max((run.repeat for side in self.selection.sides for run in side.runs if run.role is role), default=0)

    def allows(self, side: Side, role: Role) -> bool:
        """Whether the file has a stack launched in a role."""
        stack = self.benchmark.stacks.get(side.stack)
        return stack is None or (role.value in stack.roles and not is_imported(stack))

    def _ensure(self, role: Role, wanted: int) -> str:
        """The command after which both sides have repeats 1 to `wanted` of a role, or more where the file says so."""
        if self.selection.profile is not None:
            return self.plain
        sides = [side for side in self.selection.sides if self.allows(side, role)]
        planned = [self._default(side, role) for side in sides]
        options = []
        if any(default < wanted for default in planned):
            planned = [wanted] * len(sides)
            options = ["--repeats" if role is Role.TIMED else "--profiled", str(wanted)]
        if any(_only_failed(side, role, most) for side, most in zip(sides, planned, strict=True)):
            options.append("--retry-failed")
        return self._command(*options)

    def _default(self, side: Side, role: Role) -> int:
        """How many launches of a role `collect` makes when nothing is said."""
        repeats, stack = self.benchmark.repeats, self.benchmark.stacks.get(side.stack)
        if role is Role.PROFILED:
            return repeats.profiled
        return (stack.repeats if stack else None) or repeats.initial

    def _command(self, *options: str) -> str:
        return " ".join(["stackproof", "collect", self.benchmark.name, *options])


def is_imported(stack: Stack | None) -> bool:
    """Whether a stack's evidence comes from elsewhere, so that no command launches it."""
    return stack is not None and stack.adapter == imported.ADAPTER


def _only_failed(side: Side, role: Role, most: int) -> bool:
    """Whether one of the repeats 1 to `most` failed each time: only `--retry-failed` launches it again."""
    states: dict[int, set[State]] = {}
    for run in side.of(role):
        if run.repeat <= most and run.reason != Reason.CANCELLED:
            states.setdefault(run.repeat, set()).add(run.state)
    return {State.FAILED} in states.values()
