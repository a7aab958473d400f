"""Committing sealed evidence: a step of its own that can be tried again (rule 3).

The commit is built with a private index, so that nothing the user has staged goes into it; HEAD is moved with a
compare-and-swap under a file lock, so that collectors that commit at once lose nothing. Before that the new paths, and
only those, are entered in the user's index, for else `git status` would show them as deleted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from ledger import git
from ledger.errors import GitError

LOCK = "stackproof.lock"
ATTEMPTS = 20


def repository(folder: Path) -> git.Repository:
    """The repository to commit to. Raises GitError when there is none, or while git is busy with something else."""
    found = git.find(folder)
    operation = found.operation()
    if operation:
        todo = f"finish or abort the {operation}, or use --no-commit and commit later"
        raise GitError(f"a {operation} is in progress", where=str(found.root), todo=todo)
    found.wait_for_index()
    return found


def uncommitted(found: git.Repository, paths: Sequence[Path]) -> list[Path]:
    """Those of `paths` (run folders, plan files) that HEAD does not hold."""
    head = found.head()
    if head is None or not paths:
        return list(paths)
    names = [path.relative_to(found.root).as_posix() for path in paths]
    tops = sorted({"/".join(name.split("/")[:-1]) for name in names})
    listed = found.run("ls-tree", "-z", "--name-only", head, "--", *(f"{top}/" for top in tops))
    held = set(listed.decode(errors="surrogateescape").split("\0"))
    return [path for path, name in zip(paths, names, strict=True) if name not in held]


def commit(found: git.Repository, paths: Sequence[Path], message: str) -> str | None:
    """Commit just `paths`; returns the commit's id, or None when HEAD holds them already. Raises GitError."""
    with FileLock(_common_dir(found) / LOCK):
        new = uncommitted(found, paths)
        if not new:
            return None
        names = [path.relative_to(found.root).as_posix() for path in new]
        found.wait_for_index()
        # The index first: what HEAD holds and the index lacks, as a kill between the two would leave it, is deleted by
        # the user's next commit.
        _enter_in_index(found, names)
        return _commit(found, names, message)


def _commit(found: git.Repository, names: list[str], message: str) -> str:
    who = identity(found)
    refused = None
    for _ in range(ATTEMPTS):
        head = found.head()
        tree = _tree(found, head, names)
        parent = ["-p", head] if head else []
        made = found.run("commit-tree", tree, *parent, data=message.encode(), env=who).decode().strip()
        try:
            found.run("update-ref", "-m", "commit: stackproof evidence", "HEAD", made, head or "0" * len(made))
        except GitError as error:
            refused = error.what  # somebody else committed meanwhile: build on that
            continue
        return made
    what = f"HEAD cannot be moved: {refused}"
    raise GitError(what, where=str(found.root), todo="run the same command again to commit")


def _tree(found: git.Repository, head: str | None, names: list[str]) -> str:
    """The tree of `head` with `names` added, written through an index of its own."""
    with tempfile.TemporaryDirectory(prefix="stackproof-index-") as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        if head:
            found.run("read-tree", head, env=env)
        _add(found, names, env)
        return found.text("write-tree", env=env)


def _enter_in_index(found: git.Repository, names: list[str]) -> None:
    _add(found, names, {})


def _add(found: git.Repository, names: list[str], env: dict[str, str]) -> None:
    listed = "\0".join(f":(literal,top){name}" for name in names).encode()
    arguments = ("add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul")
    found.run("-c", "core.autocrlf=false", "-c", "advice.addEmbeddedRepo=false", *arguments, data=listed, env=env)


def identity(found: git.Repository) -> dict[str, str]:
    """The user's own identity where git knows one, else the collector's."""
    try:
        found.run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    except GitError:
        who = {"NAME": "stackproof", "EMAIL": "stackproof@localhost"}
        return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    return {}


def _common_dir(found: git.Repository) -> Path:
    """The git folder that all work trees of the repository share."""
    return Path(found.text("rev-parse", "--path-format=absolute", "--git-common-dir"))
