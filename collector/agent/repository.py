"""The agent's clone: what it fetches, and the questions it asks of commits, trees and refs.

The protected branch is only ever fetched. What the agent knows about its own branches stands in refs of its own, which
are never pushed: the protected branch's commit that a branch was last built on, and the last commit that was pushed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from collector import commit
from collector.agent import remote
from ledger import git
from ledger.append_only import GIT_ENVIRONMENT, read_tree
from ledger.durable import storage_errors
from ledger.errors import GitError, InputError

BRANCHES = "evidence"
"""Below which all agents' branches lie."""
FOLLOWED = "refs/stackproof/followed"
"""The protected branch's commit whose files are in the work tree."""
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.autocrlf": "false",
    "core.fsmonitor": "false",
    "submodule.recurse": "false",
    "gc.autoDetach": "false",
}


@dataclass(frozen=True)
class Clone:
    """A clone, the protected branch that it follows, and the folder of the workspace in it (empty: its root)."""

    repository: git.Repository
    branch: str
    folder: str = ""

    @property
    def workspace(self) -> Path:
        """The workspace's folder on disk."""
        return self.repository.root / self.folder

    def fetch(self) -> str:
        """Fetch the protected branch and all evidence branches; the former's commit. Raises RemoteError."""
        wanted = (self.branch, f"{BRANCHES}/*")
        specs = [f"+refs/heads/{name}:refs/remotes/origin/{name}" for name in wanted]
        arguments = ("fetch", "--quiet", "--prune", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        remote.call(self.repository.root, *arguments, "origin", *specs)
        main = self.ref(f"refs/remotes/origin/{self.branch}")
        if main is None:
            what = f"the remote has no branch {self.branch!r}"
            raise remote.RemoteError(what, where=str(self.repository.root), todo="name the protected one with --branch")
        return main

    def push(self, branch: str) -> None:
        """Push one of the agent's branches as it is, never by force. Raises RemoteError."""
        ref = f"refs/heads/{branch}"
        remote.call(self.repository.root, "push", "--quiet", "--no-follow-tags", "origin", f"{ref}:{ref}")

    def ref(self, name: str) -> str | None:
        """The commit of a ref, or None."""
        try:
            return self.repository.text("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", env=GIT_ENVIRONMENT)
        except GitError:
            return None

    def set_ref(self, name: str, value: str) -> None:
        """Point a ref somewhere."""
        self.repository.run("update-ref", name, value)

    def drop_ref(self, name: str) -> None:
        """Remove a ref; nothing when it is not there."""
        self.repository.run("update-ref", "-d", name)

    def refs(self, prefix: str) -> dict[str, str]:
        """{name without the prefix: commit} of all refs below `prefix`, sorted."""
        listed = self.repository.text("for-each-ref", "--format=%(objectname) %(refname)", prefix)
        found = sorted(tuple(reversed(line.split(" ", 1))) for line in listed.splitlines())
        return {name.removeprefix(prefix): commit_id for name, commit_id in found}

    def blobs(self, commit_id: str | None, path: str) -> dict[str, str]:
        """{path below `path`: blob} of the plain files there."""
        if commit_id is None:
            return {}
        tree = read_tree(self.repository, commit_id, path)
        return {name: blob for name, blob in tree.blobs.items() if tree.kinds[name] == "file"}

    def compose(self, base: str, path: str, blobs: Mapping[str, str]) -> str:
        """The tree of `base` with files added below `path`."""
        with tempfile.TemporaryDirectory(prefix="stackproof-index-") as folder:
            env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self.repository.run("read-tree", base, env=env)
            lines = "".join(f"100644 {blob}\t{path}/{name}\0" for name, blob in sorted(blobs.items()))
            data = lines.encode(errors="surrogateescape")
            self.repository.run("update-index", "-z", "--add", "--index-info", data=data, env=env)
            return self.repository.text("write-tree", env=env)

    def commit_tree(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        """A commit of a tree; its id."""
        words = [word for parent in parents for word in ("-p", parent)]
        identity = commit.identity(self.repository)
        made = self.repository.run("commit-tree", tree, *words, data=message.encode(), env=identity)
        return made.decode().strip()

    def check_out(self, branch: str, commit_id: str) -> None:
        """Make the work tree that of `commit_id`, on `branch`; whatever was changed in tracked files is undone."""
        self.repository.run("checkout", "--quiet", "--force", "-B", branch, commit_id)

    def current(self) -> str | None:
        """The agent's branch that is checked out, or None before the first one."""
        try:
            name = self.repository.text("symbolic-ref", "--quiet", "--short", "HEAD")
        except GitError:
            return None
        return name if name.startswith(f"{BRANCHES}/") and self.ref(f"refs/heads/{name}") else None


def open_clone(path: Path, url: str, branch: str, folder: str) -> Clone:
    """The clone at `path`, made when it is not there. Raises InputError when it is one of another remote."""
    if not (path / ".git").is_dir():
        with storage_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        git.Repository(path, path / ".git").run("init", "--quiet", "--initial-branch", "stackproof-agent")
    repository = git.Repository(path, path / ".git")
    _clear_locks(repository)
    for key, value in _SETTINGS.items():
        repository.run("config", key, value)
    try:
        known = repository.text("config", "--get", "remote.origin.url")
    except GitError:
        repository.run("config", "remote.origin.url", url)
        known = url
    if known != url:
        what = f"is the clone of another remote ({remote.shown(known)})"
        raise InputError(what, where=str(path), todo="name another folder with --state, or its own remote")
    return Clone(repository, branch, folder)


def _clear_locks(repository: git.Repository) -> None:
    """Take away the lock files of a git that died with an earlier agent: nobody else works in this clone."""
    locks = [repository.git_dir / name for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock")]
    locks += (repository.git_dir / "refs").rglob("*.lock")
    end = time.monotonic() + git.LOCKED_S
    while any(lock.exists() for lock in locks) and time.monotonic() < end:
        time.sleep(0.1)
    for lock in locks:
        lock.unlink(missing_ok=True)
