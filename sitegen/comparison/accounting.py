"""Where the time goes, side by side: the difference from the timed launches, its parts from the traces.

The two come from different instruments, so they need not agree; what does not is the residual, and it is shown.
Where the timed launches give no difference (imported traces, say), the traces' own is accounted for: one instrument
then, which nothing confirms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from ledger.metrics import registry
from sitegen.comparison.effect import common_version, measure
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.verdict import Accounting, Effect, Note, Part
from sitegen.format import count

TOTAL = "step_time"
"""The timed launches' clock."""
TRACED_TOTAL = "traced_step_time"
"""The same, as the traces of the profiled launches saw it."""
PARTS = ("compute", "exposed_communication", "exposed_copy", "input_wait", "host_gap", "idle")
"""Disjoint parts that add up to TRACED_TOTAL."""
INNER = "compute."
"""Prefix of the kernel classes inside compute."""
UNEXPLAINED = ("idle", "compute.other")
"""Parts that name no cause: a difference that lies in them is not explained."""
NO_DIFFERENCE = "the interval of the difference in step time includes none at all"
NO_TIMED_DIFFERENCE = (
    "the timed launches give no difference in step time; the parts are within the traces, where nothing independent "
    "confirms their total"
)
PROFILED, UNPROFILED = "profiled", "measured"
"""Phases of a profiled launch's own steps."""
OWN_STEPS = "unprofiled steps of the same launches"
TIMED_LAUNCHES = "timed launches, so that drift of the machine between launches is in it too"
WITHIN_TRACES: dict[str, Any] = {"total": "traced step time", "of": "the traced steps", "within_traces": True}
"""What an accounting says of itself whose total comes from the traces too."""


def account(selection: Selection, total: Effect) -> Accounting:
    """Parts of a step on each side; `total` is the effect on step time."""
    runs = [traced_runs(side) for side in selection.sides]
    parts = tuple(_part(name, runs) for name in _names(runs))
    difference = _difference(selection)
    top = [part.difference for part in parts if part.parent is None and part.difference is not None]
    # To the picosecond: what lies below is the rounding of the sum, not time.
    residual = round(difference - sum(top), 12) if difference is not None and top else None
    absent = _why_absent(selection, runs, difference, total)
    within = difference is None and all(runs)
    if within:
        # The parts add up to the traced step, so that a closure would say nothing.
        difference = _traced_difference(runs)
        residual = round(difference - sum(top), 12) if difference is not None and top else None
    closure = explained = None
    if not absent and difference and residual is not None:
        closure = 1 - abs(residual) / abs(difference)
        loose = sum(abs(part.difference or 0.0) for part in parts if part.id in UNEXPLAINED)
        explained = max(0.0, 1 - (abs(residual) + loose) / abs(difference))
    overhead, drift = _overhead(selection, runs), None if within else _drift(difference, runs)
    return Accounting(
        parts=parts,
        difference=difference,
        residual=residual,
        closure=closure,
        explained_share=explained,
        profiler_overhead={stack: value for stack, (value, _) in overhead.items()},
        baseline_runs=tuple(run.run_id for run in runs[0]),
        candidate_runs=tuple(run.run_id for run in runs[1]),
        absent=absent,
        left_out=_left_out(selection),
        overhead_basis={stack: basis for stack, (_, basis) in overhead.items()},
        residual_launches=drift,
        residual_profiler=None if residual is None or drift is None else round(residual - drift, 12),
        gross=sum(map(abs, top)) if top else None,
        coverage=_coverage(selection, runs),
        **(WITHIN_TRACES if within and difference is not None else {}),
    )


def traced_runs(side: Side) -> list[TrialRun]:
    """Profiled launches whose trace gave parts."""
    return [run for run in side.profiled if any(_value(run, name) is not None for name in PARTS)]


def _left_out(selection: Selection) -> tuple[Note, ...]:
    """Profiled launches whose trace gave no parts, by stack and reason."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for side in selection.sides:
        usable = traced_runs(side)
        for run in side.profiled:
            if run not in usable:
                groups[side.stack, _why_no_parts(run)].append(run.run_id)
    return tuple(
        Note("trace_unusable", f"{count(len(ids), 'profiled launch')} of {stack} without parts: {why}", tuple(ids))
        for (stack, why), ids in groups.items()
    )


def _why_no_parts(run: TrialRun) -> str:
    """What the run's metrics say of the parts that they lack."""
    rows = [row for name in PARTS if (row := run.shown(name))]
    return next((row.missing_reason for row in rows if row.missing_reason), "it holds none of these metrics")


