"""git, by its command: the few questions that the rooms ask of a repository."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ledger.errors import GitError, GitMissingError

_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


LOCKED_S = 5.0
"""Seconds that a lock of git's may stay before it counts as left behind."""


@dataclass(frozen=True)
class Repository:
    """A work tree and its git folder, both absolute."""

    root: Path
    git_dir: Path

    def run(self, *arguments: str, data: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
        """Run git here and return its standard output. Raises GitError with what git says."""
        return _git(self.root, *arguments, data=data, env=env)

    def text(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        """As `run`, stripped and decoded."""
        return self.run(*arguments, env=env).decode(errors="surrogateescape").strip()

    def commit_id(self, revision: str) -> str:
        """The full id of the commit that `revision` names. Raises GitError."""
        try:
            return self.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitError:
            raise GitError(
                f"no commit {revision!r}", where=str(self.root), todo="fetch it, or name another revision"
            ) from None

    def head(self) -> str | None:
        """The commit of HEAD, or None before the first one."""
        try:
            return self.commit_id("HEAD")
        except GitError:
            return None

    def wait_for_index(self, seconds: float = LOCKED_S) -> None:
        """Wait while another git command changes the index. Raises GitError that names the lock when it stays."""
        lock = self.git_dir / "index.lock"
        end = time.monotonic() + seconds
        while lock.exists():
            if time.monotonic() > end:
                what = f"another git command holds {lock}"
                todo = "wait for its end, or remove that file when no git runs, and run the same command again"
                raise GitError(what, where=str(self.root), todo=todo)
            time.sleep(0.05)

    def operation(self) -> str | None:
        """The operation that waits for its end (`merge`, `rebase`, …), or None."""
        return next((word for name, word in _OPERATIONS.items() if (self.git_dir / name).exists()), None)


def find(folder: Path) -> Repository:
    """The repository whose work tree holds `folder`. Raises GitError outside of one."""
    try:
        lines = _git(folder, "rev-parse", "--show-toplevel", "--absolute-git-dir").decode().splitlines()
    except GitMissingError:
        raise
    except GitError as error:
        raise GitError(
            f"is not in a git repository ({error.what})", where=str(folder), todo="run `git init` there first"
        ) from None
    return Repository(Path(lines[0]), Path(lines[1]))


def _git(folder: Path, *arguments: str, data: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
    environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **(env or {})}
    try:
        # A session of its own: Ctrl-C in a terminal is for this process to handle, and would leave git's locks behind.
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            input=data,
            env=environment,
            capture_output=True,
            check=False,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if error.filename == "git":
            raise GitMissingError("git is not installed", todo="install git (sudo apt-get install git)") from None
        raise GitError("no such folder", where=str(folder), todo="check the path") from None
    except PermissionError:
        raise GitError("cannot be entered", where=str(folder), todo="check its permissions") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        # What follows its `fatal:` is advice for somebody who typed the command.
        word = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
        raise GitError(f"git {_subcommand(arguments)} failed ({word})", where=str(folder), todo="see `git status`")
    return done.stdout


def _subcommand(arguments: tuple[str, ...]) -> str:
    """`add` of `-c name=value add …`."""
    rest = list(arguments)
    while len(rest) > 2 and rest[0] == "-c":
        del rest[:2]
    return rest[0]
