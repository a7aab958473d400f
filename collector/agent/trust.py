"""Whose files the agent runs: those of commits that an allowed signer signed.

Every commit since the anchor that changes anything but evidence must be signed, not only the last: a signature on a
later commit says nothing of what somebody pushed before it. Commits that only add or take away evidence need none, for
evidence is data: it is never run. A merge needs none when its files, evidence apart, are exactly those of one parent,
and the others bring nothing but evidence to it, so that no merge can bring back what a signer has replaced.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ledger import git, workspace
from ledger.append_only import GIT_ENVIRONMENT
from ledger.canonical import bytes_digest
from ledger.durable import storage_errors
from ledger.errors import GitError, InputError, PrerequisiteError, StackproofError

_PLAIN = {"100644", "100755", "000000"}
_NO_PROGRAM = ("gpg.program", "gpg.openpgp.program", "gpg.x509.program")
"""Signatures that are no ssh signatures are judged by nobody: what a keyring holds is not what was allowed."""


class TrustError(StackproofError):
    """A commit that no allowed signer made."""

    exit_code = 1


@dataclass(frozen=True)
class Trust:
    """Who is trusted. `signers` is an allowed-signers file of ssh-keygen; None means: everybody who can push."""

    signers: Path | None
    anchor: str | None = None
    """A commit that is trusted with all before it; None: the history is checked from its first commit."""

    @property
    def digest(self) -> str:
        """What was asked for, so that another signers file has everything checked again."""
        data = self.signers.read_bytes() if self.signers else b""
        return bytes_digest(data + b"\0" + (self.anchor or "").encode())


def make(signers: Path | None, anchor: str | None, *, unsigned: bool, clone: Path) -> Trust:
    """The trust that the options ask for. Raises InputError, PrerequisiteError."""
    if signers is None:
        if not unsigned:
            raise InputError(
                "nobody is trusted yet",
                todo="name an allowed-signers file with --signers, or run unsigned commits too with --trust-unsigned",
            )
        return Trust(None)
    if unsigned:
        raise InputError("--signers and --trust-unsigned exclude each other", todo="leave one out")
    path = signers.resolve()
    if path.is_relative_to(clone.resolve()):
        raise InputError("lies in the clone, where a commit can change it", where=str(path), todo="move it elsewhere")
    if not _lines(path):
        raise InputError(
            "names no signer", where=str(path), todo="add a line such as `me@example.org ssh-ed25519 AAAA…`"
        )
    if shutil.which("ssh-keygen") is None:
        raise PrerequisiteError("ssh-keygen is not installed", todo="install it (sudo apt-get install openssh-client)")
    return Trust(path, anchor)


def evidence_path(repository: git.Repository, commit: str, folder: str) -> str:
    """Where the evidence of the workspace `folder` lies at a commit, from the root. Raises StackproofError."""
    place = f"{folder}/{workspace.CONFIG}" if folder else workspace.CONFIG
    try:
        config = repository.run("cat-file", "blob", f"{commit}:{place}", env=GIT_ENVIRONMENT)
    except GitError:
        what = f"holds no {place}: it is no workspace"
        raise InputError(what, where=commit[:12], todo="name the workspace's folder with --folder") from None
    with tempfile.TemporaryDirectory() as aside:
        root = Path(aside).resolve()
        (root / workspace.CONFIG).write_bytes(config)
        evidence = workspace.find(root).evidence.resolve()
    if not evidence.is_relative_to(root) or evidence == root:
        raise InputError("the evidence must lie below the workspace", where=place, todo="correct extra.stackproof")
    below = evidence.relative_to(root).as_posix()
    return f"{folder}/{below}" if folder else below


def check(repository: git.Repository, tip: str, evidence: str, trust: Trust, memory: Path) -> None:
    """Raise TrustError unless all commits up to `tip` may be run; the file `memory` spares checking them twice."""
    if trust.signers is None:
        return
    known = [each for each in (_anchor(repository, tip, trust), _recall(memory, trust)) if each]
    left_out = [each for each in known if _has(repository, each)]
    listed = repository.text("rev-list", "--topo-order", "--reverse", tip, "--not", *left_out, env=GIT_ENVIRONMENT)
    for commit in listed.split():
        _check_one(repository, commit, evidence, trust.signers)
    with storage_errors(memory):
        aside = memory.with_name(f"{memory.name}.part")
        aside.write_text(json.dumps({"trust": trust.digest, "commit": tip}))
        aside.replace(memory)


def _anchor(repository: git.Repository, tip: str, trust: Trust) -> str | None:
    if trust.anchor is None:
        return None
    commit = repository.commit_id(trust.anchor)
    if not is_ancestor(repository, commit, tip):
        what = f"does not hold {commit[:12]}, from which on its commits were to be checked"
        raise TrustError(
            what, where=tip[:12], todo="the branch was rewritten: look why, then name another --trust-from"
        )
    return commit


def is_ancestor(repository: git.Repository, older: str, newer: str) -> bool:
    """Whether `newer` holds `older`."""
    try:
        repository.run("merge-base", "--is-ancestor", older, newer, env=GIT_ENVIRONMENT)
    except GitError:
        return False
    return True


def _check_one(repository: git.Repository, commit: str, evidence: str, signers: Path) -> None:
    if is_signed(repository, commit, signers):
        return
    changed = _unsigned_change(repository, commit, evidence)
    if changed is None:
        return
    who = repository.text("log", "-1", "--format=%an <%ae>", commit, env=GIT_ENVIRONMENT)
    raise TrustError(
        f"by {who} has no signature of an allowed signer and changes {changed}",
        where=f"commit {commit[:12]}",
        todo=f"have a signer commit it, or look at it yourself and trust all up to it with --trust-from {commit[:12]}",
    )


def is_signed(repository: git.Repository, commit: str, signers: Path) -> bool:
    """Whether an allowed signer signed a commit."""
    settings = ["gpg.minTrustLevel=fully", f"gpg.ssh.allowedSignersFile={signers}"]
    settings += [f"{name}=false" for name in _NO_PROGRAM]
    options = [word for each in settings for word in ("-c", each)]
    try:
        repository.run(*options, "verify-commit", commit, env=GIT_ENVIRONMENT)
    except GitError:
        return False
    return True


def _unsigned_change(repository: git.Repository, commit: str, evidence: str) -> str | None:
    """What a commit changes that needs a signature, or None."""
    parents = repository.text("rev-list", "--parents", "-n", "1", commit, env=GIT_ENVIRONMENT).split()[1:]
    if len(parents) < 2:
        return _outside(repository, evidence, "--root", commit)
    for parent in parents:
        others = [each for each in parents if each != parent]
        if _outside(repository, evidence, parent, commit) is None and not _brings(repository, others, parent, evidence):
            return None
    return _outside(repository, evidence, parents[0], commit) or "what the branches before it hold"


def _outside(repository: git.Repository, evidence: str, *of: str) -> str | None:
    """The first path of a difference that is more than a plain file of evidence."""
    listed = repository.run(
        "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-commit-id", *of, env=GIT_ENVIRONMENT
    )
    words = listed.decode(errors="surrogateescape").split("\0")
    for about, path in zip(words[::2], words[1::2], strict=False):
        inside = path.removeprefix(f"{evidence}/")
        hidden = any(part.startswith(".") and part != ".gitkeep" for part in inside.split("/"))
        if inside == path or hidden or about.split()[1] not in _PLAIN:
            return path
    return None


def _brings(repository: git.Repository, others: list[str], parent: str, evidence: str) -> bool:
    """Whether the other parents hold commits, beside those of `parent`, that change more than evidence."""
    arguments = ("rev-list", "--full-history", "--no-merges", *others, "--not", parent)
    listed = repository.text(*arguments, "--", ":(top)", f":(top,exclude,literal){evidence}", env=GIT_ENVIRONMENT)
    return bool(listed)


def _recall(memory: Path, trust: Trust) -> str | None:
    try:
        data = json.loads(memory.read_bytes())
        return str(data["commit"]) if data["trust"] == trust.digest else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _has(repository: git.Repository, commit: str) -> bool:
    try:
        repository.commit_id(commit)
    except GitError:
        return False
    return True


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot be read ({said})", where=str(path), todo="name an allowed-signers file") from None
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
