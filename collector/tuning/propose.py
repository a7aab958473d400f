"""Which settings to try next.

Each proposal is a function of the declared search and of the trials before: the optimiser is made anew, told them all,
and asked once. So a search that was broken off goes on as if it had not been, and anyone can ask it again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from collector.stacks.interface import MissingPrerequisite
from collector.tuning.history import Tried
from ledger import search
from ledger.benchmark import Benchmark
from ledger.errors import PrerequisiteError
from ledger.search import Range, Search, Space

FIRST = 5
"""Trials that `tpe` draws before it learns."""
MOST_ASKS = 50
"""Proposals in one go that were tried before or are refused, until points are drawn from the whole space."""
FAILED = 1e9
"""How far outside the envelope a trial counts that failed."""

Refuses = Callable[[dict[str, Any]], MissingPrerequisite | None]
"""Why a stack cannot have these settings at all; None where it can."""


@dataclass(frozen=True)
class Proposal:
    """What to launch next, and what was passed over because the stack refuses it."""

    parameters: dict[str, Any] | None
    """None when nothing is left to try."""
    chosen_by: str = ""
    refused: tuple[tuple[dict[str, Any], MissingPrerequisite], ...] = ()


def propose(
    wanted: Search,
    space: Space,
    budget: int | None,
    tried: Sequence[Tried],
    own: dict[str, Any],
    benchmark: Benchmark,
    refuses: Refuses,
) -> Proposal:
    """The next point of `space` that was not tried. `own` are the stack's settings as declared: they are tried first.

    `budget` is the number of trials of the whole search, where it has one. Raises PrerequisiteError without Optuna.
    """
    known = {search.text(each.parameters) for each in tried}
    refused: dict[str, tuple[dict[str, Any], MissingPrerequisite]] = {}
    for point, by in _points(wanted, space, budget, tried, own, benchmark):
        name = search.text(point)
        if name in known or name in refused:
            continue
        why = refuses(point)
        if why is None:
            return Proposal(point, by, tuple(refused.values()))
        refused[name] = (point, why)
    return Proposal(None, "", tuple(refused.values()))


def _points(
    wanted: Search, space: Space, budget: int | None, tried: Sequence[Tried], own: dict[str, Any], benchmark: Benchmark
) -> Iterator[tuple[dict[str, Any], str]]:
    """Points with what chose each, until the space is exhausted; some may come twice."""
    if wanted.method == "grid":
        yield from _of_grid(wanted, space, budget, tried)
        return
    if search.holds(space, own):
        yield {name: own[name] for name in space}, "the stack's own settings, tried first"
    seed = (wanted.seed + len(tried)) % 2**32
    if wanted.method == "tpe":
        yield from _of_tpe(space, tried, seed, benchmark)
    yield from _drawn(space, seed)


def _of_grid(
    wanted: Search, space: Space, budget: int | None, tried: Sequence[Tried]
) -> Iterator[tuple[dict[str, Any], str]]:
    points, by = search.grid(space), "grid, in the order of the file"
    if budget is not None and budget < len(points):
        random.Random(wanted.seed).shuffle(points)  # noqa: S311 (repeatable, not secret)
        by = "grid, shuffled since the budget is smaller"
    known = {search.text(each.parameters) for each in tried}
    last = max((n for n, point in enumerate(points) if search.text(point) in known), default=-1)
    yield from ((point, by) for point in points[last + 1 :] + points[: last + 1])


def _of_tpe(
    space: Space, tried: Sequence[Tried], seed: int, benchmark: Benchmark
) -> Iterator[tuple[dict[str, Any], str]]:
    study = _study(space, tried, seed, benchmark)
    distributions = {name: _distribution(values) for name, values in space.items()}
    by = f"TPE, drawn before it learns ({FIRST} trials)" if len(tried) < FIRST else f"TPE, told {len(tried)} trials"
    for _ in range(MOST_ASKS):
        asked = study.ask(distributions)
        yield {name: _written(values, asked.params[name]) for name, values in space.items()}, by
        asked.set_constraint("envelope", FAILED)  # tried before, or refused: ask for another
        study.tell(asked, state=_optuna().trial.TrialState.PRUNED)


def _drawn(space: Space, seed: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Points drawn evenly; a space that can be listed is drawn without one twice, and so to its end."""
    size, by = search.size(space), "drawn at random"
    if size is not None and size <= search.MOST_POINTS:
        points = search.grid({name: _listed(values) for name, values in space.items()})
        random.Random(seed).shuffle(points)  # noqa: S311
        yield from ((point, by) for point in points)
        return
    optuna = _optuna()
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    distributions = {name: _distribution(values) for name, values in space.items()}
    for _ in range(search.MOST_POINTS):
        asked = study.ask(distributions)
        yield {name: _written(values, asked.params[name]) for name, values in space.items()}, by


def _listed(values: Any) -> Any:
    """The values one by one, also of a range that stands for whole numbers."""
    if isinstance(values, Range) and values.step is None:
        return tuple(range(int(values.low), int(values.high) + 1))
    return values


def _study(space: Space, tried: Sequence[Tried], seed: int, benchmark: Benchmark) -> Any:
    """A study that knows the trials: those that failed as broken off, those outside the envelope as such."""
    optuna = _optuna()
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=FIRST)
    direction = "maximize" if benchmark.envelope.objective.minimise is None else "minimize"
    study = optuna.create_study(sampler=sampler, direction=direction)
    distributions = {name: _distribution(values) for name, values in space.items()}
    for each in tried:
        failed = each.value is None
        study.add_trial(
            optuna.trial.create_trial(
                state=optuna.trial.TrialState.PRUNED if failed else optuna.trial.TrialState.COMPLETE,
                value=None if failed else each.value,
                params={name: _coded(values, each.parameters[name]) for name, values in space.items()},
                distributions=distributions,
                constraints={"envelope": FAILED if failed else each.excess},
            )
        )
    return study


def _distribution(values: Any) -> Any:
    distributions = _optuna().distributions
    if not isinstance(values, Range):
        if _has_order(values):
            return distributions.IntDistribution(0, len(values) - 1)
        return distributions.CategoricalDistribution(values)
    high = values.high if values.step is None else values.points()[-1]
    if values.is_whole:
        return distributions.IntDistribution(values.low, high, step=values.step or 1, log=values.log)
    return distributions.FloatDistribution(values.low, high, step=values.step, log=values.log)


def _has_order(values: Sequence[Any]) -> bool:
    """Whether it lists numbers one above the other: then what lies between two is between them for the optimiser."""
    numbers = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    return len(numbers) == len(values) and numbers == sorted(numbers)


def _coded(values: Any, value: Any) -> Any:
    return values.index(value) if not isinstance(values, Range) and _has_order(values) else value


def _written(values: Any, code: Any) -> Any:
    return values[code] if not isinstance(values, Range) and _has_order(values) else code


def _optuna() -> Any:
    try:
        import optuna  # noqa: PLC0415 (only a search needs it)
    except ImportError:
        what = "searching with tpe, or a space without end, needs Optuna, which is not installed"
        raise PrerequisiteError(what, todo="run `pip install 'stackproof[search]'`") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
