"""Which runs a judgement rests on, and which of the same two stacks it leaves out.

Nothing here looks at a measured value: what is cited is decided by what was declared and when it ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ledger.benchmark import BenchmarkFile, Comparison
from ledger.run import Reason, Role, State
from sitegen.comparison.evidence import Evidence, PlannedTrial, TrialRun
from sitegen.comparison.verdict import Note
from sitegen.format import count

EXCLUDED = "excluded"
"""State of a planned trial that is not launched."""
_BESIDE = frozenset({Role.SEARCH, Role.TRANSFER, Role.INTERVENTION})
"""Roles whose launches are not judged."""
EARLIER = "earlier version"
"""Stands for a profile's name where the runs did work that the file does not declare any more."""


@dataclass(frozen=True)
class Side:
    """One stack's cited runs: one workload, one configuration."""

    stack: str
    runs: tuple[TrialRun, ...]
    plans: tuple[PlannedTrial, ...]
    """Rows of the newest plan that names the stack."""
    tuning: tuple[TrialRun, ...] = ()
    """Trials of the search that found its settings, in order; failed ones and those set aside too."""
    refused: tuple[PlannedTrial, ...] = ()
    """Settings that the search passed over, since the stack cannot have them."""

    def of(self, role: Role, state: State | None = None) -> tuple[TrialRun, ...]:
        """Cited runs of a role, in launch order."""
        return tuple(run for run in self.runs if run.role is role and state in {None, run.state} and not run.set_aside)

    @property
    def timed(self) -> tuple[TrialRun, ...]:
        """Timed launches that completed."""
        return self.of(Role.TIMED, State.COMPLETED)

    @property
    def profiled(self) -> tuple[TrialRun, ...]:
        """Launches under the profiler that completed."""
        return self.of(Role.PROFILED, State.COMPLETED)


@dataclass(frozen=True)
class Selection:
    """Both sides, cut to the same workload."""

    baseline: Side
    candidate: Side
    workload_digest: str
    profile: str | None
    """The short form whose work was judged; None for the benchmark in full."""
    left_out: tuple[Note, ...]

    @property
    def sides(self) -> tuple[Side, Side]:
        """Baseline, candidate."""
        return self.baseline, self.candidate

    def before(self, moment: str) -> Selection:
        """The same with nothing but the runs that had started before `moment`."""
        sides = [replace(side, runs=tuple(run for run in side.runs if run.started_at < moment)) for side in self.sides]
        return replace(self, baseline=sides[0], candidate=sides[1])


def select(evidence: Evidence, file: BenchmarkFile, comparison: Comparison) -> Selection:
    """The runs to judge `comparison` by, and beside them the searches that found their settings."""
    everything, evidence = evidence, _judged(evidence)
    stacks = (comparison.baseline, comparison.candidate)
    concerned = [run for run in evidence.runs if run.stack in stacks]
    digest, profile = _workload(evidence, file, stacks)
    sides, left_out = [], []
    for stack in stacks:
        own = [run for run in concerned if run.stack == stack]
        chosen = _configured([run for run in own if run.workload_digest == digest])
        tuning, refused = _tuning(everything, stack, chosen, digest)
        sides.append(Side(stack, tuple(chosen), _newest_plan(evidence.plans, stack, digest), tuning, refused))
        left_out += _left_out(stack, own, chosen, digest)
    return Selection(sides[0], sides[1], digest, profile, tuple(left_out))


def _judged(evidence: Evidence) -> Evidence:
    """Without launches that compare nothing: those of searches, transfers, and tests of explanations."""
    return replace(
        evidence,
        runs=tuple(run for run in evidence.runs if run.role not in _BESIDE),
        plans=tuple(row for row in evidence.plans if row.role not in _BESIDE),
    )


