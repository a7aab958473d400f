"""How each stack's settings were found: every trial of its search, what was chosen, and what came of that when it was
launched again.

The best of many trials looks better than it is, so a search only chooses: its values stand beside those of the timed
launches and decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

from ledger import search
from ledger.benchmark import Benchmark
from ledger.run import State
from sitegen.comparison import envelope
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.meaning import title_of
from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import Interval
from sitegen.comparison.tuning_path import SettingEffect, TuningPath, TuningTrial
from sitegen.format import count, value


def paths(selection: Selection, benchmark: Benchmark) -> tuple[TuningPath, ...]:
    """The tuning path of each side that has one."""
    return tuple(_path(selection, side, benchmark) for side in selection.sides if side.tuning)


def unequal(selection: Selection, benchmark: Benchmark) -> str | None:
    """What to say when the two sides were not searched equally long; None when they were.

    Searches that both used up one budget are equal, also where one space holds fewer settings than the budget.
    """
    trials = [len(_counting(side)) for side in selection.sides]
    if trials[0] == trials[1]:
        return None
    declared = benchmark.search
    if declared is not None and min(trials) > 0:
        budgets = {declared.budget_of(side.stack) for side in selection.sides}
        if len(budgets) == 1 and all(_ended(side, benchmark) for side in selection.sides):
            return None
    said = ", ".join(
        f"{side.stack} {count(n, 'search trial')}" for side, n in zip(selection.sides, trials, strict=True)
    )
    return f"{said}; the comparison is also one of effort"


def _path(selection: Selection, side: Side, benchmark: Benchmark) -> TuningPath:
    objective, steps = benchmark.envelope.objective, [run.search for run in side.tuning if run.search]
    trials = tuple(_trial(run, benchmark) for run in side.tuning)
    named = {run.tuned_by for run in side.timed}
    chosen = _chosen(trials, named)
    confirmed, _ = envelope.over_launches(selection, side, objective.metric)
    has_bounds = chosen is not None and isinstance(confirmed, Interval) and confirmed.low < confirmed.high
    origin = _origin(side, benchmark)
    effects = _effects(side.tuning, trials, origin, chosen) if origin and chosen else ()
    declared = benchmark.search
    return TuningPath(
        stack=side.stack,
        method=steps[0].method,
        metric=objective.metric,
        title=title_of(objective.metric, benchmark),
        unit=envelope.unit_of(objective.metric, benchmark),
        lower_is_better=objective.minimise is not None,
        settings=tuple(steps[0].parameters),
        trials=trials,
        refused=tuple(row.reason or "" for row in side.refused),
        budget=declared.budget_of(side.stack).text if declared else None,
        ended=_ended(side, benchmark),
        seconds=sum(run.seconds for run in _counting(side)),
        chosen=chosen.number if chosen else None,
        searched=chosen.value if chosen else None,
        confirmed=confirmed.center if chosen else None,
        low=confirmed.low if has_bounds and isinstance(confirmed, Interval) else None,
        high=confirmed.high if has_bounds and isinstance(confirmed, Interval) else None,
        launches=len(side.timed) if chosen else 0,
        origin=origin.number if origin else None,
        effects=effects,
        interaction=_interaction(origin, chosen, effects),
    )


def _chosen(trials: Sequence[TuningTrial], named: Container[str | None]) -> TuningTrial | None:
    """The trial that gave the timed launches their settings; where it was set aside, the one made in its place."""
    found = next((trial for trial in trials if trial.run_id in named), None)
    if found is None or found.set_aside is None:
        return found
    again = [trial for trial in trials if trial.set_aside is None and trial.parameters == found.parameters]
    return again[-1] if again else found


def _trial(run: TrialRun, benchmark: Benchmark) -> TuningTrial:
    step = run.search
    if step is None:
        raise ValueError(f"run {run.run_id} is no search trial")
    return TuningTrial(
        number=step.number,
        parameters=search.text(step.parameters),
        chosen_by=step.chosen_by,
        value=_value(run, benchmark.envelope.objective.metric),
        outside=tuple(_outside(run, benchmark)),
        state=run.state.value,
        reason=run.reason,
        detail=run.detail,
        seconds=run.seconds,
        set_aside=run.set_aside,
        run_id=run.run_id,
    )


def _value(run: TrialRun, metric: str) -> float | None:
    """None of a failed trial too: what it measured before it failed is no result."""
    row = run.find(metric) if run.state is State.COMPLETED else None
    return row.value if row else None


def _outside(run: TrialRun, benchmark: Benchmark) -> Iterable[str]:
    """`evaluation_loss 2.1 nats (<= 2.05)` for each limit that the trial's value broke."""
    for metric, limit in benchmark.envelope.limits.items():
        found = _value(run, metric)
        if found is not None and not limit.allows(found):
            unit = envelope.unit_of(metric, benchmark)
            yield f"{metric} {value(found, unit)} ({envelope.limit_text(limit, unit)})"


