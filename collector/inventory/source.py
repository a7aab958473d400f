"""The source that a trial was launched from: the workspace's commit, and what differs from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ledger import git
from ledger.canonical import bytes_digest
from ledger.errors import GitError

_BESIDE_EVIDENCE = ("--", ":!evidence")


def source(folder: Path) -> dict[str, Any]:
    """{commit, dirty, diff_digest} of the repository around `folder`; evidence does not count as a difference.

    `diff_digest` is the sha256 of `git diff --binary HEAD`: two launches with the same one ran the same tracked files.
    """
    try:
        repository = git.find(folder)
        dirty = bool(repository.text("status", "--porcelain", "--untracked-files=no", *_BESIDE_EVIDENCE))
        found: dict[str, Any] = {"commit": repository.head(), "dirty": dirty}
        if dirty and found["commit"]:
            plain = ("--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
            found["diff_digest"] = bytes_digest(repository.run("diff", *plain, "HEAD", *_BESIDE_EVIDENCE))
    except GitError:
        return {"commit": None, "dirty": None}
    return found
