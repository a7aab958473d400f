"""The branches that an agent commits to: one a day, `evidence/<host>/<date>`, a further name where that cannot go on.

A branch is a commit of the protected branch with evidence added, and nothing else. When the protected branch goes on,
the branch takes its files over in a merge commit, so that it is only ever pushed forward. When that cannot be, because
the remote's branch moved or was deleted, or because the protected branch was rewritten, what was not pushed yet is
carried to a new branch. No force, and no file that was sealed is left behind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from collector.agent.repository import BRANCHES, FOLLOWED, Clone
from collector.agent.trust import is_ancestor

_BASE = "refs/stackproof/base/"
_PUSHED = "refs/stackproof/pushed/"
_HEADS = "refs/heads/"
_TRACKING = "refs/remotes/origin/"


@dataclass(frozen=True)
class Followed:
    """What came of following the protected branch."""

    branch: str
    """The agent's branch that is checked out now."""
    rewritten: str | None
    """The commit that was followed before, when the protected branch no longer holds it."""
    notes: tuple[str, ...]


class Branches:
    """The branches of one host in one clone. `evidence` is the evidence folder's path from the repository's root."""

    def __init__(self, clone: Clone, host: str, evidence: str) -> None:
        self._clone = clone
        self._prefix = f"{BRANCHES}/{ref_part(host)}/"
        self._evidence = evidence
        self._read: dict[str, dict[str, str]] = {}

    def follow(self, main: str, day: str) -> Followed:
        """Check out the files of `main` with the host's own evidence of the day; carry over what cannot be pushed."""
        before = self._clone.ref(FOLLOWED)
        rewritten = before if before and not is_ancestor(self._clone.repository, before, main) else None
        notes: list[str] = []
        self._drop_done(main)
        branch = self._clone.current()
        if branch is None or not self._is_of(branch, day) or self._obstacle(branch, main):
            branch = self._start(main, day)
            notes.append(f"started the branch {branch}")
        tip = self._advance(branch, main)
        for other in self._own():
            why = self._obstacle(other, main) if other != branch else None
            if why:
                tip = self._carry(other, branch, tip, main)
                notes.append(f"carried what was not pushed of {other} to {branch}: {why}")
        self._clone.check_out(branch, tip)
        self._clone.set_ref(FOLLOWED, main)
        self._drop_done(main)
        return Followed(branch, rewritten, tuple(notes))

    def pending(self) -> list[str]:
        """Branches with evidence that the remote does not have, oldest first."""
        return [branch for branch in self._own() if self._unpushed(branch)]

    def pending_files(self) -> int:
        """How many files of evidence wait for a push."""
        return sum(len(self._unpushed(branch)) for branch in self._own())

    def push(self, branch: str) -> str:
        """Push a branch; the commit. Raises RemoteError."""
        tip = self._tip(branch)
        self._clone.push(branch)
        self._clone.set_ref(_PUSHED + branch, tip)
        return tip

    def moved(self, branch: str) -> bool:
        """Whether the remote's branch holds what this one does not, so that it cannot be pushed forward."""
        tracked = self._clone.ref(_TRACKING + branch)
        return tracked is not None and not is_ancestor(self._clone.repository, tracked, self._tip(branch))

    def elsewhere(self) -> dict[str, str]:
        """{branch: commit} of evidence that is not checked out: other hosts' branches, and own ones of other days."""
        current = self._clone.current()
        own = {branch: self._tip(branch) for branch in self._own() if branch != current}
        remote = self._clone.refs(f"{_TRACKING}{BRANCHES}/")
        return {**{f"origin/{BRANCHES}/{name}": tip for name, tip in remote.items()}, **own}

    def _own(self) -> list[str]:
        return [self._prefix + name for name in self._clone.refs(_HEADS + self._prefix)]

    def _is_of(self, branch: str, day: str) -> bool:
        return re.fullmatch(rf"{re.escape(self._prefix + day)}(-\d+)?", branch) is not None

    def _tip(self, branch: str) -> str:
        tip = self._clone.ref(_HEADS + branch)
        if tip is None:
            raise KeyError(branch)
        return tip

    def _obstacle(self, branch: str, main: str) -> str | None:
        """Why a branch cannot be pushed forward any more, or None."""
        base = self._clone.ref(_BASE + branch)
        if base is None or not is_ancestor(self._clone.repository, base, main):
            return f"{self._clone.branch} was rewritten"
        if self.moved(branch):
            return "the remote's branch moved"
        if self._is_gone(branch):
            return "the remote's branch was deleted"
        return None

    def _is_gone(self, branch: str) -> bool:
        return self._clone.ref(_PUSHED + branch) is not None and self._clone.ref(_TRACKING + branch) is None

    def _unpushed(self, branch: str, main: str | None = None) -> dict[str, str]:
        """{path: blob} of the evidence that was added on a branch, and that neither its remote nor `main` has."""
        remote = _PUSHED + branch if self._is_gone(branch) else _TRACKING + branch
        known = self._blobs(self._clone.ref(_BASE + branch)) | self._blobs(self._clone.ref(remote))
        there = self._blobs(main or self._clone.ref(FOLLOWED))
        mine = self._blobs(self._tip(branch))
        return {path: blob for path, blob in mine.items() if path not in known and there.get(path) != blob}

    def _blobs(self, commit: str | None) -> dict[str, str]:
        if commit is None:
            return {}
        if commit not in self._read:
            self._read[commit] = self._clone.blobs(commit, self._evidence)
        return self._read[commit]

    def _start(self, main: str, day: str) -> str:
        """A branch at `main` under the first name of the day that is free here and on the remote."""
        number, branch = 1, self._prefix + day
        while self._clone.ref(_HEADS + branch) or self._clone.ref(_TRACKING + branch):
            number += 1
            branch = f"{self._prefix}{day}-{number}"
        self._clone.drop_ref(_PUSHED + branch)
        self._clone.set_ref(_BASE + branch, main)
        self._clone.set_ref(_HEADS + branch, main)
        return branch

    def _advance(self, branch: str, main: str) -> str:
        """Bring a branch to the files of `main`, keeping what it added; its new tip."""
        tip, base = self._tip(branch), self._clone.ref(_BASE + branch)
        if base == main:
            return tip
        there = self._blobs(main)
        known = self._blobs(base)
        mine = {path: blob for path, blob in self._blobs(tip).items() if path not in known and path not in there}
        if is_ancestor(self._clone.repository, tip, main):
            new = main
        else:
            tree = self._clone.compose(main, self._evidence, mine)
            new = self._clone.commit_tree(tree, (tip, main), f"Take over {self._clone.branch}\n")
        self._clone.set_ref(_HEADS + branch, new)
        self._clone.set_ref(_BASE + branch, main)
        return new

    def _carry(self, old: str, branch: str, tip: str, main: str) -> str:
        """Add to `branch` what was not pushed of `old`, and forget `old`; the new tip."""
        there = self._blobs(main) | self._blobs(tip)
        files = {path: blob for path, blob in self._unpushed(old, main).items() if path not in there}
        if files:
            tree = self._clone.compose(tip, self._evidence, files)
            tip = self._clone.commit_tree(tree, (tip,), f"Add evidence that {old} could not bring\n")
            self._clone.set_ref(_HEADS + branch, tip)
        self._forget(old)
        return tip

    def _drop_done(self, main: str) -> None:
        """Forget branches that have nothing more to bring, but for the one that is checked out and can go on."""
        for branch in self._own():
            current = branch == self._clone.current()
            if self._unpushed(branch, main) or (current and not self._is_gone(branch)):
                continue
            if current:
                self._clone.repository.run("checkout", "--quiet", "--force", "--detach")
            self._forget(branch)

    def _forget(self, branch: str) -> None:
        for prefix in (_HEADS, _BASE, _PUSHED):
            self._clone.drop_ref(prefix + branch)


def ref_part(name: str) -> str:
    """A host's name as a part of a ref's name."""
    plain = re.sub(r"[^A-Za-z0-9._-]+|\.{2,}", "-", name).strip(".-")
    return f"{plain}-" if plain.endswith(".lock") else plain or "host"
