"""What a branch adds to the evidence, what it changes in the verdicts, what it breaks: the review of a pull request.

The state before is the merge base's own evidence and benchmark files, written out of git into a folder that goes away;
the state after is the workspace as it lies on disk.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ledger import append_only, verify, workspace
from ledger.append_only import Change
from ledger.canonical import SHORT
from ledger.checkout import write_tree
from ledger.errors import StackproofError
from ledger.finding import Finding
from ledger.run import Run, State
from ledger.status import StatusRecord
from ledger.verify import Report
from ledger.workspace import Workspace
from ledger.yaml_file import read_yaml
from sitegen.comparison import judge_all
from sitegen.comparison.verdict import Decision, Verdict

NOT_DECLARED = "not declared"
NOT_JUDGED = "could not be judged"
NOTHING = "nothing"
_JUDGED = frozenset({"envelope", "comparisons", "workload", "question"})


@dataclass(frozen=True)
class AddedRun:
    """A run folder that the merge base does not hold."""

    name: str
    """`<benchmark>/<date>/<stack>-<id>`."""
    run: Run | None
    """None when its run.json cannot be read."""


@dataclass(frozen=True)
class VerdictChange:
    """One comparison before and after, in a few words each."""

    benchmark: str
    slug: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether decision, winner or readiness differ."""
        return self.before != self.after


@dataclass(frozen=True)
class DeclaredChange:
    """One field of a benchmark file that the branch changes."""

    benchmark: str
    field: str
    """`envelope.limits.peak_memory`, `comparisons.slow-vs-fast.threshold`."""
    before: str
    after: str

    @property
    def judged(self) -> bool:
        """Whether verdicts rest on it, so that they would differ if it had been declared before the launches."""
        path = self.field.split(".")
        return (path[2] if path[0] == "profiles" and len(path) > 2 else path[0]) in _JUDGED


@dataclass(frozen=True)
class Outcomes:
    """How the added runs of one stack ended."""

    benchmark: str
    stack: str
    roles: dict[str, int]
    completed: int
    failed: dict[str, int]
    """{reason: runs}."""


@dataclass(frozen=True)
class Review:
    """Everything that the comment says."""

    base: str
    """As it was asked for."""
    change: Change
    runs: tuple[AddedRun, ...]
    violations: tuple[Finding, ...]
    already_broken: int
    """Problems that the merge base has as well."""
    verdicts: tuple[VerdictChange, ...]
    records: tuple[StatusRecord, ...]
    declared: tuple[DeclaredChange, ...] = ()
    """Fields of benchmark files that the merge base has with another value; those that are judged by come first."""

    @property
    def outcomes(self) -> list[Outcomes]:
        """The added runs by benchmark and stack."""
        groups: dict[tuple[str, str], list[Run]] = {}
        for run in (added.run for added in self.runs):
            if run is not None:
                groups.setdefault((str(run.benchmark.name), str(run.stack)), []).append(run)
        return [_outcomes(*key, runs) for key, runs in sorted(groups.items())]

    @property
    def failures(self) -> list[tuple[AddedRun, Run]]:
        """The added runs that failed."""
        return [(each, each.run) for each in self.runs if each.run and each.run.outcome.state is State.FAILED]


@dataclass(frozen=True)
class _Before:
    """The merge base: its verdicts, and what was wrong there already."""

    verdicts: dict[tuple[str, str], str]
    judged: bool
    findings: frozenset[Finding]
    fields: dict[str, dict[str, str]]
    """{benchmark: {field: value}} of its benchmark files."""


def review(here: Workspace, base: str) -> Review:
    """Compare a workspace with the commit at which its branch left `base`. Raises GitError, InputError."""
    change = append_only.check(here.evidence, base)
    before = _before(here, change)
    report = _verify(here.evidence)
    fresh = [found for found in report.findings if found not in before.findings]
    seen = {found.path for found in change.findings}
    verdicts, problem = _verdicts(here)
    violations = [*change.findings, *(found for found in fresh if found.path not in seen)]
    violations += [Finding("benchmark", problem[0], None, problem[1], problem[2])] if problem else []
    return Review(
        base=base,
        change=change,
        runs=tuple(
            AddedRun(each.folder.name, each.run)
            for each in report.checks
            if each.folder.run_id not in {name[-SHORT:] for name in change.before.runs}  # moved is not added
        ),
        violations=tuple(violations),
        already_broken=len(report.findings) - len(fresh),
        verdicts=tuple(_compare(before, verdicts, judged=problem is None)),
        records=tuple(record for record in report.records if _record_path(record) not in change.before.kinds),
        declared=tuple(_declared(before.fields, _fields(here))),
    )