def _names(runs: Sequence[Sequence[TrialRun]]) -> Iterable[str]:
    """Parts that at least one side has, kernel classes after the part that holds them."""
    measured = {
        row.metric for side in runs for run in side for row in run.measured if _value(run, row.metric) is not None
    }
    inner = sorted(name for name in measured if name.startswith(INNER))
    for name in PARTS:
        if name in measured:
            yield name
        if name == INNER.rstrip("."):
            yield from inner


def _part(name: str, runs: Sequence[Sequence[TrialRun]]) -> Part:
    known = registry.get(name)
    title = known.title if known else name.removeprefix(INNER).replace("_", " ").capitalize()
    baseline, candidate = (_mean(name, side) for side in runs)
    return Part(name, title, INNER.rstrip(".") if name.startswith(INNER) else None, baseline, candidate)


def _mean(name: str, runs: Iterable[TrialRun]) -> float | None:
    """Mean over the launches; None when one of them lacks the part, for then it would be a mean of other launches."""
    values = [_value(run, name) for run in runs]
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _value(run: TrialRun, name: str) -> float | None:
    row = run.shown(name)
    return row.value if row else None


def _difference(selection: Selection) -> float | None:
    """Candidate minus baseline of the timed launches' mean step time, seconds."""
    version = common_version(selection, TOTAL)
    baseline, candidate = (measure(side, TOTAL, version).numbers for side in selection.sides)
    return fmean(candidate) - fmean(baseline) if baseline and candidate and version is not None else None


def _traced_difference(runs: Sequence[Sequence[TrialRun]]) -> float | None:
    """Candidate minus baseline of the traced steps' mean time, seconds."""
    baseline, candidate = (_mean(TRACED_TOTAL, side) for side in runs)
    return None if baseline is None or candidate is None else candidate - baseline


def _overhead(selection: Selection, runs: Sequence[Sequence[TrialRun]]) -> dict[str, tuple[float, str]]:
    """{stack: (overhead, what it was compared with)}.

    A launch's profiled steps against its own unprofiled ones, so that no drift of the machine between launches gets in;
    against the timed launches where a launch has no steps of its own to compare with.
    """
    version = common_version(selection, TOTAL)
    found = {}
    for side, traced in zip(selection.sides, runs, strict=True):
        own = [
            run.steps[PROFILED] / run.steps[UNPROFILED] for run in traced if {PROFILED, UNPROFILED} <= set(run.steps)
        ]
        timed, profiled = measure(side, TOTAL, version).numbers, _mean(TRACED_TOTAL, traced)
        if own and len(own) == len(traced):
            found[side.stack] = fmean(own) - 1, OWN_STEPS
        elif timed and profiled is not None and fmean(timed) > 0:
            found[side.stack] = profiled / fmean(timed) - 1, TIMED_LAUNCHES
    return found


def _coverage(selection: Selection, runs: Sequence[Sequence[TrialRun]]) -> dict[str, float]:
    """What of the profiled steps' own clock the traces hold; none where a launch has no such clock."""
    found = {}
    for side, traced in zip(selection.sides, runs, strict=True):
        own = [run.steps[PROFILED] for run in traced if PROFILED in run.steps]
        seen = _mean(TRACED_TOTAL, traced)
        if seen is not None and own and len(own) == len(traced) and fmean(own) > 0:
            found[side.stack] = seen / fmean(own)
    return found


def _drift(difference: float | None, runs: Sequence[Sequence[TrialRun]]) -> float | None:
    """How much the timed launches' difference is apart from that of the profiled launches' unprofiled steps."""
    own = [[run.steps.get(UNPROFILED) for run in traced] for traced in runs]
    known = [[value for value in side if value is not None] for side in own]
    if difference is None or not all(known) or known != own:
        return None
    return round(difference - (fmean(known[1]) - fmean(known[0])), 12)


def _why_absent(
    selection: Selection, runs: Sequence[Sequence[TrialRun]], difference: float | None, total: Effect
) -> str | None:
    """Why nothing is said about how much is explained; None when it is."""
    without = [side.stack for side, traced in zip(selection.sides, runs, strict=True) if not traced]
    if without:
        why = dict.fromkeys(
            _why_no_parts(run) for side in selection.sides if side.stack in without for run in side.profiled
        )
        said = f" ({'; '.join(why)})" if why else ""
        return f"no profiled launch of {' and '.join(without)} has a trace with parts{said}"
    if difference is None:
        return NO_TIMED_DIFFERENCE
    if total.low is None or total.high is None:
        return f"the difference in step time has no interval: {total.absent}"
    if total.low <= 1 <= total.high:
        return NO_DIFFERENCE
    return None
