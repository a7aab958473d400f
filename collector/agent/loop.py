"""The agent's passes: look at the remote, run what its benchmark files lack or what is due, push, and wait.

What runs is what the protected branch holds, and only when its commits may be run (`trust`). Whatever is sealed is
committed to a branch of this host (`branches`), and stays there until the remote takes it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collector import batch, commit
from collector.agent import due, elsewhere, remote, succession, trust
from collector.agent.branches import Branches
from collector.agent.patience import Patience
from collector.agent.repository import open_clone
from collector.agent.state import Doing, StateFile, shown
from collector.engines.local import LocalEngine
from collector.environment import host_name
from collector.plan import Plan
from collector.progress import Progress
from ledger import benchmark as benchmark_file
from ledger import workspace as workspaces
from ledger.benchmark import BenchmarkFile
from ledger.errors import PrerequisiteError, StackproofError
from ledger.run import State
from ledger.workspace import Workspace

CLONE, ELSEWHERE, TRUSTED = "clone", "elsewhere", "trusted.json"
"""What lies in the state folder beside the state file."""
FIRST_WAIT_S, MOST_WAIT_S = 10.0, 3600.0
"""Between two attempts to reach a remote that is away or refuses: doubling from the first to the second."""


@dataclass(frozen=True)
class Options:
    """What `stackproof agent` was asked for."""

    url: str
    state: Path
    branch: str
    folder: str
    """The workspace's folder in the repository; empty for its root."""
    interval_s: float
    only: tuple[str, ...]
    """Benchmarks that are run; empty for all."""
    trust: trust.Trust


