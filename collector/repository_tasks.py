"""Tasks from a git repository's own fix commits: the fix removed, the tests that came with it kept as the check.

A commit counts when its message speaks of a fix, and when it changes both tests and something else. It becomes a task
only if its tests were seen to fail without the fix and to pass with it, run by the very script that runs the trials.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import yaml

from collector.new_workspace import Extra
from collector.stacks import task_suite, training_launch
from ledger import git
from ledger.errors import InputError

NAME = "repository-tasks"
"""As `init --example` takes it."""
TEMPLATE = Path(__file__).with_name("repository_tasks.yaml.jinja")
CHECK = '"$STACKPROOF_PYTHON" -B -m pytest -q -p no:cacheprovider {tests}'
"""What judges a task where the user names nothing else."""
CHECK_LIMIT_S = 120.0
MOST_SOURCES = 20
"""Files beside the tests that a fix may change: a commit that changes more is no single fix."""
MOST_BYTES = 50 * 2**20
"""Of a repository's files at one commit: each task holds a copy."""

_FIX = re.compile(r"\b(?:fix|bug|repair|correct|regress|mend|crash|wrong|fault|fail)", re.IGNORECASE)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*[.](?:test|spec)|conftest)[.][^/.]+$"
)
_TRAILER = re.compile(r"^(?:[A-Z][\w-]+-by|Co-authored-by|Change-Id|Cc): ", re.IGNORECASE)


@dataclass(frozen=True)
class Fix:
    """A commit that may become a task."""

    commit: str
    parent: str
    subject: str
    message: str
    tests: tuple[str, ...]
    """Test files that it added or changed."""
    sources: tuple[str, ...]
    """Other files that it changed."""

    @property
    def name(self) -> str:
        """The task's: words of the subject, and the commit's first digits."""
        return f"{_slug(self.subject) or 'fix'}-{self.commit[:8]}"


@dataclass(frozen=True)
class Mined:
    """What became of a repository's commits."""

    tasks: tuple[str, ...]
    left_out: tuple[str, ...]
    """Why a candidate is no task, a line each."""


def contents(scratch: Path, repository: Path, most: int, check: str | None, say: Callable[[str], None]) -> Extra:
    """A benchmark over the fixes of a repository, for a workspace. Raises as `mine` does.

    `scratch` is an empty folder, where the suite is made; `say` gets a line for each fix.
    """
    command = CHECK if check is None else check
    if "{tests}" not in command:
        what = f"--check must hold {{tests}}, where the test files of a fix go, got {command!r}"
        raise InputError(what, todo='such as --check "npx jest {tests}"')
    mine(repository, scratch, most, command, say)
    name = _slug(git.find(repository).root.name) or "repository"
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
    day = datetime.now(UTC).date().isoformat()
    text = environment.from_string(TEMPLATE.read_text()).render(suite=name, day=day)
    return Extra({f"benchmarks/{NAME}.yaml": text.encode()}, {f"benchmarks/suites/{name}": scratch})


def mine(repository: Path, suite: Path, most: int, check: str, say: Callable[[str], None]) -> Mined:
    """Write the newest `most` usable fixes of `repository` as tasks into the empty folder `suite`.

    Raises InputError or GitError: no repository, no commit, no fix that can be used.
    """
    if not repository.is_dir():
        raise InputError("no such folder", where=str(repository), todo="name a git repository with --repository")
    found = git.find(repository)
    if found.head() is None:
        raise InputError("has no commit yet", where=str(repository), todo="name a repository with a history")
    kept: list[str] = []
    left_out: list[str] = []
    for fix in fixes(found):
        if len(kept) == most:
            break
        problem = _make(found, fix, suite, check)
        if problem is None:
            kept.append(fix.name)
            say(f"task {len(kept)}: {fix.commit[:8]} {fix.subject}")
        else:
            left_out.append(f"{fix.commit[:8]} {fix.subject}: {problem}")
            say(f"left out: {left_out[-1]}")
    if not kept:
        what = f"no commit can be used as a task: {len(left_out)} fixes came with tests"
        todo = "name how its tests are run with --check" if left_out else "name another repository with --repository"
        raise InputError(what + (f"; the first: {left_out[0]}" if left_out else ""), where=str(repository), todo=todo)
    return Mined(tuple(kept), tuple(left_out))


def fixes(repository: git.Repository) -> Iterator[Fix]:
    """Commits with one parent, newest first, whose message speaks of a fix and that change tests and sources."""
    log = repository.run("log", "--no-merges", "--min-parents=1", "--format=%H%x1f%P%x1f%s%x1f%B%x1e")
    for record in log.decode(errors="replace").split("\x1e"):
        fields = record.strip("\n").split("\x1f")
        if len(fields) != 4 or not _FIX.search(fields[3]):
            continue
        commit, parent, subject, message = fields
        tests, sources = _changed(repository, parent, commit)
        if tests and 0 < len(sources) <= MOST_SOURCES:
            yield Fix(commit, parent, subject, _without_trailers(message), tests, sources)


