"""The verdict in one plain sentence, made from numbers by rule."""

from __future__ import annotations

from dataclasses import replace

from ledger.benchmark import Benchmark
from ledger.metrics import registry
from sitegen.comparison.decision import Outcome, is_unequal
from sitegen.comparison.envelope import never_completes
from sitegen.comparison.explanation import Closure, Fate, Prediction
from sitegen.comparison.selection import Selection
from sitegen.comparison.unequal_work import WORK
from sitegen.comparison.verdict import Decision, Effect, FieldComparison, LimitCheck, Standing, WorkDone
from sitegen.format import count, interval, ratio, ratios, share, times, value

SPEED = frozenset({"step_time", "tokens_per_second"})
"""Objectives of which `trains 1.4 times as fast` is the plain meaning."""
VERBS = {"train": "trains"}
"""{workload kind: what a stack does}."""


def sentence(
    selection: Selection,
    benchmark: Benchmark,
    outcome: Outcome,
    effect: Effect,
    limits: tuple[LimitCheck, ...],
    fields: tuple[FieldComparison, ...],
    threshold: float,
    wrong_way: bool = False,
    unobserved: tuple[str, ...] = (),
    work_done: WorkDone | None = None,
) -> str:
    """What was decided, or why nothing was; `wrong_way` says that the objective asks for the worse, `unobserved` what
    was not seen of what a side is said to run with, and `work_done` how fast sides with unequal steps get through work.
    """
    a, b = (side.stack for side in selection.sides)
    match outcome.decision:
        case Decision.NOT_COMPARABLE:
            said = f"{a} and {b} cannot be compared: {_why_not(effect, fields, wrong_way)}."
            return f"{said} {work_done_text(work_done, a, b)}." if work_done else said
        case Decision.NONE_QUALIFIES:
            return f"Neither {a} nor {b} qualifies: {'; '.join(_failures(selection, s, limits) for s in (a, b))}."
        case Decision.WINS if outcome.reason:
            loser = b if outcome.winner == a else a
            return f"{outcome.winner} wins, as only one qualifies: {_failures(selection, loser, limits)}."
        case Decision.WINS:
            return _win(benchmark, selection, outcome, effect, threshold)
        case Decision.EQUIVALENT:
            return f"{b} and {a} are equivalent: {_numbers(effect, b, a)}, inside the {share(threshold)} threshold."
        case Decision.INCONCLUSIVE if outcome.reason:
            return f"{b} against {a} is not decided: {outcome.reason}, for {'; '.join(unobserved)}."
    return _undecided(selection, effect, limits, threshold)


def work_done_text(found: WorkDone, a: str, b: str) -> str:
    """Both sides' throughput, which is said not to be the comparison that was asked for."""
    sides = f"{value(found.baseline, found.unit)} ({a}) against {value(found.candidate, found.unit)} ({b})"
    turns = ", the other way round than their step times" if found.turns_round else ""
    return f"Per unit of work instead, which decides nothing: {sides}{turns}"


def _win(benchmark: Benchmark, selection: Selection, outcome: Outcome, effect: Effect, threshold: float) -> str:
    a, b = (side.stack for side in selection.sides)
    winner, loser, seen = (b, a, effect) if outcome.winner == b else (a, b, swapped(effect))
    found = f"{_title(effect)} {value(seen.candidate, effect.unit)} against {value(seen.baseline, effect.unit)}"
    found += f"; {ratio_text(seen, winner, loser)}"
    factor = _speed(seen)
    if factor is not None and factor > 1:
        claim = f"{winner} {VERBS.get(benchmark.workload.kind, 'is')} {times(factor)} times as fast as {loser}"
    else:
        claim = _claim(seen, winner, loser)
    return f"{claim} ({found}), outside the {share(threshold)} threshold."


def _claim(seen: Effect, winner: str, loser: str) -> str:
    """What the winner does, in words that fit the objective."""
    if seen.metric == "cost_per_accepted_result" and seen.ratio:
        return f"an accepted result of {winner} costs {times(seen.ratio)} times what one of {loser} costs"
    return f"{winner} beats {loser}"


def _speed(seen: Effect) -> float | None:
    """How many times as fast the candidate is, by the metric's own direction; None for a metric that is no speed."""
    known = registry.get(seen.metric)
    if seen.metric not in SPEED or known is None or not seen.ratio:
        return None
    return 1 / seen.ratio if known.direction == "lower" else seen.ratio


def wrong_way_text(effect: Effect) -> str:
    """What is wrong with an objective that ranks against its metric's direction."""
    asks, better = ("less", "more") if effect.lower_is_better else ("more", "less")
    return f"the objective asks for {asks} {_title(effect)}, of which {better} is better"


def swapped(effect: Effect) -> Effect:
    """The same effect with the two sides exchanged."""
    return Effect(
        metric=effect.metric,
        definition=effect.definition,
        unit=effect.unit,
        lower_is_better=effect.lower_is_better,
        baseline=effect.candidate,
        candidate=effect.baseline,
        ratio=1 / effect.ratio if effect.ratio else None,
        low=1 / effect.high if effect.high else None,
        high=1 / effect.low if effect.low else None,
        method=effect.method,
        baseline_launches=effect.candidate_launches,
        candidate_launches=effect.baseline_launches,
        absent=effect.absent,
        title=effect.title,
        judged=replace(judged, low=1 / judged.high, high=1 / judged.low) if (judged := effect.judged) else None,
    )