class Agent:
    """One agent. It holds the locks of `lock.only_agent` while it lives."""

    def __init__(self, options: Options, patience: Patience, progress: Progress) -> None:
        self._options = options
        self._patience = patience
        self._progress = progress
        self._backoff = remote.Backoff(min(FIRST_WAIT_S, options.interval_s), MOST_WAIT_S)
        self._reached = True
        """Whether the remote answered in this pass, and took what it was given."""
        self._state = StateFile(options.state, remote=remote.shown(options.url), branch=options.branch)
        self._clone = open_clone(options.state / CLONE, options.url, options.branch, options.folder)
        self._evidence = ""
        self._next_due: datetime | None = None

    def run(self, *, once: bool) -> int:
        """Pass after pass, until it is told to stop; with `once` a single one, and 1 when that went wrong."""
        try:
            while True:
                went_well = self._pass()
                if once or self._patience.asked:
                    return 0 if went_well else 1
                self._wait()
        except KeyboardInterrupt:
            if self._patience.asked > 1:
                raise
            return 0
        finally:
            self._state.tell(Doing.STOPPED, next_look=None, runs=None)

    def _pass(self) -> bool:
        """One pass; whether all of it went well. What goes wrong is told in the state file, and tried again."""
        self._state.count(passes=1)
        self._reached = True
        try:
            workspace, besides = self._look()
            went_well = self._run_all(workspace, besides)
        except remote.RemoteError as error:
            return self._fail(error)
        except StackproofError as error:
            went_well = self._fail(error)
        return self._push() and went_well

    def _look(self) -> tuple[Workspace, tuple[Path, ...]]:
        """Fetch, and bring the work tree to what may be run. Raises StackproofError."""
        self._state.tell(Doing.FETCHING)
        main = self._clone.fetch()
        options, repository = self._options, self._clone.repository
        self._evidence = trust.evidence_path(repository, main, options.folder)
        trust.check(repository, main, self._evidence, options.trust, options.state / TRUSTED)
        followed = self._branches().follow(main, datetime.now(UTC).strftime("%Y-%m-%d"))
        for note in followed.notes:
            self._progress.say(note)
        self._state.tell(main=main, work_branch=followed.branch)
        if followed.rewritten:
            self._state.tell(rewritten={"was": followed.rewritten, "is": main})
            self._progress.say(f"{options.branch} was rewritten: {followed.rewritten[:12]} is not in it any more")
        besides = elsewhere.copy(self._clone, self._evidence, self._branches().elsewhere(), options.state / ELSEWHERE)
        return workspaces.find(self._clone.workspace), (besides,)

    def _branches(self) -> Branches:
        return Branches(self._clone, host_name(), self._evidence)

    def _run_all(self, workspace: Workspace, besides: tuple[Path, ...]) -> bool:
        """Every benchmark of the workspace in turn; one that cannot be run keeps no other from it."""
        went_well, self._next_due = True, None
        self._state.tell(benchmarks={})
        for path in workspace.benchmark_files():
            if self._patience.asked:
                break
            if self._options.only and path.stem not in self._options.only:
                continue
            try:
                file = benchmark_file.read(path)
                self._run_one(workspace, file, besides)
            except PrerequisiteError as error:
                self._state.benchmark(path.stem, "cannot run here", error.diagnostics())
            except StackproofError as error:
                went_well = False
                self._note(error)
                self._state.benchmark(path.stem, "error", remote.shown(error.diagnostics()))
        return went_well

    def _run_one(self, workspace: Workspace, file: BenchmarkFile, besides: tuple[Path, ...]) -> None:
        """Run what a benchmark lacks and what is due, commit it, and push. Raises StackproofError."""
        name = file.benchmark.name
        self._state.tell(Doing.PLANNING, runs=name)
        asked = batch.Options(besides=besides)
        plan = batch.make_plan(workspace, file, asked)
        found = self._due(workspace, file, asked, plan)
        launches = len(plan.launches) + found.trials
        if launches:
            self._progress.say(f"{name}: {len(plan.launches)} trials to launch, {found.trials} due again")
            self._state.tell(Doing.RUNNING, runs=name)
        asked = batch.Options(besides=besides, renew=found.renew)
        result = batch.collect(workspace, file, LocalEngine(), asked, self._progress, self._patience)
        completed = sum(run.outcome.state is State.COMPLETED for run in result.runs)
        failed = len(result.runs) - completed
        self._state.count(batches=bool(result.runs), launched=len(result.runs), completed=completed, failed=failed)
        self._settle(workspace, file, asked)
        self._tell_benchmark(workspace, file, batch.Options(besides=besides), len(result.plan.excluded))
        if result.runs:
            self._push()

    def _due(self, workspace: Workspace, file: BenchmarkFile, asked: batch.Options, plan: Plan) -> due.Due:
        sealed = batch.sealed_runs(workspace, file, asked)
        sealed.refresh()
        return due.look(file.benchmark.schedule, plan, sealed, datetime.now(UTC))

    def _settle(self, workspace: Workspace, file: BenchmarkFile, asked: batch.Options) -> None:
        """Say of runs that were launched again that the later one counts, and commit that."""
        sealed = batch.sealed_runs(workspace, file, asked)
        sealed.refresh()
        written = succession.settle(sealed)
        if written:
            message = f"Say which runs of {file.benchmark.name} count\n"
            with self._patience.held():
                commit.commit(self._clone.repository, [path.resolve() for path in written], message)

    def _tell_benchmark(self, workspace: Workspace, file: BenchmarkFile, asked: batch.Options, excluded: int) -> None:
        plan = batch.make_plan(workspace, file, asked)
        next_at = self._due(workspace, file, asked, plan).next_at
        if next_at is not None:
            self._next_due = min(next_at, self._next_due or next_at)
        left = len(plan.launches)
        what = f"{len(plan.settled)} trials sealed, {left} to launch, {excluded} excluded"
        self._state.benchmark(
            file.benchmark.name, "incomplete" if left else "complete", what, shown(next_at) if next_at else None
        )

    def _push(self) -> bool:
        """Push every branch with evidence that the remote lacks; whether that went well."""
        if not self._evidence:
            return True  # nothing was ever looked at, so that nothing can wait
        branches = self._branches()
        try:
            for branch in branches.pending():
                self._state.tell(Doing.PUSHING, runs=None)
                pushed = branches.push(branch)
                self._state.count(pushes=1)
                self._state.tell(last_push={"branch": branch, "commit": pushed, "at": shown(datetime.now(UTC))})
                self._progress.say(f"pushed {branch} ({pushed[:12]})")
        except remote.RemoteError as error:
            return self._fail(error)
        finally:
            pending = branches.pending()
            self._state.tell(pending={"branches": pending, "files": branches.pending_files()})
        return True

    def _fail(self, error: StackproofError) -> bool:
        """Say what keeps the agent from its work: the remote, or what it holds."""
        doing = Doing.BLOCKED
        if isinstance(error, remote.RemoteError):
            self._reached = False
            doing = Doing.REFUSED if error.refused else Doing.AWAY
        self._state.tell(doing, runs=None)
        self._note(error)
        return False

    def _note(self, error: StackproofError) -> None:
        said = remote.shown(error.diagnostics())
        self._state.error(said)
        self._progress.say(f"error: {said}")

    def _wait(self) -> None:
        """Until the next look: the interval or what is due before; where the remote failed, what the backoff says."""
        now = datetime.now(UTC)
        if self._reached:
            self._backoff.worked()
            due_in = (self._next_due - now).total_seconds() if self._next_due else self._options.interval_s
            seconds = min(self._options.interval_s, max(1.0, due_in))
            if self._state["state"] is not Doing.BLOCKED:
                self._state.tell(Doing.IDLE, runs=None)
        else:
            seconds = self._backoff.failed()
        self._state.tell(
            failures=self._backoff.failures,
            next_look=shown(now + timedelta(seconds=seconds)),
            next_due=shown(self._next_due) if self._next_due else None,
        )
        time.sleep(seconds)


def start(options: Options, patience: Patience, progress: Progress, *, once: bool) -> int:
    """Run an agent whose locks the caller holds. Raises StackproofError for what no waiting would mend."""
    return Agent(options, patience, progress).run(once=once)