def in_words(verdict: Verdict) -> str:
    """Decision and readiness in a few words: `compile wins, ready`."""
    decision = f"{verdict.winner} wins" if verdict.decision is Decision.WINS else verdict.decision.value
    return f"{decision}, {'ready' if verdict.readiness.ready else 'not ready'}"


def _before(here: Workspace, change: Change) -> _Before:
    """Write the merge base's workspace into a folder and judge it there."""
    root = change.workspace_path(here)
    with tempfile.TemporaryDirectory(prefix="stackproof-review-") as name:
        folder = Path(name).resolve()
        config = append_only.read_tree(change.repository, change.base, root).only(workspace.CONFIG)
        write_tree(config, folder)
        if not (folder / workspace.CONFIG).is_file():
            return _Before({}, judged=True, findings=frozenset(), fields={})
        there = workspace.find(folder)
        benchmarks = "/".join(part for part in (root, there.benchmarks.relative_to(folder).as_posix()) if part)
        write_tree(append_only.read_tree(change.repository, change.base, benchmarks), there.benchmarks)
        write_tree(change.before, there.evidence)
        verdicts, problem = _verdicts(there)
        return _Before(verdicts, problem is None, frozenset(_verify(there.evidence).findings), _fields(there))


def _fields(here: Workspace) -> dict[str, dict[str, str]]:
    """Every leaf of every benchmark file that is YAML, as it is written."""
    found = {}
    for path in here.benchmark_files():
        with contextlib.suppress(StackproofError):
            found[path.stem] = dict(_leaves(read_yaml(path).data, ""))
    return found


def _leaves(data: object, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _leaves(value, f"{at}.{key}" if at else str(key))
    elif isinstance(data, list) and all(
        isinstance(each, dict) and {"baseline", "candidate"} <= set(each) for each in data
    ):
        for each in data:
            yield from _leaves(each, f"{at}.{each['baseline']}-vs-{each['candidate']}")
    else:
        yield at, "null" if data is None else str(data)


def _declared(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> list[DeclaredChange]:
    """What benchmark files of the base say differently now; a new file changes nothing that was declared."""
    found = [
        DeclaredChange(name, field, then.get(field, NOTHING), now.get(field, NOTHING))
        for name, then in before.items()
        for now in [after.get(name, {})]
        for field in dict.fromkeys((*then, *now))
        if then.get(field) != now.get(field)
    ]
    return sorted(found, key=lambda each: (not each.judged, each.benchmark))


def _verify(evidence: Path) -> Report:
    """All checks; an evidence folder that is not there holds nothing."""
    if not evidence.exists() and not evidence.is_symlink():
        return Report((), 0, (), ())
    return verify.verify_evidence(evidence)


def _verdicts(here: Workspace) -> tuple[dict[tuple[str, str], str], tuple[str, str, str] | None]:
    """{(benchmark, comparison): verdict in words}, or where, what and what to do when they cannot be judged."""
    if not here.evidence.exists():
        return {}, None
    try:
        return {(each.benchmark, each.slug): in_words(each) for each in judge_all(here)}, None
    except StackproofError as error:
        where = Path(error.where or ".")
        place = where.relative_to(here.root) if where.is_relative_to(here.root) else where
        return {}, (str(place), f"the verdicts cannot be judged: {error.what}", error.todo or "correct it")


def _compare(before: _Before, after: dict[tuple[str, str], str], *, judged: bool) -> Iterator[VerdictChange]:
    for benchmark, slug in sorted({*before.verdicts, *after}):
        then = before.verdicts.get((benchmark, slug), NOT_DECLARED if before.judged else NOT_JUDGED)
        now = after.get((benchmark, slug), NOT_DECLARED if judged else NOT_JUDGED)
        yield VerdictChange(benchmark, slug, then, now)


def _outcomes(benchmark: str, stack: str, runs: list[Run]) -> Outcomes:
    roles: dict[str, int] = {}
    failed: dict[str, int] = {}
    for run in runs:
        roles[run.role.value] = roles.get(run.role.value, 0) + 1
        if run.outcome.reason is not None:
            failed[run.outcome.reason.value] = failed.get(run.outcome.reason.value, 0) + 1
    return Outcomes(benchmark, stack, roles, sum(run.outcome.state is State.COMPLETED for run in runs), failed)


def _record_path(record: StatusRecord) -> str:
    return f"status/{record.run_id}/{record.file_name}"
