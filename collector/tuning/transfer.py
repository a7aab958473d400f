"""The transfer matrix: each stack's best settings launched on every other searched stack.

Each round launches every stack with its own best and with each other's, so that a slowdown is read off launches of the
same minutes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collector.prepared import prepare
from collector.sequence import Launchable, Step, refuse_too_many, turned
from collector.stacks.interface import MissingPrerequisite, Trial
from collector.tuning.history import Tried
from ledger.benchmark import BenchmarkFile
from ledger.canonical import short_digest
from ledger.errors import InputError
from ledger.run import Role, Tuned


@dataclass(frozen=True)
class Transfers:
    """What is launched, and what cannot be."""

    steps: tuple[Step, ...]
    files: dict[Launchable, BenchmarkFile]
    """The benchmark file as each launch needs it."""
    refused: tuple[tuple[Trial, MissingPrerequisite], ...]


def transfers(file: BenchmarkFile, best: Mapping[str, Tried], repeats: int | None, source: Path) -> Transfers:
    """Every stack of `best` with its own best settings and with every other's. Raises InputError for fewer than two."""
    if len(best) < 2:
        what = f"{len(best)} of the chosen stacks has settings that were searched, and a transfer takes two"
        raise InputError(what, where=str(file.source.path), todo="add `search` to another stack of the file")
    known = {name: {*prepare(file, name, source).job.settings, *file.benchmark.stacks[name].search} for name in best}
    cells, files, refused = [], {}, []
    for target in best:
        for owner in best:
            step = Step(target, Role.TRANSFER, 1, tuned=Tuned(owner, best[owner].run_id))
            try:
                changed = file.tuned(target, _mapped(file, owner, target, best[owner].parameters, known[target]))
                prepare(changed, target, source)
            except InputError as error:
                refused.append((_row(file, step, best[owner], source), MissingPrerequisite(error.what, None)))
            else:
                cells.append(step)
                files[step.launchable] = changed
    rounds = range(1, (repeats or file.benchmark.repeats.initial) + 1)
    refuse_too_many(file, len(cells) * len(rounds))
    steps = [Step(each.stack, each.role, n, tuned=each.tuned) for n in rounds for each in turned(cells, n)]
    return Transfers(tuple(steps), files, tuple(refused))


def _mapped(
    file: BenchmarkFile, owner: str, target: str, parameters: Mapping[str, Any], known: Container[str]
) -> dict[str, Any]:
    """The settings under the names that `target` has for them. Raises InputError where it has none."""
    declared = file.benchmark.search
    found = {}
    for name, value in parameters.items():
        other = declared.counterpart(name, owner, target) if declared and owner != target else None
        other = other or (name if name in known else None)
        if other is None:
            raise InputError(f"cannot be mapped: {target} has no setting that is {owner}'s {name}")
        found[other] = value
    return found


def _row(file: BenchmarkFile, step: Step, best: Tried, source: Path) -> Trial:
    key = short_digest({"from": step.tuned and step.tuned.run_id, "to": step.stack, "role": step.role.value})
    beside = file.source.path.resolve().parent
    named = (file.benchmark, step.stack, dict(best.parameters), source, step.role, step.repeat, key)
    return Trial(*named, beside=beside, tuned=step.tuned)
