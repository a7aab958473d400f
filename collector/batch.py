"""One `collect`: plan, launch what is missing in order, seal each trial, commit them all."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from collector import commit, incoming, leftover, plan, recovery, trial
from collector.claims import Claims
from collector.engines.interface import Engine
from collector.interrupts import Interrupts
from collector.measuring import quiet_host
from collector.progress import Progress
from collector.settled import SealedRuns
from collector.stacks.interface import Trial
from ledger import git, status
from ledger.benchmark import BenchmarkFile
from ledger.errors import EvidenceError, GitError, InputError, PrerequisiteError
from ledger.run import BenchmarkOrigin, Reason, Run
from ledger.secrets import Redactor
from ledger.workspace import Workspace


@dataclass(frozen=True)
class Options:
    """What `collect` was asked for beside the benchmark."""

    stacks: tuple[str, ...] = ()
    repeats: int | None = None
    profiled: int | None = None
    retry_failed: bool = False
    commit: bool = True
    purpose: plan.Purpose = plan.Purpose.COMPARISON
    renew: frozenset[str] = frozenset()
    """Ids of runs that are too old to settle their trials: these are launched as further attempts."""
    besides: tuple[Path, ...] = ()
    """Evidence of other branches: what has a run there is not launched here."""


@dataclass(frozen=True)
class Result:
    """What one `collect` did."""

    plan: plan.Plan
    runs: tuple[Run, ...]
    elsewhere: int
    """Trials that another collector runs or ran meanwhile."""
    commit: str | None
    interrupted: bool = False


def make_plan(workspace: Workspace, file: BenchmarkFile, options: Options) -> plan.Plan:
    """The plan that `collect` would follow now. Raises PrerequisiteError when this machine can launch nothing of it."""
    check_evidence_folder(workspace.evidence, file.benchmark.name)
    return _plan(workspace, file, options, sealed_runs(workspace, file, options))


def _plan(workspace: Workspace, file: BenchmarkFile, options: Options, sealed: SealedRuns) -> plan.Plan:
    wish = plan.Wish(options.stacks, options.repeats, options.profiled, options.retry_failed, options.purpose)
    made = plan.make_plan(file, origin_of(file), sealed, workspace.root, wish)
    lacking = [each.why for each in made.excluded if each.why.install]
    if lacking and not made.launches and not made.settled:
        raise PrerequisiteError(lacking[0].what, where=str(file.source.path), todo=f"run `{lacking[0].install}`")
    return made


def collect(
    workspace: Workspace,
    file: BenchmarkFile,
    engine: Engine,
    options: Options,
    progress: Progress,
    interrupts: Interrupts,
) -> Result:
    """Do what is missing of a benchmark. Raises StackproofError before the first launch, or when the disk refuses."""
    evidence, name = workspace.evidence, file.benchmark.name
    check_evidence_folder(evidence, name, write=True)
    found = _repository(workspace) if options.commit else None
    setting = trial.Setting(
        workspace=workspace.root,
        evidence=evidence,
        benchmark_text=file.source.text,
        origin=origin_of(file),
        batch="",
        engine=engine,
        claims=Claims(evidence, lambda token: incoming.is_alive(evidence, token)),
        redactor=Redactor(os.environ),
        interrupts=interrupts,
        say=progress.say,
    )
    recovery.recover(setting, progress.say)
    sealed = sealed_runs(workspace, file, options)
    runs: list[Run] = []
    excluded: list[plan.Excluded] = []
    elsewhere, stopped, searching = 0, False, True
    while searching and not stopped:
        made = _plan(workspace, file, options, sealed)
        for warning in made.warnings if not runs else ():
            progress.say(f"warning: {warning}")
        if made.launches or plan.new_exclusions(made, evidence, *options.besides):
            batch, _ = plan.write_plan(made, evidence, trial.utc_now())
            setting = replace(setting, batch=batch)
        launched, left, stopped = _launch_all(setting, sealed, made, options, progress)
        runs, elsewhere, excluded = [*runs, *launched], elsewhere + left, [*excluded, *made.excluded]
        searching = made.is_search and bool(launched)  # another collector that has the search goes on with it
    with interrupts.held():
        made_commit = commit_sealed(found, evidence, name, progress) if found else None
    whole = replace(made, excluded=tuple(excluded))
    return Result(whole, tuple(runs), elsewhere, made_commit, stopped or interrupts.asked > 0)


def origin_of(file: BenchmarkFile) -> BenchmarkOrigin:
    """Name, commit and blob of a benchmark file; commit and blob only when the file is committed as it is."""
    name, path = file.benchmark.name, file.source.path.resolve()
    try:
        found = git.find(path.parent)
        blob = found.text("hash-object", "--no-filters", "--", str(path))
        held = found.text("rev-parse", "--verify", "--quiet", f"HEAD:{path.relative_to(found.root).as_posix()}")
        commit_id = found.text("log", "-1", "--format=%H", "--", str(path)) if held == blob else None
    except (GitError, ValueError):
        return BenchmarkOrigin(name, profile=file.profile)
    if commit_id is None:
        return BenchmarkOrigin(name, profile=file.profile)
    return BenchmarkOrigin(name, commit_id, blob, file.profile)


def check_evidence_folder(evidence: Path, benchmark: str, *, write: bool = False) -> None:
    """Raise InputError when `evidence` is there but is no folder that can be read, or else written."""
    below = evidence / benchmark
    for path in (evidence, below, *(below.iterdir() if below.is_dir() else ())):
        if path.is_symlink():
            what = "is a symbolic link, of which git keeps only the name"
            raise InputError(what, where=str(path), todo="put the real folder in its place")
    if evidence.exists() and not evidence.is_dir():
        raise InputError("is a file, not an evidence folder", where=str(evidence), todo="move it out of the way")
    wanted, words = (os.W_OK, "read and written") if write else (0, "read")
    if evidence.exists() and not os.access(evidence, os.R_OK | os.X_OK | wanted):
        raise InputError(f"cannot be {words}", where=str(evidence), todo="check its permissions")


def _repository(workspace: Workspace) -> git.Repository:
    """The repository that the evidence is committed to. Raises StackproofError."""
    found = commit.repository(workspace.root)
    if not workspace.evidence.resolve().is_relative_to(found.root.resolve()):
        what = f"lies outside the git repository {found.root}"
        raise InputError(what, where=str(workspace.evidence), todo="move it there, or use --no-commit")
    return found


def sealed_runs(workspace: Workspace, file: BenchmarkFile, options: Options) -> SealedRuns:
    """What is sealed of a benchmark, here and in `options.besides`; nothing is read yet."""
    records = status.read(workspace.evidence) if workspace.evidence.is_dir() else []
    for evidence in options.besides:
        with contextlib.suppress(EvidenceError):  # a broken record of a branch that is not merged is not ours to mend
            records += status.read(evidence)
    void = {record.run_id for record in records if record.kind in {"retracted", "excluded"}}
    return SealedRuns(
        workspace.evidence, file.benchmark.name, void=frozenset(void | options.renew), besides=options.besides
    )


def _launch_all(
    setting: trial.Setting, sealed: SealedRuns, made: plan.Plan, options: Options, progress: Progress
) -> tuple[list[Run], int, bool]:
    """Launch in order; returns the sealed runs, how many another collector took, and whether it was stopped."""
    runs: list[Run] = []
    elsewhere = 0
    try:
        sealed.refresh()
        with progress.launches(len(made.launches)):
            for order, each in enumerate(made.launches, 1):
                if setting.interrupts.asked:
                    return runs, elsewhere, True
                before = len(runs)
                _launch_one(setting, each, made, order, sealed, options, progress, runs)
                elsewhere += len(runs) == before
                if runs and runs[-1].outcome.reason is Reason.CANCELLED:
                    return runs, elsewhere, True
    except KeyboardInterrupt:
        if setting.interrupts.asked > 1:
            raise
        return runs, elsewhere, True
    return runs, elsewhere, False


def _launch_one(
    setting: trial.Setting,
    each: Trial,
    made: plan.Plan,
    order: int,
    sealed: SealedRuns,
    options: Options,
    progress: Progress,
    runs: list[Run],
) -> None:
    """Launch one trial and add its run, unless another collector has it or has done it since the plan was made."""
    with quiet_host(progress.say):
        before = sealed.attempts(each.trial_key)
        sealed.refresh()
        attempt = sealed.attempts(each.trial_key) + 1
        if sealed.settling(each.trial_key, options.retry_failed and attempt == before + 1):
            return
        workbench = incoming.open_workbench(setting.evidence, f"{each.trial_key}-{attempt}")
        try:
            if not setting.claims.take(each.trial_key, attempt, workbench.token):
                workbench.discard()
                return
            with setting.interrupts.held():
                progress.begin(each, order)
                environment = made.environments[each.stack_name]
                run, path = trial.launch(setting, each, workbench, environment, order=order, attempt=attempt)
                runs.append(run)
                workbench.discard()
                setting.claims.release(each.trial_key, attempt, workbench.token)
                progress.end(run, path)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                with contextlib.suppress(OSError):
                    workbench.cancelled.touch()
            workbench.lock.release()  # what is on the disk stays: the next collect seals it
            raise


def commit_sealed(found: git.Repository, evidence: Path, name: str, progress: Progress) -> str | None:
    """Commit what is sealed of a benchmark and not committed yet; the commit's id, or None. Raises GitError."""
    left = leftover.find(found, evidence.resolve(), name)
    for line in left.left_out:
        progress.say(f"warning: {line}")
    made = commit.commit(found, left.paths, f"Add evidence of {name}: {left.title}\n")
    if made:
        progress.say(f"committed {left.title} as {made[:12]}")
    return made
