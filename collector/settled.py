"""What is sealed already: the runs of a benchmark by trial key, read once a folder."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from ledger import manifest, run_folder
from ledger.canonical import bytes_digest
from ledger.errors import EvidenceError, InputError
from ledger.run import Reason, Run, State
from ledger.run_folder import RunFolder


@dataclass
class SealedRuns:
    """The runs of one benchmark. `refresh` reads only folders that it has not seen."""

    evidence: Path
    benchmark: str
    _seen: set[Path] = field(default_factory=set)
    _runs: dict[str, list[tuple[str, Run]]] = field(default_factory=dict)
    _folders: dict[str, RunFolder] = field(default_factory=dict)
    void: frozenset[str] = frozenset()
    """Ids of runs that a status record takes out of use."""
    besides: tuple[Path, ...] = ()
    """Further evidence folders whose runs count too: what other branches hold."""
    broken: list[str] = field(default_factory=list)
    """A line for each folder that should be a run of this benchmark and cannot be read as one."""

    def refresh(self) -> None:
        """Read the run folders that appeared since the last time. A broken one counts as not there."""
        for folder in self._unseen():
            self._seen.add(folder.path)
            try:
                run = _read(folder)
            except EvidenceError as error:
                if folder.path.parts[-3] == self.benchmark:
                    what = f"{folder.name} does not count, its trial is launched again: {error.what}"
                    self.broken.append(f"{what}; run `stackproof verify {folder.run_id}`")
                continue
            if run.benchmark.name == self.benchmark:
                known = self._runs.setdefault(run.trial_key, [])
                known += [] if any(folder.run_id == each for each, _ in known) else [(folder.run_id, run)]
                self._folders.setdefault(folder.run_id, folder)

    def _unseen(self) -> list[RunFolder]:
        found: list[RunFolder] = []
        for evidence in (self.evidence, *self.besides):
            with contextlib.suppress(InputError):
                found += (each for each in run_folder.scan(evidence) if each.path not in self._seen)
        return found

    def of(self, trial_key: str) -> list[tuple[str, Run]]:
        """(id, run) of every attempt at a trial."""
        return list(self._runs.get(trial_key, []))

    def by_trial(self) -> list[list[tuple[str, Run]]]:
        """As `of`, for every trial."""
        return [list(runs) for runs in self._runs.values()]

    def attempts(self, trial_key: str) -> int:
        """The highest attempt that was sealed for a key; 0 when there is none."""
        return max((run.attempt for _, run in self._runs.get(trial_key, [])), default=0)

    def settling(self, trial_key: str, retry_failed: bool) -> str | None:
        """Id of the run that makes another launch unnecessary, or None: then the trial is still to be launched."""
        for run_id, run in self._runs.get(trial_key, []):
            if self._counts(run_id, run) and (run.outcome.state is State.COMPLETED or not retry_failed):
                return run_id
        return None

    def counting(self) -> list[tuple[str, Run]]:
        """(id, run) of every run that says something about its stack, in the order of their start."""
        found = [each for runs in self._runs.values() for each in runs if self._counts(*each)]
        return sorted(found, key=lambda each: (each[1].started_at, each[1].launch_order))

    def folder(self, run_id: str) -> RunFolder:
        """Where a run that was read is. Raises KeyError."""
        return self._folders[run_id]

    def _counts(self, run_id: str, run: Run) -> bool:
        taken_out = run_id in self.void or run.duplicate_of_attempt
        return not taken_out and run.outcome.reason is not Reason.CANCELLED

    def all(self) -> list[Run]:
        """Every run, in no particular order."""
        return [run for runs in self._runs.values() for _, run in runs]


def _read(folder: RunFolder) -> Run:
    """The run, when its run.json is the sealed one. Raises EvidenceError."""
    sealed = folder.digests.get("run.json")
    if manifest.run_id(folder.bytes(manifest.NAME)) != folder.run_id or sealed != bytes_digest(
        folder.bytes("run.json")
    ):
        raise EvidenceError("run.json or the manifest was changed", where=folder.name)
    return folder.run
