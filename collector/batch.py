"""One `collect`: plan, launch what is missing in order, seal each trial, commit them all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from collector import commit, incoming, plan, recovery, trial
from collector.claims import Claims
from collector.engines.interface import Engine
from collector.measuring import quiet_host
from collector.progress import Progress
from collector.settled import SealedRuns
from collector.stacks.interface import Trial
from ledger import git, run_folder, status
from ledger.benchmark import BenchmarkFile
from ledger.errors import GitError, InputError, PrerequisiteError
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
    check_evidence_folder(workspace.evidence)
    sealed = _sealed(workspace, file)
    made = plan.make_plan(
        file,
        origin_of(file),
        sealed,
        source=workspace.root,
        stacks=options.stacks,
        repeats=options.repeats,
        profiled=options.profiled,
        retry_failed=options.retry_failed,
    )
    if made.excluded and not made.launches and not made.settled:
        why = made.excluded[0].why
        raise PrerequisiteError(why.what, where=str(file.source.path), todo=f"run `{why.install}`")
    return made


def collect(workspace: Workspace, file: BenchmarkFile, engine: Engine, options: Options, progress: Progress) -> Result:
    """Do what is missing of a benchmark. Raises StackproofError before the first launch, or when the disk refuses."""
    check_evidence_folder(workspace.evidence)
    found = commit.repository(workspace.root) if options.commit else None
    claims = Claims(workspace.evidence, lambda token: incoming.is_alive(workspace.evidence, token))
    setting = trial.Setting(
        workspace=workspace.root,
        evidence=workspace.evidence,
        benchmark_text=file.source.text,
        origin=origin_of(file),
        batch="",
        engine=engine,
        claims=claims,
        redactor=Redactor(os.environ),
    )
    recovery.recover(setting, progress.say)
    made = make_plan(workspace, file, options)
    paths = _benchmark_paths(workspace.evidence, file.benchmark.name)
    if made.launches or plan.new_exclusions(made, workspace.evidence):
        batch, path = plan.write_plan(made, workspace.evidence, trial.utc_now())
        setting = trial.Setting(**{**vars(setting), "batch": batch})
        paths.append(path)
    runs, elsewhere, interrupted = _launch_all(setting, workspace, file, made, options, progress)
    paths += [path for _, path in runs]
    made_commit = _commit(found, paths, file.benchmark.name, len(runs), progress) if found else None
    return Result(made, tuple(run for run, _ in runs), elsewhere, made_commit, interrupted)


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


def check_evidence_folder(evidence: Path) -> None:
    """Raise InputError when `evidence` is there but is no folder that can be written."""
    if evidence.exists() and not evidence.is_dir():
        raise InputError("is a file, not an evidence folder", where=str(evidence), todo="move it out of the way")
    if evidence.exists() and not os.access(evidence, os.R_OK | os.W_OK | os.X_OK):
        raise InputError("cannot be read and written", where=str(evidence), todo="check its permissions")


def _sealed(workspace: Workspace, file: BenchmarkFile) -> SealedRuns:
    void = frozenset(
        record.run_id
        for record in (status.read(workspace.evidence) if workspace.evidence.is_dir() else [])
        if record.kind in {"retracted", "excluded"}
    )
    return SealedRuns(workspace.evidence, file.benchmark.name, void=void)


def _launch_all(
    setting: trial.Setting,
    workspace: Workspace,
    file: BenchmarkFile,
    made: plan.Plan,
    options: Options,
    progress: Progress,
) -> tuple[list[tuple[Run, Path]], int, bool]:
    """Launch in order; returns the sealed runs, how many another collector took, and whether the user interrupted."""
    runs: list[tuple[Run, Path]] = []
    sealed = _sealed(workspace, file)
    sealed.refresh()
    elsewhere = 0
    with progress.launches(len(made.launches)):
        for order, each in enumerate(made.launches, 1):
            done = _launch_one(setting, each, made, order, sealed, options, progress)
            if done is None:
                elsewhere += 1
                continue
            runs.append(done)
            if done[0].outcome.reason is Reason.CANCELLED:
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
) -> tuple[Run, Path] | None:
    """Launch one trial, unless another collector has it or has done it since the plan was made."""
    with quiet_host(progress.say):
        before = sealed.attempts(each.trial_key)
        sealed.refresh()
        attempt = sealed.attempts(each.trial_key) + 1
        if sealed.settling(each.trial_key, options.retry_failed and attempt == before + 1):
            return None
        workbench = incoming.open_workbench(setting.evidence, f"{each.trial_key}-{attempt}")
        try:
            if not setting.claims.take(each.trial_key, attempt, workbench.token):
                workbench.discard()
                return None
            progress.begin(each, order)
            environment = made.environments[each.stack_name]
            run, path = trial.launch(setting, each, workbench, environment, order=order, attempt=attempt)
        except BaseException:
            workbench.lock.release()  # what is on the disk stays: the next collect seals it
            raise
        workbench.discard()
        setting.claims.release(each.trial_key, attempt, workbench.token)
    progress.end(run, path)
    return run, path


def _benchmark_paths(evidence: Path, name: str) -> list[Path]:
    """Every run folder and plan file of a benchmark: what an earlier commit may have missed."""
    if not (evidence / name).is_dir():
        return []
    runs = [folder.path for folder in run_folder.scan(evidence) if folder.path.parts[-3] == name]
    return runs + sorted((evidence / name).glob("*/plan-*.json"))


def _commit(found: git.Repository, paths: list[Path], name: str, count: int, progress: Progress) -> str | None:
    message = f"Add evidence of {name}: {count} trial{'s' if count != 1 else ''}\n"
    made = commit.commit(found, [path.resolve() for path in paths], message)
    if made:
        progress.say(f"committed as {made[:12]}")
    return made