def prediction_text(prediction: Prediction) -> str:
    """What a test was to show, what it showed, and what follows."""
    predicted = _closure(prediction.predicted)
    should = f"{predicted} of the difference should close" if predicted else "nothing was predicted"
    rounds = f"in {count(len(prediction.rounds), 'round')}"
    did = f"{_closure(prediction.observed)} closed {rounds}" if prediction.observed else "no round is complete"
    match prediction.fate:
        case Fate.NOT_RUN:
            return f"not run yet: {should}"
        case Fate.FULFILLED:
            causes = share(min(prediction.observed.share, 1.0)) if prediction.observed else ""
            return f"fulfilled: {should}, and {did}. What was taken away causes {causes} of it"
        case Fate.REFUTED:
            return f"refuted: {should}, and {did}, which is less than half of it"
        case Fate.UNDECIDED:
            return f"undecided: {should}, {did}; {prediction.why}"


def _closure(found: Closure | None) -> str:
    if found is None:
        return ""
    bounds = f" (95 % interval {interval(found.low, found.high, 'share')})" if found.low is not None else ""
    return f"{share(found.share)}{bounds}"


def judged_text(effect: Effect) -> str | None:
    """What the verdict is read off, where that is not the 95 % interval alone; None where it is."""
    judged = effect.judged
    if judged is None or (judged.look == 1 and judged.launches >= judged.most and judged.together == 1):
        return None
    bounds = ratios(judged.low, judged.high, effect.ratio)
    made = f"{count(judged.launches, 'launch')} a side of at most {judged.most}"
    beside = f", as one of {judged.together} against this baseline" if judged.together > 1 else ""
    return f"judged at look {judged.look} ({made}){beside} by the {share(judged.level)} interval {bounds}"


def _undecided(selection: Selection, effect: Effect, limits: tuple[LimitCheck, ...], threshold: float) -> str:
    a, b = (side.stack for side in selection.sides)
    without = [side.stack for side in selection.sides if not side.timed]
    if without:
        return f"{b} against {a} is not decided: no timed launch of {' or '.join(without)} completed."
    if effect.ratio is None:
        return f"{b} against {a} is not decided: {_title(effect)} has no ratio ({effect.absent})."
    if effect.absent:
        seen = f"{ratio_text(effect, b, a)}, no interval ({effect.absent})"
        return f"{b} against {a} is not decided: {_values(effect, b, a)}; {seen}."
    failing = [_failures(selection, stack, limits) for stack in (a, b) if _fails(stack, limits)]
    unknown = [f"{check.stack} on {check.metric}" for check in limits if check.standing is Standing.UNKNOWN]
    reason = f"which is not decided at the {share(threshold)} threshold"
    if failing:
        reason = f"but {'; '.join(failing)}"
    elif unknown:
        reason = f"but the envelope is unknown for {', '.join(unknown)}"
    return f"{b} against {a} is not decided: {_numbers(effect, b, a)}, {reason}."


def _numbers(effect: Effect, candidate: str, baseline: str) -> str:
    return f"{_values(effect, candidate, baseline)}; {ratio_text(effect, candidate, baseline)}"


def ratio_text(effect: Effect, candidate: str, baseline: str) -> str:
    """`ratio b / a 0.918, 95 % interval 0.900 to 0.939`: which over which, all with the same decimals."""
    shown = ratio(effect.ratio, effect.low, effect.high)
    interval = f", 95 % interval {ratios(effect.low, effect.high, effect.ratio)}" if effect.low is not None else ""
    return f"ratio {candidate} / {baseline} {shown}{interval}"


def _values(effect: Effect, candidate: str, baseline: str) -> str:
    left, right = value(effect.candidate, effect.unit), value(effect.baseline, effect.unit)
    return f"{_title(effect)} {left} ({candidate}) against {right} ({baseline})"


def _title(effect: Effect) -> str:
    title = effect.title or effect.metric.replace("_", " ")
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _why_not(effect: Effect, fields: tuple[FieldComparison, ...], wrong_way: bool) -> str:
    if wrong_way:
        return wrong_way_text(effect)
    unequal = [field for field in fields if is_unequal(field)]
    if not unequal:
        return f"their values of {effect.metric} come from different definitions"
    work = [field for field in unequal if field.field.startswith(WORK)]
    if work:
        told = "; ".join(f"{f.title or f.field} {f.baseline} against {f.candidate}" for f in work)
        others = [f for f in unequal if f not in work]
        more = "".join(f"; {f.title or f.field} differs, {f.baseline} against {f.candidate}" for f in others)
        return f"unequal work, {told}{more}"
    return "; ".join(f"{f.title or f.field} differs, {f.baseline} against {f.candidate}" for f in unequal)


def _fails(stack: str, limits: tuple[LimitCheck, ...]) -> bool:
    return any(check.stack == stack and check.standing is Standing.FAILS for check in limits)


def _failures(selection: Selection, stack: str, limits: tuple[LimitCheck, ...]) -> str:
    side = next(side for side in selection.sides if side.stack == stack)
    if never_completes(side):
        return f"no timed launch of {stack} completed"
    broken = [
        f"{check.metric} {value(check.value, check.unit)}, not {check.limit}"
        for check in limits
        if check.stack == stack and check.standing is Standing.FAILS
    ]
    return f"{stack} fails its limits ({', '.join(broken)})"
