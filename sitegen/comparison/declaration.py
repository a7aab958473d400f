"""What was declared before the launches: the benchmark file that the earliest cited launch sealed beside itself.

A comparison is judged by that, so that a limit, an objective or a threshold that was changed when the results were
known changes nothing; what the file says now is shown beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ledger import benchmark as benchmark_file
from ledger.benchmark import Benchmark, Comparison, Objective
from ledger.errors import InputError, StackproofError
from ledger.quantity import Limit
from ledger.run import Role
from ledger.run_folder import RunFolder
from ledger.yaml_file import parse_yaml
from sitegen.comparison.envelope import limit_text, unit_of
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.selection import Selection
from sitegen.comparison.verdict import Changed, Declared
from sitegen.format import share

NOT_DECLARED = "not declared"


@dataclass(frozen=True)
class Declaration:
    """What to judge by, and where the file says something else now."""

    benchmark: Benchmark
    comparison: Comparison
    """Baseline and candidate as the file has them now, all else as it was declared."""
    first: TrialRun | None
    """The earliest cited timed launch; None while there is none."""
    changes: tuple[Changed, ...] = ()
    unreadable: str | None = None
    """Why the sealed file could not be read; the file as it is now is judged by then."""


def declaration(selection: Selection, now: Benchmark, comparison: Comparison, folder: Path | None) -> Declaration:
    """What the earliest cited launch's own benchmark file declares; the file as it is now where nothing was sealed.

    `folder` is the evidence folder, None for evidence that lies in no folder.
    """
    timed = [run for side in selection.sides for run in side.of(Role.TIMED)]
    first = min(timed, key=lambda run: (run.started_at, run.batch), default=None)
    if first is None or folder is None:
        return Declaration(now, comparison, first)
    try:
        then = sealed_benchmark(RunFolder(folder / first.path), first.profile)
    except (StackproofError, UnicodeDecodeError) as error:
        what = error.what if isinstance(error, StackproofError) else "it is not UTF-8 text"
        return Declaration(now, comparison, first, unreadable=what)
    changes = tuple(_changes(then, now, comparison))
    old = find_pair(then, comparison)
    told = old or comparison
    kept = comparison.model_copy(
        update={
            "threshold": told.threshold,
            "question": told.question or then.question,
            "intended": told.intended,
            "held": told.held,
        }
    )
    return Declaration(then, kept, first, changes)


def declared(found: Declaration, profile: str | None) -> Declared:
    """The declaration as the page shows it."""
    envelope, first = found.benchmark.envelope, found.first
    return Declared(
        question=found.comparison.question or found.benchmark.question,
        objective=objective_text(envelope.objective),
        threshold=found.comparison.threshold,
        limits=tuple(limit_line(metric, limit, found.benchmark) for metric, limit in envelope.limits.items()),
        commit=first.commit if first else None,
        blob=first.blob if first else None,
        profile=profile,
        changes=found.changes,
    )


def objective_text(objective: Objective) -> str:
    """`minimise step_time`."""
    return f"{'minimise' if objective.minimise else 'maximise'} {objective.metric}"


def limit_line(metric: str, limit: Limit, benchmark: Benchmark) -> str:
    """`peak_memory <= 600 MiB`."""
    return f"{metric} {limit_text(limit, unit_of(metric, benchmark))}"


def sealed_benchmark(folder: RunFolder, profile: str | None) -> Benchmark:
    """The benchmark as a run sealed it. Raises StackproofError, UnicodeDecodeError."""
    text, name = folder.bytes("benchmark.yaml").decode(), Path("benchmark.yaml")
    try:
        return benchmark_file.parse(text, name, profile).benchmark
    except InputError:
        if profile is not None:
            raise
        # An earlier version took files that are refused today: what they declare still counts.
        try:
            return Benchmark.model_validate(parse_yaml(text, name).data)
        except ValidationError:
            pass
        raise


def _changes(then: Benchmark, now: Benchmark, comparison: Comparison) -> Iterator[Changed]:
    """Every declared field of the judgement that the file has changed since."""
    old = find_pair(then, comparison)
    if old is None:
        yield Changed("comparison_changed", "this comparison", NOT_DECLARED, f"threshold {share(comparison.threshold)}")
    elif old.baseline != comparison.baseline:
        sides = (f"{each.candidate} against {each.baseline}" for each in (old, comparison))
        yield Changed("comparison_changed", "the comparison", *sides)
    if old is not None and old.threshold != comparison.threshold:
        yield Changed("threshold_changed", "the threshold", share(old.threshold), share(comparison.threshold))
    if old is not None and set(old.intended) != set(comparison.intended):
        fields = (_fields_text(each.intended) for each in (old, comparison))
        yield Changed("fields_changed", "what may differ", *fields)
    if old is not None and set(old.held) != set(comparison.held):
        yield Changed("fields_changed", "what is held beside", *(_fields_text(each.held) for each in (old, comparison)))
    objectives = [objective_text(each.envelope.objective) for each in (then, now)]
    if objectives[0] != objectives[1]:
        yield Changed("objective_changed", "the objective", *objectives)
    limits = [each.envelope.limits for each in (then, now)]
    for metric in dict.fromkeys((*limits[0], *limits[1])):
        if limits[0].get(metric) != limits[1].get(metric):
            yield Changed("envelope_changed", f"the limit on {metric}", *_limit_words(metric, limits, then))


def _fields_text(fields: Iterable[str]) -> str:
    return ", ".join(sorted(fields)) or NOT_DECLARED


def _limit_words(metric: str, limits: Iterable[dict[str, Limit]], benchmark: Benchmark) -> Iterator[str]:
    """Both limits; with more digits where the usual three would make them look alike."""
    found = [each.get(metric) for each in limits]
    bounds = [each.bound for each in found if each]
    alike = len(bounds) == 2 and abs(bounds[0] - bounds[1]) <= 0.01 * max(map(abs, bounds))
    for each in found:
        if each is None:
            yield NOT_DECLARED
        else:
            yield f"{each.operator} {each.bound:.12g}" if alike else limit_text(each, unit_of(metric, benchmark))


def find_pair(benchmark: Benchmark, comparison: Comparison) -> Comparison | None:
    """The comparison of these two stacks, whichever of them is the baseline; the same way round first."""
    pair = {comparison.baseline, comparison.candidate}
    found = [each for each in benchmark.comparisons if {each.baseline, each.candidate} == pair]
    return min(found, key=lambda each: each.baseline != comparison.baseline, default=None)
