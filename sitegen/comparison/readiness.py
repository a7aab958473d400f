"""Is the evidence enough to decide on? A pure function from what was found to reasons, and to the next run to make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ledger.benchmark import Benchmark
from ledger.run import Role
from sitegen.comparison.decision import Outcome, is_unequal
from sitegen.comparison.downgrades import unequal_tuning
from sitegen.comparison.effect import LEAST_LAUNCHES
from sitegen.comparison.envelope import counted
from sitegen.comparison.selection import EARLIER, Selection
from sitegen.comparison.verdict import (
    Accounting,
    Count,
    Decision,
    Effect,
    FieldComparison,
    LimitCheck,
    Note,
    Readiness,
    Sameness,
    Standing,
    Treatment,
)
from sitegen.format import count, difference, ratios, share

LEAST_EXPLAINED = 0.8
"""Share of the difference that the accounting must explain before `wins` is ready."""


@dataclass(frozen=True)
class Findings:
    """Everything that readiness is read off."""

    selection: Selection
    benchmark: Benchmark
    outcome: Outcome
    effect: Effect
    limits: tuple[LimitCheck, ...]
    fields: tuple[FieldComparison, ...]
    accounting: Accounting
    counts: tuple[Count, ...]
    threshold: float
    definitions_differ: bool
    broken: tuple[Note, ...]
    """Evidence that is not what was sealed."""


@dataclass(frozen=True)
class Gap:
    """One reason, with the command that would fill it."""

    note: Note
    command: str


def assess(findings: Findings) -> Readiness:
    """Ready, or every reason why not; the next run is that of the first reason."""
    gaps = [gap for rule in _RULES for gap in rule(findings)]
    return Readiness(not gaps, tuple(gap.note for gap in gaps), gaps[0].command if gaps else None)


def collect_command(findings: Findings, *options: str) -> str:
    """`stackproof collect NAME`, with the profile that is judged."""
    profile = findings.selection.profile
    short = ["--profile", profile] if profile and profile != EARLIER else []
    return " ".join(["stackproof", "collect", findings.benchmark.name, *short, *options])


def _broken(findings: Findings) -> Iterable[Gap]:
    for note in findings.broken:
        yield Gap(note, "stackproof verify")


def _held(findings: Findings) -> Iterable[Gap]:
    again = collect_command(findings)
    for field in findings.fields:
        name = field.title or field.field
        if is_unequal(field):
            text = f"{name} differs: {field.baseline} against {field.candidate}"
            yield Gap(Note("held_field_differs", text), again)
    unknown = [f for f in findings.fields if f.treatment is Treatment.HELD and f.sameness is Sameness.UNKNOWN]
    if unknown and all(side.timed for side in findings.selection.sides):
        names = ", ".join(field.title or field.field for field in unknown)
        yield Gap(Note("held_field_unknown", f"not known on both sides: {names}"), again)


def _excluded(findings: Findings) -> Iterable[Gap]:
    for side in findings.selection.sides:
        rows = [row for row in side.plans if row.state == "excluded" and row.role is Role.TIMED]
        if rows and not side.of(Role.TIMED):
            text = f"{side.stack} was excluded: {rows[0].reason or 'no reason given'}"
            yield Gap(Note("excluded", text), rows[0].install or collect_command(findings))


def _launches(findings: Findings) -> Iterable[Gap]:
    for side in findings.selection.sides:
        done, made = len(side.timed), len(counted(side))
        if done >= LEAST_LAUNCHES or (made >= LEAST_LAUNCHES and _decided_by_envelope(findings)):
            continue
        text = f"{count(done, 'timed launch')} of {side.stack} completed, {LEAST_LAUNCHES} are the least"
        option = ("--retry-failed",) if made > done else ()
        runs = tuple(run.run_id for run in side.of(Role.TIMED))
        yield Gap(Note("too_few_launches", text, runs), collect_command(findings, *option))


def _missing(findings: Findings) -> Iterable[Gap]:
    for row in findings.counts:
        if row.missing and row.role in {Role.TIMED, Role.PROFILED}:
            text = f"{row.missing} of {row.planned} planned {row.role} trials of {row.stack} were not run"
            yield Gap(Note("trials_missing", text), collect_command(findings))


def _definitions(findings: Findings) -> Iterable[Gap]:
    if findings.definitions_differ:
        text = f"the two sides' values of {findings.effect.metric} come from different definitions"
        yield Gap(Note("definitions_differ", text), collect_command(findings))


def _envelope(findings: Findings) -> Iterable[Gap]:
    if not all(len(side.timed) for side in findings.selection.sides):
        return
    for check in findings.limits:
        if check.standing is Standing.UNKNOWN:
            text = f"whether {check.stack} holds {check.metric} {check.limit} is unknown ({check.basis})"
            yield Gap(Note("envelope_unknown", text), _more(findings))


def _interval(findings: Findings) -> Iterable[Gap]:
    """Only where the effect was to decide, and enough launches were made for it to."""
    if findings.outcome.decision is not Decision.INCONCLUSIVE:
        return
    effect = findings.effect
    if min(effect.baseline_launches, effect.candidate_launches) < LEAST_LAUNCHES:
        if all(len(side.timed) >= LEAST_LAUNCHES for side in findings.selection.sides):
            text = f"{effect.metric}: {effect.absent}"
            yield Gap(Note("objective_unknown", text), collect_command(findings))
    elif effect.absent:
        yield Gap(Note("no_interval", f"{effect.metric} has no interval: {effect.absent}"), _more(findings))
    elif not any(check.standing is Standing.UNKNOWN for check in findings.limits):
        found = f"95 % interval {ratios(effect.low, effect.high)}"
        text = f"the effect is not decided at the {share(findings.threshold)} threshold: {found}"
        if any(check.standing is Standing.FAILS for check in findings.limits):
            text = "no stack both holds the envelope and is known to lead"
        yield Gap(Note("interval_undecided", text), _more(findings))


def _tuning(findings: Findings) -> Iterable[Gap]:
    text = unequal_tuning(findings.selection)
    if text:
        yield Gap(Note("unequal_tuning", text), collect_command(findings))


def _explanation(findings: Findings) -> Iterable[Gap]:
    """A win by the effect must be explained; one by the envelope is explained by the limit that the other breaks."""
    if findings.outcome.decision is not Decision.WINS or findings.outcome.reason:
        return
    found = findings.accounting
    if found.explained_share is None:
        text = f"where the difference lies is not known: {found.absent}"
        yield Gap(Note("explanation_missing", text), collect_command(findings))
    elif found.explained_share < LEAST_EXPLAINED:
        explained, needed = share(found.explained_share), share(LEAST_EXPLAINED)
        text = f"the traces explain {explained} of the difference, {needed} are needed{_profilers_part(findings)}"
        runs = found.baseline_runs + found.candidate_runs
        more = 2 * max(len(found.baseline_runs), len(found.candidate_runs))
        yield Gap(Note("explanation_incomplete", text, runs), collect_command(findings, "--profiled", str(more)))


def _profilers_part(findings: Findings) -> str:
    """Words for a profiler that slows one side more than the other, by more than may stay unexplained; else nothing."""
    overhead, ratio = findings.accounting.profiler_overhead, findings.effect.ratio
    sides = [findings.selection.baseline.stack, findings.selection.candidate.stack]
    if ratio is None or any(side not in overhead for side in sides):
        return ""
    gap = abs(overhead[sides[0]] - overhead[sides[1]])
    if gap <= (1 - LEAST_EXPLAINED) * abs(1 - ratio):
        return ""
    costs = " and ".join(f"{side} by {difference(overhead[side], 'share')}" for side in sides)
    return (
        f"; the profiler itself changes {costs}, which is too uneven to tell a difference of {share(abs(1 - ratio))} "
        "apart from it: more profiled launches narrow the parts, but do not take this cost away"
    )


def _decided_by_envelope(findings: Findings) -> bool:
    return findings.outcome.decision is Decision.NONE_QUALIFIES or findings.outcome.reason is not None


def _more(findings: Findings) -> str:
    """More launches than were made, up to the declared most; where that is reached, twice as many."""
    made = max(len(side.of(Role.TIMED)) for side in findings.selection.sides)
    most = findings.benchmark.repeats.max
    return collect_command(findings, "--repeats", str(most if made < most else 2 * made))


_RULES: tuple[Callable[[Findings], Iterable[Gap]], ...] = (
    _broken,
    _excluded,
    _held,
    _definitions,
    _launches,
    _missing,
    _envelope,
    _interval,
    _tuning,
    _explanation,
)