def _tuning(
    evidence: Evidence, stack: str, chosen: list[TrialRun], digest: str
) -> tuple[tuple[TrialRun, ...], tuple[PlannedTrial, ...]]:
    """The trials of the search that found the settings of the `chosen` runs, and what it passed over.

    As long as nothing was launched with what it found, that is the newest search.
    """
    own = [run for run in evidence.runs if run.stack == stack and run.search and run.workload_digest == digest]
    named = {run.tuned_by for run in chosen}
    origins = [run for run in own if run.run_id in named] if chosen else own
    newest = max(origins, key=_by_launch, default=None)
    if newest is None or newest.search is None:
        return (), ()
    space = newest.search.space
    trials = [run for run in own if run.search and run.search.space == space and run.reason != Reason.CANCELLED]
    rows = {
        row.trial_key: row
        for row in evidence.plans
        if row.space == space and row.stack == stack and row.state == EXCLUDED
    }
    return tuple(sorted(trials, key=_by_number)), tuple(rows.values())


def _by_number(run: TrialRun) -> tuple[int, bool, str]:
    return run.search.number if run.search else 0, bool(run.set_aside), run.started_at


def _workload(evidence: Evidence, file: BenchmarkFile, stacks: tuple[str, str]) -> tuple[str, str | None]:
    """The declared work where both sides ran it, else the newest work that both ran, else that both planned."""
    declared = file.benchmark.workload_digest
    timed, profiled = (
        [
            (run.started_at, run.stack, run.workload_digest, run.profile)
            for run in evidence.runs
            if run.role is role and not run.set_aside
        ]
        for role in (Role.TIMED, Role.PROFILED)
    )
    planned = [(row.created_at, row.stack, row.workload_digest, row.profile) for row in evidence.plans]
    for known in (timed, profiled, planned):
        for digest in (declared, *(row[2] for row in sorted(known, reverse=True, key=lambda row: row[0]))):
            group = [row for row in known if row[2] == digest and row[1] in stacks]
            if {row[1] for row in group} == set(stacks):
                return digest, file.profile if digest == declared else _profile_of(row[3] for row in group)
    return declared, file.profile


def _profile_of(profiles: Iterable[str | None]) -> str:
    """The profile that most of a group name; work that no profile of the file declares any more is called so."""
    return Counter(profiles).most_common(1)[0][0] or EARLIER


def _configured(runs: list[TrialRun]) -> list[TrialRun]:
    """The runs with the newest timed launch's settings and software: others are not its repeats."""
    timed = [run for run in runs if run.role is Role.TIMED and not run.set_aside] or runs
    if not timed:
        return []
    newest = max(timed, key=lambda run: (run.started_at, run.launch_order)).configuration
    return sorted((run for run in runs if run.configuration == newest), key=_by_launch)


def _by_launch(run: TrialRun) -> tuple[str, str, int]:
    return run.started_at, run.batch, run.launch_order


def _newest_plan(plans: Iterable[PlannedTrial], stack: str, digest: str) -> tuple[PlannedTrial, ...]:
    own = [row for row in plans if row.stack == stack and row.workload_digest == digest]
    newest = max(((row.created_at, row.batch) for row in own), default=None)
    return tuple(row for row in own if (row.created_at, row.batch) == newest)


def _left_out(stack: str, own: list[TrialRun], chosen: list[TrialRun], digest: str) -> list[Note]:
    """Notes on this stack's runs that are not cited: set aside, other work, other settings or software."""
    others = [run for run in own if run not in chosen and not run.set_aside]
    groups = {
        "set_aside": (
            [run for run in own if run.set_aside],
            "set aside by a status record",
        ),
        "other_workload": ([run for run in others if run.workload_digest != digest], "did other work"),
        "other_configuration": (
            [run for run in others if run.workload_digest == digest],
            "had other settings or software",
        ),
    }
    return [
        Note(code, f"{count(len(runs), 'run')} of {stack} {why}", tuple(run.run_id for run in runs))
        for code, (runs, why) in groups.items()
        if runs
    ]
