"""The search of one stack's settings: what it has tried, what it tries next, and the best so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from collector.prepared import Prepared, prepare
from collector.sequence import Step
from collector.settled import SealedRuns
from collector.stacks.interface import MissingPrerequisite, SettingsError, Trial
from collector.stacks.registry import ADAPTERS
from collector.tuning import history
from collector.tuning.history import Tried
from collector.tuning.propose import propose
from ledger import search
from ledger.benchmark import BenchmarkFile
from ledger.canonical import digest, short_digest
from ledger.errors import InputError
from ledger.run import Role, SearchStep
from ledger.search import Budget, Range, Search
from ledger.suggestion import nearest
from ledger.yaml_file import Location


@dataclass(frozen=True)
class Next:
    """What a search asks for now."""

    prepared: Prepared | None
    """None when it has ended."""
    trial: Trial | None
    refused: tuple[tuple[Trial, MissingPrerequisite], ...]
    """Points that the stack cannot have, passed over on the way."""


class StackSearch:
    """One stack's search. Raises InputError for a setting that the adapter does not know."""

    def __init__(self, file: BenchmarkFile, declared: Prepared, sealed: SealedRuns, source: Path) -> None:
        self._file = file
        self._declared = declared
        self._source = source
        self.stack = declared.job.stack_name
        self.space = file.benchmark.stacks[self.stack].search
        self._check_names()
        self.tried = tuple(history.read(sealed, self._path, file.benchmark))

    @property
    def best(self) -> Tried | None:
        """The best trial so far."""
        return history.best(self.tried, self._file.benchmark)

    @property
    def budget(self) -> Budget:
        """How long it lasts."""
        return self._search.budget_of(self.stack)

    def next(self) -> Next:
        """The next trial, until the budget or the space is used up. Raises PrerequisiteError without Optuna."""
        if history.spent(self.tried, self.budget):
            return Next(None, None, ())
        found = propose(
            self._search,
            self.space,
            self.budget.trials,
            self.tried,
            self._declared.job.settings,
            self._file.benchmark,
            self._refuses,
        )
        refused = tuple((self._refused(point), why) for point, why in found.refused)
        if found.parameters is None:
            return Next(None, None, refused)
        step = self._step(found.parameters, found.chosen_by)
        prepared = prepare(self._with(found.parameters), self.stack, self._source)
        return Next(prepared, prepared.trial(Step(self.stack, Role.SEARCH, step.number, search=step)), refused)

    def _step(self, parameters: dict[str, Any], chosen_by: str) -> SearchStep:
        """The next step of the path."""
        return SearchStep(
            method=self._search.method,
            seed=self._search.seed,
            space=self._path,
            number=max((each.number for each in self.tried), default=0) + 1,  # one may have been retracted
            parameters=parameters,
            chosen_by=chosen_by,
            after=tuple(each.run_id for each in self.tried),
        )

    @property
    def _search(self) -> Search:
        declared = self._file.benchmark.search
        if declared is None:
            raise ValueError("no search is declared")  # the file's check refuses that
        return declared

    @cached_property
    def _path(self) -> str:
        """Digest of what is searched and of all that is held meanwhile: the name of the tuning path."""
        benchmark, stack = self._file.benchmark, self._file.benchmark.stacks[self.stack]
        return digest(
            {
                "stack": self.stack,
                "adapter": stack.adapter,
                "method": self._search.method,
                "seed": self._search.seed,
                "space": {name: _plain(values) for name, values in self.space.items()},
                "held": {name: value for name, value in stack.settings.items() if name not in self.space},
                "memory_limit": stack.memory_limit,
                "objective": benchmark.envelope.objective.model_dump(mode="json"),
                "workload": benchmark.workload_digest,
                "digests": self._declared.digests,
                "environment": self._declared.environment_digest,
            }
        )

    def _with(self, parameters: dict[str, Any]) -> BenchmarkFile:
        return self._file.tuned(self.stack, parameters)

    def _refuses(self, parameters: dict[str, Any]) -> MissingPrerequisite | None:
        try:
            return prepare(self._with(parameters), self.stack, self._source).missing
        except InputError as error:
            return MissingPrerequisite(f"{search.text(parameters)}: {error.what}", None)

    def _refused(self, parameters: dict[str, Any]) -> Trial:
        """A row for the plan: it has no launch that could be named by what decides it."""
        job = self._declared.job
        key = short_digest({"path": self._path, "refused": parameters})
        settings, step = {**job.settings, **parameters}, self._step(parameters, "passed over")
        named = (job.benchmark, self.stack, settings, job.workspace, Role.SEARCH, step.number, key)
        return Trial(*named, beside=job.beside, search=step)

    def _check_names(self) -> None:
        """Every setting that the file names for this stack is one: a misspelt one must not cost a search first."""
        for name, values in self.space.items():
            value = values.low if isinstance(values, Range) else values[0]
            self._check_name(name, value, ("stacks", self.stack, "search", name))
        for index, row in enumerate(self._search.same):
            if self.stack in row:
                self._check_name(row[self.stack], None, ("search", "same", index, self.stack))

    def _check_name(self, name: str, value: Any, at: Location) -> None:
        stack = self._file.benchmark.stacks[self.stack]
        try:
            ADAPTERS[stack.adapter].resolve({**stack.settings, name: value}, self._file.benchmark)
        except SettingsError as error:
            if error.key == name and error.known and name not in error.known:
                raise self._file.error(at, error.what, nearest(name, error.known)) from None


def _plain(values: Any) -> Any:
    return values.model_dump(mode="json") if isinstance(values, Range) else list(values)
