"""Explanations are tested: what a claim predicted before its cause was taken away, beside what that showed.

A claim says how much of the difference lies in a cause. Take the cause away, by a change of one side, and that much of
the difference should close. Each round launches both sides as they are and the changed one, so that what closes is read
off launches of the same minutes, and the prediction is made from the launches before the first round alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ledger.benchmark import Benchmark, Comparison, Intervention
from ledger.errors import StackproofError
from ledger.run import Role, State
from ledger.run_folder import RunFolder
from sitegen.comparison.claims.facts import Facts, value_of
from sitegen.comparison.declaration import find_pair, sealed_benchmark
from sitegen.comparison.effect import LEAST_LAUNCHES, common_version, measure
from sitegen.comparison.evidence import Evidence, TrialRun
from sitegen.comparison.explanation import Claim, Closure, Fate, Prediction, Round
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import Interval, NoInterval, paired_ratio_of_means, ratio_of_differences
from sitegen.format import count

HELD = 0.5
"""Share of the predicted closure from which a prediction is fulfilled, with the whole interval; below it is refuted."""

FactsBefore = Callable[[str], Facts]
"""What was found in the launches that had started before a moment."""


@dataclass(frozen=True)
class _Declared:
    """An intervention with the benchmark file that declares it."""

    change: Intervention
    benchmark: Benchmark


@dataclass(frozen=True)
class _Tested:
    """The launches of one intervention with one change."""

    name: str
    runs: tuple[TrialRun, ...]

    @property
    def first(self) -> TrialRun:
        """The launch before which the prediction stood."""
        return min(self.runs, key=lambda run: (run.started_at, run.launch_order))


def predictions(
    known: Evidence, now: Benchmark, comparison: Comparison, facts: Facts, before: FactsBefore, folder: Path | None
) -> tuple[Prediction, ...]:
    """Every test of the comparison's claims, also one that the file `now` no longer declares.

    `folder` is the evidence folder, in which each test's first launch sealed what was declared then; None for evidence
    that lies in no folder.
    """
    found = []
    tests = _tests(known, facts.selection)
    for test in tests:
        declared = _declared(test, now, comparison, folder)
        if declared is not None:
            found.append(_judge(test, declared, before(test.first.started_at)))
    for name, change in comparison.interventions.items():
        if name not in {test.name for test in tests}:
            found.append(_waiting(name, _Declared(change, now), facts))
    return tuple(found)


def withdraw(claims: Sequence[Claim], made: Sequence[Prediction]) -> tuple[Claim, ...]:
    """The claims, those last that a test refuted."""
    refuted = {each.claim for each in made if each.fate is Fate.REFUTED}
    told = [replace(claim, withdrawn=claim.code in refuted) for claim in claims]
    return tuple(sorted(told, key=lambda claim: claim.withdrawn))


def _tests(known: Evidence, selection: Selection) -> list[_Tested]:
    """The tests of these two stacks' work. A batch launches one change, so that other launches of it belong to that."""
    stacks = {side.stack for side in selection.sides}
    batches: dict[tuple[str, str], list[TrialRun]] = defaultdict(list)
    for run in known.runs:
        concerned = run.stack in stacks and run.workload_digest == selection.workload_digest and not run.set_aside
        if run.role is Role.INTERVENTION and run.intervention and concerned:
            batches[run.intervention, run.batch].append(run)
    groups: dict[tuple[str, tuple[str, ...]], list[TrialRun]] = defaultdict(list)
    for (name, _), runs in batches.items():
        configuration = next((run.configuration for run in runs if run.changed), ())
        groups[name, configuration] += runs
    return [_Tested(name, tuple(runs)) for (name, _), runs in groups.items()]


def _declared(test: _Tested, now: Benchmark, comparison: Comparison, folder: Path | None) -> _Declared | None:
    """The intervention as the test's first launch sealed it; None where it belongs to another comparison."""
    benchmark, declaring = now, comparison
    if folder is not None:
        try:
            benchmark = sealed_benchmark(RunFolder(folder / test.first.path), test.first.profile)
        except (StackproofError, UnicodeDecodeError):
            return None  # verification says what is wrong with it
        declaring = find_pair(benchmark, comparison) or comparison.model_copy(update={"interventions": {}})
    change = declaring.interventions.get(test.name)
    return None if change is None else _Declared(change, benchmark)


def _waiting(name: str, declared: _Declared, facts: Facts) -> Prediction:
    predicted, _ = _predict(declared.change, facts)
    return replace(_plain(name, declared, facts), predicted=predicted)


def _judge(test: _Tested, declared: _Declared, facts: Facts) -> Prediction:
    """What `facts`, of the launches before the test, predict, and what the test showed."""
    change, selection = declared.change, facts.selection
    predicted, why = _predict(change, facts)
    rounds = _rounds(test.runs, selection, facts.total.metric)
    observed = _observe(rounds, facts, change)
    fate = Fate.UNDECIDED
    why = why or _why_not_comparable(test, selection)
    if why is None and len(rounds) < LEAST_LAUNCHES:
        why = (
            f"{count(len(rounds), 'round')} of both sides and the changed one completed, {LEAST_LAUNCHES} are the least"
        )
    if why is None and observed is not None and observed.absent:
        why = observed.absent
    if why is None and observed is not None and predicted is not None:
        fate, why = _compare(predicted, observed)
    return replace(
        _plain(test.name, declared, facts),
        fate=fate,
        why=why,
        predicted=predicted,
        observed=observed,
        rounds=rounds,
        left_out=len(test.runs) - 3 * len(rounds),
        first=test.first.started_at,
        commit=test.first.commit,
        evidence=tuple(run.run_id for run in test.runs),
    )


