"""git, by its command: the few questions that the rooms ask of a repository."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ledger.errors import GitError

_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


@dataclass(frozen=True)
class Repository:
    """A work tree and its git folder, both absolute."""

    root: Path
    git_dir: Path

    def run(self, *arguments: str, data: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
        """Run git here and return its standard output. Raises GitError with git's own last word."""
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

    def operation(self) -> str | None:
        """The operation that waits for its end (`merge`, `rebase`, …), or None."""
        return next((word for name, word in _OPERATIONS.items() if (self.git_dir / name).exists()), None)


def find(folder: Path) -> Repository:
    """The repository whose work tree holds `folder`. Raises GitError outside of one."""
    try:
        lines = _git(folder, "rev-parse", "--show-toplevel", "--absolute-git-dir").decode().splitlines()
    except GitError as error:
        raise GitError(
            f"is not in a git repository ({error.what})", where=str(folder), todo="run `git init` there first"
        ) from None
    return Repository(Path(lines[0]), Path(lines[1]))


def _git(folder: Path, *arguments: str, data: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
    environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **(env or {})}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, input=data, env=environment, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        missing_git = error.filename == "git"
        what, todo = ("git is not installed", "install git") if missing_git else ("no such folder", "check the path")
        raise GitError(what, where=str(folder), todo=todo) from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise GitError(f"git {arguments[0]} failed ({words[-1]})", where=str(folder), todo="see `git status`")
    return done.stdout
