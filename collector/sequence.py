"""In which order trials are launched: so that drift of the host weighs on all stacks alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from collector.stacks.registry import ADAPTERS
from ledger.benchmark import BenchmarkFile
from ledger.errors import InputError
from ledger.run import Arm, Role, SearchStep, Tuned

MOST_TRIALS = 10_000
"""Of one plan."""

T = TypeVar("T")

Launchable = tuple[str, str | None]
"""A stack as the file has it, or with the change named second."""


@dataclass(frozen=True)
class Step:
    """One launch of a sequence."""

    stack: str
    role: Role
    repeat: int
    arm: Arm | None = None
    search: SearchStep | None = None
    tuned: Tuned | None = None

    @property
    def launchable(self) -> Launchable:
        """What is launched."""
        if self.role is Role.SEARCH and self.search:
            return self.stack, f"search {self.search.number}"
        if self.role is Role.TRANSFER and self.tuned:
            return self.stack, f"transfer {self.tuned.stack}"
        return self.stack, self.arm.intervention if self.arm and self.arm.changed else None


def launch_sequence(file: BenchmarkFile, stacks: list[str], repeats: int | None, profiled: int | None) -> list[Step]:
    """The launches that stacks are compared by.

    One warm-up each, then timed rounds that run forward and backward in turn (A B B A …), then profiled rounds in the
    same way, apart from the timed ones.
    """
    benchmark = file.benchmark
    declared = benchmark.stacks
    timed = {name: repeats or declared[name].repeats or benchmark.repeats.initial for name in stacks}
    traced = dict.fromkeys(stacks, benchmark.repeats.profiled if profiled is None else profiled)
    refuse_too_many(file, len(stacks) + sum(timed.values()) + sum(traced.values()))
    sequence: list[Step] = []
    for role, counts in ((Role.WARMUP, dict.fromkeys(stacks, 1)), (Role.TIMED, timed), (Role.PROFILED, traced)):
        for repeat in range(1, max(counts.values(), default=0) + 1):
            wanted = [name for name in turned(stacks, repeat) if repeat <= counts[name] and _has_role(file, name, role)]
            sequence += [Step(name, role, repeat) for name in wanted]
    return sequence


def intervention_sequence(file: BenchmarkFile, stacks: list[str], repeats: int | None) -> list[Step]:
    """The launches that test explanations, one intervention after the other.

    Each round launches both stacks as they are and the changed one, every other round backward: what the change does is
    read off launches of the same minutes.
    """
    benchmark = file.benchmark
    steps: list[Step] = []
    for comparison in benchmark.comparisons:
        sides = (comparison.baseline, comparison.candidate)
        for name, change in comparison.interventions.items() if set(sides) <= set(stacks) else ():
            arms = [(side, Arm(name, changed=False)) for side in sides] + [(change.stack, Arm(name, changed=True))]
            for repeat in range(1, (repeats or benchmark.repeats.initial) + 1):
                steps += [Step(stack, Role.INTERVENTION, repeat, arm) for stack, arm in turned(arms, repeat)]
    if not steps:
        what = "declares no intervention" + (" between the chosen stacks" if stacks != list(benchmark.stacks) else "")
        todo = "add `interventions` to one of its comparisons: each changes a stack so that a claim's cause is gone"
        raise InputError(what, where=str(file.source.path), todo=todo)
    refuse_too_many(file, len(steps))
    return steps


def turned(row: Sequence[T], repeat: int) -> Sequence[T]:
    """The row, backward in every other round."""
    return row if repeat % 2 else row[::-1]


def refuse_too_many(file: BenchmarkFile, count: int) -> None:
    """Raise InputError for more launches than one plan holds."""
    if count > MOST_TRIALS:
        what = f"asks for {count} launches, and one plan holds at most {MOST_TRIALS}"
        raise InputError(what, where=str(file.source.path), todo="plan fewer stacks (--stack) or repeats")


def _has_role(file: BenchmarkFile, name: str, role: Role) -> bool:
    """Whether a stack is launched for `role`: the file says so, and its adapter can do that."""
    stack = file.benchmark.stacks[name]
    return role in stack.roles and role in ADAPTERS[stack.adapter].roles