def _plain(name: str, declared: _Declared, facts: Facts) -> Prediction:
    change = declared.change
    return Prediction(
        name=name,
        description=change.description,
        claim=change.claim,
        stack=change.stack,
        change=_words(declared, facts),
        fate=Fate.NOT_RUN,
        predicted=None,
        observed=None,
        metric=facts.total.metric,
        unit=facts.total.unit,
        rounds=(),
    )


def _words(declared: _Declared, facts: Facts) -> str:
    """The change in words, beside what the stack has without it: a search may have found that."""
    change, stack = declared.change, declared.benchmark.stacks[declared.change.stack]
    side = next(side for side in facts.selection.sides if side.stack == change.stack)
    had = {**stack.settings, **_found(side, stack.search)}
    settings = [
        f"{name} {'left out' if value is None else value} instead of {had.get(name, 'the default')}"
        for name, value in change.settings.items()
    ]
    return ", ".join([*settings, *(f"{name}={value}" for name, value in change.variables.items())])


def _found(side: Side, space: Iterable[str]) -> dict[str, str]:
    """Of the searched settings, those that the side's newest timed launch had."""
    if not side.timed:
        return {}
    fields = side.timed[-1].fields
    return {name: fields[f"setting.{name}"] for name in space if f"setting.{name}" in fields}


def _predict(change: Intervention, facts: Facts) -> tuple[Closure | None, str | None]:
    """How much should close, and otherwise why nothing was predicted.

    Where the cause holds more than the difference, other parts move the other way, and more than all of it would close:
    all of it is what is predicted.
    """
    if facts.slower is None:
        return None, "the launches before the test show no difference that could close"
    claim = next((each for each in facts.claims if each.code == change.claim and each.share is not None), None)
    if claim is None or claim.share is None:
        return None, f"no rule makes the claim {change.claim} of the launches before the test"
    found = _interval_of(claim, facts)
    if isinstance(found, NoInterval):
        return Closure(min(claim.share, 1.0), None, None, found.reason), None
    return Closure(min(claim.share, 1.0), min(found.low, 1.0), min(found.high, 1.0)), None


def _interval_of(claim: Claim, facts: Facts) -> Interval | NoInterval:
    """The claim's share from the launches that it rests on, over the difference of the timed ones."""
    slow, selection = facts.slower or 0, facts.selection
    version = common_version(selection, facts.total.metric)
    timed = [measure(side, facts.total.metric, version).numbers for side in selection.sides]
    parts = [
        [sum(value_of(run, part) or 0.0 for part in claim.parts) for run in side.runs if run.run_id in claim.evidence]
        for side in selection.sides
    ]
    return ratio_of_differences((parts[slow], parts[1 - slow]), (timed[slow], timed[1 - slow]))


def _rounds(runs: Iterable[TrialRun], selection: Selection, metric: str) -> tuple[Round, ...]:
    """The rounds of which all three launches have a value; only launches of one batch stand beside each other."""
    version = common_version(selection, metric)
    seen: dict[tuple[str, int], dict[tuple[str, bool], float]] = defaultdict(dict)
    for run in runs:
        row = run.find(metric, version)
        if run.state is State.COMPLETED and row is not None and row.value is not None:
            seen[run.batch, run.repeat][run.stack, bool(run.changed)] = row.value
    names = [(side.stack, False) for side in selection.sides]
    found = []
    for (_, repeat), values in seen.items():
        changed = [value for (_, is_changed), value in values.items() if is_changed]
        if len(changed) == 1 and all(name in values for name in names):
            found.append(Round(repeat, values[names[0]], values[names[1]], changed[0]))
    return tuple(found)


def _observe(rounds: Sequence[Round], facts: Facts, change: Intervention) -> Closure | None:
    """How much of the rounds' own difference closed."""
    if not rounds or facts.slower is None:
        return None
    pairs = []
    for each in rounds:
        slow, fast = (each.candidate, each.baseline) if facts.slower else (each.baseline, each.candidate)
        closed = slow - each.changed if change.stack == facts.names[facts.slower] else each.changed - fast
        pairs.append((closed, slow - fast))
    found = paired_ratio_of_means(pairs)
    if found.center is None:
        return None
    if isinstance(found, NoInterval):
        return Closure(found.center, None, None, found.reason)
    return Closure(found.center, found.low, found.high)


def _why_not_comparable(test: _Tested, selection: Selection) -> str | None:
    """Words where the sides ran otherwise, as they are, than in the launches that the claim rests on; else None."""
    for side in selection.sides:
        usual = {run.configuration for run in side.timed}
        controls = {run.configuration for run in test.runs if run.stack == side.stack and run.changed is False}
        if not controls <= usual:
            return f"{side.stack} ran in another environment than in the launches that the claim rests on"
    return None


def _compare(predicted: Closure, observed: Closure) -> tuple[Fate, str | None]:
    """Fulfilled or refuted where all of the interval says so; else undecided, and why."""
    if observed.low is None or observed.high is None:
        return Fate.UNDECIDED, observed.absent
    if observed.low >= HELD * predicted.share:
        return Fate.FULFILLED, None
    if observed.high < HELD * predicted.share:
        return Fate.REFUTED, None
    return Fate.UNDECIDED, "the interval of what closed holds both less and more than half of what was predicted"
