"""Is the evidence enough to decide on? A pure function from what was found to reasons, and to the next run to make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ledger.benchmark import Benchmark
from ledger.run import Role
from sitegen.comparison.decision import NOT_OBSERVED, ONLY_ONE_QUALIFIES, Outcome, is_unequal
from sitegen.comparison.effect import LEAST_LAUNCHES
from sitegen.comparison.envelope import counted
from sitegen.comparison.explanation import Claim, Fate, Prediction
from sitegen.comparison.next_run import Planner, is_imported
from sitegen.comparison.selection import Selection
from sitegen.comparison.sentence import judged_text, prediction_text, wrong_way_text
from sitegen.comparison.treatments import Seeing
from sitegen.comparison.unequal_work import WORK
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
    claims: tuple[Claim, ...]
    """The claim that accounts for most first, also where a test refuted it."""
    predictions: tuple[Prediction, ...]
    counts: tuple[Count, ...]
    threshold: float
    definitions_differ: bool
    wrong_way: bool
    """The objective asks for the worse."""
    broken: tuple[Note, ...]
    """Evidence that is not what was sealed."""
    treatments: tuple[Seeing, ...] = ()
    """What each side is said to run with, and whether its traces show it."""
    unobserved: Mapping[str, str] = field(default_factory=dict)
    """{run id: what its source says was not seen of what it is named for}."""
    undeclared: str | None = None
    """Why it cannot be read what was declared before the launches."""
    unequal_tuning: str | None = None
    """Words where the two sides were not searched equally long."""

    @property
    def runs(self) -> Planner:
        """The commands that would launch something."""
        return Planner(self.selection, self.benchmark)


@dataclass(frozen=True)
class Gap:
    """One reason, with what would change it: a command that launches trials, or else a step in words."""

    note: Note
    command: str | None = None
    step: str | None = None


def assess(findings: Findings) -> Readiness:
    """Ready, or every reason why not; the next run or step is that of the first reason."""
    gaps = [gap for rule in _RULES for gap in rule(findings)]
    if not gaps:
        return Readiness(True, (), None)
    return Readiness(False, tuple(gap.note for gap in gaps), gaps[0].command, gaps[0].step)


def _broken(findings: Findings) -> Iterable[Gap]:
    for note in findings.broken:
        yield Gap(note, step="run `stackproof verify`, and restore what it names from git")


def _undeclared(findings: Findings) -> Iterable[Gap]:
    if findings.undeclared:
        text = f"what was declared before the launches cannot be read: {findings.undeclared}"
        runs = tuple(run.run_id for side in findings.selection.sides for run in side.of(Role.TIMED))
        yield Gap(
            Note("declaration_unreadable", text, runs[:1]), step=_launch_again(findings, "the launches before it")
        )


def _wrong_way(findings: Findings) -> Iterable[Gap]:
    if findings.wrong_way:
        step = "correct `envelope.objective` in the benchmark file; " + _launch_again(findings, "the launches so far")
        yield Gap(Note("objective_wrong_way", wrong_way_text(findings.effect)), step=step)


def _launch_again(findings: Findings, which: str) -> str:
    """Words for launches that cannot be used, and stand in the way of new ones."""
    return f"set {which} aside with `stackproof retract RUN --why …`, then run `{findings.runs.plain}`"


def _held(findings: Findings) -> Iterable[Gap]:
    for each in findings.fields:
        name = each.title or each.field
        if is_unequal(each):
            unequal = each.field.startswith(WORK)
            text = f"{name} differs: {each.baseline} against {each.candidate}"
            step = f"make the {name} the same on both sides; " + _launch_again(findings, "the launches that differ")
            code = "unequal_work" if unequal else "held_field_differs"
            yield Gap(Note(code, f"unequal work: {text}" if unequal else text), step=step)
    unknown = [f for f in findings.fields if f.treatment is Treatment.HELD and f.sameness is Sameness.UNKNOWN]
    if unknown and (findings.accounting.within_traces or all(side.timed for side in findings.selection.sides)):
        names = ", ".join(each.title or each.field for each in unknown)
        step = f"have {names} recorded; " + _launch_again(findings, "the launches that lack it")
        yield Gap(Note("held_field_unknown", f"not known on both sides: {names}"), step=step)


def _excluded(findings: Findings) -> Iterable[Gap]:
    for side in findings.selection.sides:
        rows = [row for row in side.plans if row.state == "excluded" and row.role is Role.TIMED]
        if rows and not side.of(Role.TIMED):
            text = f"{side.stack} was excluded: {rows[0].reason or 'no reason given'}"
            first = f"run `{rows[0].install}`" if rows[0].install else "put that right"
            yield Gap(Note("excluded", text), step=f"{first}, then `{findings.runs.plain}`")


def _imported(findings: Findings) -> Iterable[Gap]:
    """Nothing that this workspace could launch adds to a stack that is imported."""
    stacks = findings.benchmark.stacks
    sides = [side for side in findings.selection.sides if is_imported(stacks.get(side.stack))]
    if sides:
        names = " and ".join(side.stack for side in sides)
        runs = tuple(run.run_id for side in sides for run in (*side.timed, *side.profiled))
        timed = all(side.timed for side in findings.selection.sides)
        text = f"nothing here launches {names}: what is known comes from elsewhere"
        text += "" if timed else ", and holds no timed launch"
        step = f"give {names} an adapter that can be launched here, then run `{findings.runs.plain}`"
        yield Gap(Note("imported", text, runs), step=step)


def _unobserved(findings: Findings) -> Iterable[Gap]:
    """A side of which its source itself says that it did not run with what it is named for."""
    for run, said in findings.unobserved.items():
        step = "name a row that ran with what is compared"
        yield Gap(Note("treatment_not_observed", said, (run,)), step=step)


def _launches(findings: Findings) -> Iterable[Gap]:
    for side in findings.selection.sides:
        done, made = len(side.timed), len(counted(side))
        if done >= LEAST_LAUNCHES or (made >= LEAST_LAUNCHES and _decided_by_envelope(findings)):
            continue
        text = f"{count(done, 'timed launch')} of {side.stack} completed, {LEAST_LAUNCHES} are the least"
        runs = tuple(run.run_id for run in side.of(Role.TIMED))
        if findings.runs.allows(side, Role.TIMED):
            yield Gap(Note("too_few_launches", text, runs), findings.runs.least_timed())
        else:
            step = f"add `timed` to the roles of {side.stack} in the benchmark file, then run `{findings.runs.plain}`"
            yield Gap(Note("too_few_launches", text, runs), step=step)


def _missing(findings: Findings) -> Iterable[Gap]:
    for row in findings.counts:
        if row.missing and row.role in {Role.TIMED, Role.PROFILED}:
            text = f"{row.missing} of {row.planned} planned {row.role} trials of {row.stack} were not run"
            yield Gap(Note("trials_missing", text), findings.runs.up_to(row.role, _last_missing(findings, row)))


def _last_missing(findings: Findings, row: Count) -> int:
    """The highest repeat that was planned for a stack and role, and has no run."""
    side = next(side for side in findings.selection.sides if side.stack == row.stack)
    ran = {run.trial_key for run in side.runs}
    planned = (each for each in side.plans if each.role is row.role and each.trial_key not in ran)
    return max((each.repeat for each in planned), default=1)


def _treatments(findings: Findings) -> Iterable[Gap]:
    """A side that its traces show without what it is said to run with."""
    for each in findings.treatments:
        if each.observed is False:
            note = Note("treatment_not_observed", f"treatment not observed: {each.text()}", each.without)
            how = f"take {each.library} out of its `observe`" if each.explicit else f"change {each.basis}"
            step = f"have {each.stack} run with {each.title}, or {how}; {_launch_again(findings, 'its launches')}"
            yield Gap(note, step=step)


def _definitions(findings: Findings) -> Iterable[Gap]:
    if findings.definitions_differ:
        text = f"the two sides' values of {findings.effect.metric} come from different definitions"
        yield Gap(
            Note("definitions_differ", text), step=_launch_again(findings, "the launches of the older definition")
        )


def _envelope(findings: Findings) -> Iterable[Gap]:
    if not all(len(side.timed) for side in findings.selection.sides):
        return
    for check in findings.limits:
        if check.standing is Standing.UNKNOWN:
            text = f"whether {check.stack} holds {check.metric} {check.limit} is unknown ({check.basis})"
            if check.value is not None:
                yield Gap(Note("envelope_unknown", text), findings.runs.more_timed())
            else:
                step = f"have {check.metric} measured on this machine, or take the limit out; "
                yield Gap(
                    Note("envelope_unknown", text), step=step + _launch_again(findings, "the launches without it")
                )


def _interval(findings: Findings) -> Iterable[Gap]:
    """Only where the effect was to decide, and enough launches were made for it to."""
    if findings.outcome.decision is not Decision.INCONCLUSIVE or findings.outcome.reason == NOT_OBSERVED:
        return
    effect = findings.effect
    if min(effect.baseline_launches, effect.candidate_launches) < LEAST_LAUNCHES:
        if all(len(side.timed) >= LEAST_LAUNCHES for side in findings.selection.sides):
            text = f"{effect.metric}: {effect.absent}"
            step = f"have {effect.metric} measured; " + _launch_again(findings, "the launches without it")
            yield Gap(Note("objective_unknown", text), step=step)
    elif effect.absent:
        note = Note("no_interval", f"{effect.metric} has no interval: {effect.absent}")
        if effect.ratio is None:
            yield Gap(note, step=f"rank by another metric than {effect.metric}: its values can be zero")
        else:
            yield Gap(note, findings.runs.more_timed())
    elif not any(check.standing is Standing.UNKNOWN for check in findings.limits):
        found = judged_text(effect) or f"95 % interval {ratios(effect.low, effect.high, effect.ratio)}"
        text = f"the effect is not decided at the {share(findings.threshold)} threshold: {found}"
        if any(check.standing is Standing.FAILS for check in findings.limits):
            text = "no stack both holds the envelope and is known to lead"
        yield Gap(Note("interval_undecided", text), findings.runs.more_timed())


def _tuning(findings: Findings) -> Iterable[Gap]:
    text = findings.unequal_tuning
    if text:
        step = "search both stacks equally long, or set the search trials aside with `stackproof retract RUN --why …`"
        yield Gap(Note("unequal_tuning", text), step=step)


def _explanation(findings: Findings) -> Iterable[Gap]:
    """A win by the effect must be explained; one by the envelope is explained by the limit that the other breaks."""
    if findings.outcome.decision is not Decision.WINS or findings.outcome.reason:
        return
    found = findings.accounting
    if _refuted(findings) or any(map(_explains, findings.predictions)):
        return
    if found.explained_share is None:
        text = f"where the difference lies is not known: {found.absent}"
        yield Gap(Note("explanation_missing", text), *_trace_next(findings))
    elif found.explained_share < LEAST_EXPLAINED:
        explained, needed = share(found.explained_share), share(LEAST_EXPLAINED)
        text = f"the traces explain {explained} of the difference, {needed} are needed"
        runs, profiler = found.baseline_runs + found.candidate_runs, _profilers_part(findings)
        if any(map(_would_explain, findings.predictions)):
            yield Gap(
                Note("explanation_incomplete", f"{text}{f'; {profiler}' if profiler else ''}", runs),
                findings.runs.interventions(),
            )
        elif profiler:
            step = (
                "no further launch of this work tells more. Give each step more work (a larger micro-batch, longer "
                "sequences), so that the profiler's cost for each operator weighs less, or decide without knowing why"
            )
            yield Gap(Note("explanation_incomplete", f"{text}; {profiler}", runs), step=step)
        else:
            yield Gap(Note("explanation_incomplete", text, runs), findings.runs.more_profiled())


def _refutation(findings: Findings) -> Iterable[Gap]:
    """A win whose leading claim a test refuted is not understood, however well the parts add up."""
    if findings.outcome.decision is not Decision.WINS or findings.outcome.reason:
        return
    for each in _refuted(findings):
        text = f"the claim that accounts for most ({each.claim}) is withdrawn, by {each.name}: {prediction_text(each)}"
        step = "declare another intervention, of what else may cause it, or decide without knowing why"
        yield Gap(Note("explanation_refuted", text, each.evidence), step=step)


def _refuted(findings: Findings) -> list[Prediction]:
    """The tests that refuted the leading claim."""
    leading = next((claim.code for claim in findings.claims if claim.share is not None), None)
    return [each for each in findings.predictions if each.fate is Fate.REFUTED and each.claim == leading]


def _explains(prediction: Prediction) -> bool:
    """Whether a cause was taken away, and enough of the difference went with it."""
    found = prediction.observed
    return prediction.fate is Fate.FULFILLED and found is not None and found.share >= LEAST_EXPLAINED


def _would_explain(prediction: Prediction) -> bool:
    """Whether a test that was not run predicts enough to explain the difference."""
    found = prediction.predicted
    return prediction.fate is Fate.NOT_RUN and found is not None and found.share >= LEAST_EXPLAINED


def _trace_next(findings: Findings) -> tuple[str | None, str | None]:
    """The run, or the step, after which traces of both sides say where the time goes."""
    found, planner = findings.accounting, findings.runs
    traced = zip(findings.selection.sides, (found.baseline_runs, found.candidate_runs), strict=True)
    without = [side for side, runs in traced if not runs]
    barred = [side.stack for side in without if not planner.allows(side, Role.PROFILED)]
    if barred:
        roles = f"add `profiled` to the roles of {' and '.join(barred)} in the benchmark file"
        return None, f"{roles}, then run `{planner.plain}`"
    if any(side.profiled for side in without):
        blind = " and ".join(side.stack for side in without if side.profiled)
        return None, f"see in their logs why the profiled launches of {blind} left no trace that can be read"
    if without:
        return planner.up_to(Role.PROFILED, max(1, LEAST_LAUNCHES)), None
    return planner.more_timed(), None


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
        f"the profiler changes the step of {costs}, which is too uneven to tell a difference of "
        f"{share(abs(1 - ratio))} apart from it, and more profiled launches do not take this cost away"
    )


def _decided_by_envelope(findings: Findings) -> bool:
    return findings.outcome.decision is Decision.NONE_QUALIFIES or findings.outcome.reason == ONLY_ONE_QUALIFIES


_RULES: tuple[Callable[[Findings], Iterable[Gap]], ...] = (
    _broken,
    _undeclared,
    _wrong_way,
    _excluded,
    _imported,
    _unobserved,
    _held,
    _treatments,
    _definitions,
    _launches,
    _missing,
    _envelope,
    _interval,
    _tuning,
    _explanation,
    _refutation,
)