def _slug(text: str) -> str:
    """Lower-case letters, digits and hyphens, as names are."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].rstrip("-")


def _changed(repository: git.Repository, parent: str, commit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(tests added or changed, other files changed in any way)."""
    told = repository.run("diff-tree", "-r", "-z", "--no-renames", "--name-status", parent, commit)
    words = told.decode(errors="surrogateescape").rstrip("\0").split("\0")
    changes = list(zip(words[::2], words[1::2], strict=False))
    tests = tuple(path for status, path in changes if _TEST.search(path) and status in "AM")
    return tests, tuple(path for _, path in changes if not _TEST.search(path))


def _without_trailers(message: str) -> str:
    return "\n".join(line for line in message.strip().splitlines() if not _TRAILER.match(line)).strip()


def _make(repository: git.Repository, fix: Fix, suite: Path, check: str) -> str | None:
    """Write one task and try it; why it is none, or None."""
    size = _size(repository, fix.parent)
    if size > MOST_BYTES:
        return f"the repository's files are {size >> 20} MiB, and a task may hold {MOST_BYTES >> 20}"
    with tempfile.TemporaryDirectory(prefix="task-") as scratch:
        aside = Path(scratch)
        folder = aside / fix.name
        _check_out(repository, fix.parent, None, folder / "files")
        _check_out(repository, fix.commit, fix.tests, folder / "hidden")
        (folder / task_suite.FILE).write_text(_task_file(fix, check), encoding="utf-8")
        problem = _problem(repository, fix, aside)
        if problem is None:
            suite.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-R", "-P", "--", str(folder), str(suite)], check=True)
        return problem


def _size(repository: git.Repository, commit: str) -> int:
    """Bytes of all files of a commit."""
    lines = repository.text("ls-tree", "-r", "--long", commit).splitlines()
    return sum(int(size) for line in lines if (size := line.split("\t")[0].split()[-1]).isdigit())


def _check_out(repository: git.Repository, commit: str, paths: tuple[str, ...] | None, target: Path) -> None:
    """Write files of a commit, through an index of their own: the repository's work tree and index stay as they are."""
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="index-") as scratch:
        env = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        repository.run("read-tree", commit, env=env)
        wanted = ("--all",) if paths is None else ("--", *paths)
        repository.run("checkout-index", "--quiet", f"--prefix={target}/", *wanted, env=env)


def _task_file(fix: Fix, check: str) -> str:
    tests = " ".join(shlex.quote(path) for path in fix.tests)
    command = {"kind": "command", "command": check.replace("{tests}", tests), "time_limit": CHECK_LIMIT_S}
    prompt = (
        f"{fix.message}\n\nChange this repository so that this holds. Tests that you are not shown will judge it.\n"
    )
    task = {"prompt": prompt, "check": command, "source": {"commit": fix.commit, "parent": fix.parent}}
    return yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=110)


def _problem(repository: git.Repository, fix: Fix, suite: Path) -> str | None:
    """Try the task without and with its fix."""
    before, why = tried(suite, fix.name, "true", {})
    if before is not False:
        return why or "its tests pass without the fix"
    if why and "still running" in why:
        return why
    whole = ("--binary", "--no-ext-diff", "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    patch = repository.run("diff", *whole, fix.parent, fix.commit, "--", *fix.sources, env=literal)
    with tempfile.NamedTemporaryFile(suffix=".patch") as file:
        file.write(patch)
        file.flush()
        harness = 'GIT_CEILING_DIRECTORIES="${PWD%/*}" git apply --whitespace=nowarn "$STACKPROOF_PATCH"'
        after, why = tried(suite, fix.name, harness, {"STACKPROOF_PATCH": file.name})
    return None if after else f"its tests do not pass with the fix ({_last(why)})"


def tried(suite: Path, name: str, harness: str, variables: dict[str, str]) -> tuple[bool | None, str | None]:
    """(accepted, why not) of one attempt, by the script that runs the trials."""
    described = task_suite.read(suite, (name,)).described(name, CHECK_LIMIT_S)
    config = {"suite": ".", "attempts": 1, "tasks": [described], "harness": harness, "service": None}
    with tempfile.TemporaryDirectory(prefix="try-") as scratch:
        path = Path(scratch) / "trial.json"
        path.write_text(json.dumps({**config, "variables": variables}))
        environment = {
            "STACKPROOF_PYTHON": sys.executable,
            **os.environ,
            "STACKPROOF_OUT": scratch,
            "STACKPROOF_WORKSPACE": str(suite),
        }
        command = [sys.executable, str(training_launch.LAUNCH / "tasks.py"), str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        rows = (Path(scratch) / "requests.jsonl").read_text().splitlines() if done.returncode == 0 else []
    if not rows:
        return None, _last(done.stderr)
    row = json.loads(rows[0])
    return row["accepted"], row.get("error") or row.get("why")


def _last(text: str | None) -> str:
    """The last line that says something."""
    return next((line.strip()[:200] for line in reversed((text or "").splitlines()) if line.strip()), "no output")