def _counting(side: Side) -> list[TrialRun]:
    return [run for run in side.tuning if not run.set_aside]


def _ended(side: Side, benchmark: Benchmark) -> str | None:
    declared, stack = benchmark.search, benchmark.stacks.get(side.stack)
    space = stack.search if stack else None
    if declared is None or not space:
        return None
    budget, counting = declared.budget_of(side.stack), _counting(side)
    size = search.size(space)
    tried = {search.text(run.search.parameters) for run in counting if run.search}
    if size is not None and len(tried) + len(side.refused) >= size:
        return f"all {count(size, 'point')} of the space were tried or passed over"
    if budget.trials is not None and len(counting) >= budget.trials:
        return "its trials were used up"
    if budget.minutes is not None and sum(run.seconds for run in counting) >= 60 * budget.minutes:
        return "its time was used up"
    return None


def _origin(side: Side, benchmark: Benchmark) -> TuningTrial | None:
    """The trial of the settings that the file gives the stack, else the first one; only one that has a value."""
    counting = [run for run in _counting(side) if run.search]
    stack = benchmark.stacks.get(side.stack)
    declared = stack.settings if stack else {}
    own = [
        run
        for run in counting
        if run.search and all(declared.get(name) == chosen for name, chosen in run.search.parameters.items())
    ]
    first = next(iter(own or counting), None)
    found = _trial(first, benchmark) if first else None
    return found if found and found.value else None


def _effects(
    runs: Sequence[TrialRun], trials: Sequence[TuningTrial], origin: TuningTrial, chosen: TuningTrial
) -> tuple[SettingEffect, ...]:
    points = {run.search.number: run.search.parameters for run in runs if run.search and not run.set_aside}
    values = {trial.number: trial.value for trial in trials if not trial.set_aside}
    start, end = points[origin.number], points.get(chosen.number, {})
    effects = []
    for name in (name for name in end if end[name] != start.get(name)):
        alone = next((number for number, point in points.items() if point == {**start, name: end[name]}), None)
        after = values.get(alone) if alone is not None else None
        effects.append(
            SettingEffect(
                setting=name,
                before=search.text({name: start[name]}),
                after=search.text({name: end[name]}),
                ratio=after / origin.value if after and origin.value else None,
                trials=(origin.number, *([alone] if alone is not None else [])),
            )
        )
    return tuple(effects)


def _interaction(
    origin: TuningTrial | None, chosen: TuningTrial | None, effects: Sequence[SettingEffect]
) -> float | None:
    if origin is None or chosen is None or not origin.value or not chosen.value or len(effects) < 2:
        return None
    ratios = [effect.ratio for effect in effects]
    known = [ratio for ratio in ratios if ratio is not None]
    return chosen.value / origin.value / math.prod(known) if len(known) == len(ratios) else None
