"""The append-only rule: against a base revision, nothing under the evidence folder is modified, renamed or deleted, and
nothing appears inside a run folder that existed (rule 5).

Compared are the trees of the merge base and of HEAD, and the merge base with the files on disk, for what is not
committed yet will be. The merge base is taken so that what the base gained meanwhile does not look deleted. Objects are
read by git's plumbing alone and files are hashed here, so that no configuration, attribute or index flag hides one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ledger import git, layout, manifest, status, workspace
from ledger.canonical import SHORT
from ledger.errors import EvidenceError, GitError, StackproofError
from ledger.finding import Finding
from ledger.run_check import git_blob_id

GIT_ENVIRONMENT = {"GIT_NO_REPLACE_OBJECTS": "1"}
"""Objects are taken as they are, never by what `git replace` puts in their place."""
_RESTORE = "restore it as the base has it; say what is new in a status record"
_FILE = "file"


@dataclass(frozen=True)
class Change:
    """What a branch did to the evidence of its merge base."""

    repository: git.Repository
    base: str
    """The merge base's commit id."""
    head: str
    base_path: str
    """Where the evidence lay at the base, relative to the repository's root."""
    path: str
    """Where it lies now."""
    before: Tree
    findings: tuple[Finding, ...]

    def workspace_path(self, here: workspace.Workspace) -> str:
        """Where a workspace lies in the repository; empty at its root."""
        return _relative(here.root, self.repository)


@dataclass(frozen=True)
class Tree:
    """The evidence folder in a commit."""

    repository: git.Repository
    kinds: dict[str, str]
    blobs: dict[str, str]

    def blob(self, path: str) -> str:
        """git's name for a file's content."""
        return self.blobs[path]

    def read(self, path: str) -> bytes:
        """A file's content."""
        return self.repository.run("cat-file", "blob", self.blobs[path], env=GIT_ENVIRONMENT)

    def only(self, path: str) -> Tree:
        """The tree with one file of it, or without any."""
        kinds = {path: self.kinds[path]} if path in self.kinds else {}
        return Tree(self.repository, kinds, self.blobs)

    @cached_property
    def runs(self) -> frozenset[str]:
        """Names of the run folders: those with a manifest."""
        paths = (path.split("/") for path in self.kinds)
        return frozenset("/".join(parts[:3]) for parts in paths if len(parts) == 4 and parts[3] == manifest.NAME)


@dataclass
class Disk:
    """The evidence folder as it lies on disk. Files are hashed only when asked for."""

    folder: Path
    hex_digits: int
    kinds: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        linked = self.folder.is_symlink() or not self.folder.is_dir()
        found = {} if linked else dict(layout.walk(self.folder))
        self.kinds = {path: kind for path, kind in found.items() if kind != "folder"}

    def blob(self, path: str) -> str:
        """git's name for a file's content; empty when it cannot be read."""
        try:
            return git_blob_id(self.read(path), self.hex_digits)
        except OSError:
            return ""

    def read(self, path: str) -> bytes:
        """A file's content."""
        return (self.folder / path).read_bytes()


Side = Tree | Disk
"""One state of the evidence folder."""


def check(evidence: Path, base: str) -> Change:
    """What HEAD and the files on disk do to the evidence that `base` holds. Raises GitError."""
    repository = git.find(evidence.parent)
    head = repository.head()
    if head is None:
        raise GitError("has no commit yet", where=str(repository.root), todo="commit first")
    start = merge_base(repository, base, head)
    path = _relative(evidence, repository)
    base_path = _path_at(repository, start, evidence, path)
    before = read_tree(repository, start, base_path)
    after = read_tree(repository, head, path)
    findings = {found.path: found for found in _violations(before, Disk(evidence, len(start)), " (not committed)")}
    findings |= {found.path: found for found in _violations(before, after, "")}
    if base_path != path and before.kinds:
        what = f"the evidence folder of the base is {base_path}, now it is {path}"
        findings[""] = Finding("moved", path, None, what, "keep `extra.stackproof.evidence` in mkdocs.yml as it was")
    ordered = tuple(findings[key] for key in sorted(findings))
    return Change(repository, start, head, base_path, path, before, ordered)


def merge_base(repository: git.Repository, base: str, head: str) -> str:
    """The commit at which HEAD's branch left `base`. Raises GitError, also for a history that was cut off."""
    shallow = repository.text("rev-parse", "--is-shallow-repository") == "true"
    unshallow = "run `git fetch --unshallow` first (in GitHub Actions: fetch-depth: 0)"
    try:
        commit = repository.commit_id(base)
    except GitError as error:
        error.todo = unshallow if shallow else error.todo
        raise
    try:
        return repository.text("merge-base", commit, head, env=GIT_ENVIRONMENT).splitlines()[0]
    except GitError:
        what = f"{base!r} and HEAD have no commit in common{' in this shallow clone' if shallow else ''}"
        todo = unshallow if shallow else "name another base"
        raise GitError(what, where=str(repository.root), todo=todo) from None


def read_tree(repository: git.Repository, commit: str, path: str) -> Tree:
    """The folder `path` of a commit; without files when it is not there or no folder."""
    kinds: dict[str, str] = {}
    blobs: dict[str, str] = {}
    try:
        tree = repository.text("rev-parse", "--verify", "--quiet", f"{commit}:{path}", env=GIT_ENVIRONMENT)
        listed = repository.run("ls-tree", "-r", "-z", "--full-tree", f"{tree}^{{tree}}", env=GIT_ENVIRONMENT)
    except GitError:
        return Tree(repository, {}, {})
    for entry in listed.split(b"\0")[:-1]:
        about, name = entry.split(b"\t", 1)
        mode, _, blob = about.decode().split()
        decoded = name.decode(errors="surrogateescape")
        kinds[decoded] = {"120000": "link", "160000": "special"}.get(mode, _FILE)
        blobs[decoded] = blob
    return Tree(repository, kinds, blobs)


def _relative(folder: Path, repository: git.Repository) -> str:
    """The folder's path in the repository, as it is written: a link in its place is not followed."""
    lexical = folder.parent.resolve() / folder.name
    path = lexical.relative_to(repository.root.resolve()).as_posix()
    return "" if path == "." else path


def _path_at(repository: git.Repository, commit: str, evidence: Path, path: str) -> str:
    """Where the workspace's evidence lay at a commit: its mkdocs.yml there says so. Else `path`."""
    try:
        now = workspace.find(evidence.parent)
        if now.evidence.resolve() != evidence.resolve():
            return path  # another folder than the workspace's was asked for
        root = now.root.resolve().relative_to(repository.root.resolve())
        config = repository.run("cat-file", "blob", f"{commit}:{(root / workspace.CONFIG).as_posix()}")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder).resolve() / workspace.CONFIG).write_bytes(config)
            there = workspace.find(Path(folder))
            return (root / there.evidence.relative_to(there.root)).as_posix()
    except (StackproofError, ValueError):
        return path


def _violations(before: Tree, after: Side, remark: str) -> Iterator[Finding]:
    deleted = {path for path in before.kinds if path not in after.kinds and _counts(path)}
    added = {path for path in after.kinds if path not in before.kinds and _counts(path)}
    if deleted:
        deleted -= _redacted(before, after, deleted)
        yield from _gone(before, after, deleted, added, remark)
    for path in sorted(set(before.kinds) & set(after.kinds)):
        if not _counts(path):
            continue
        if before.kinds[path] != after.kinds[path]:
            what = layout.KINDS.get(after.kinds[path], "is now a file")
            yield _finding(before, "modified", path, f"{what}{remark}")
        elif after.blob(path) != before.blobs[path]:
            yield _finding(before, "modified", path, f"was modified{remark}")
    for path in sorted(added):
        if _run_of(path) in before.runs:
            what = f"was added inside a run folder that the base has{remark}"
            yield _finding(before, "added", path, what, "take it out")


def _gone(before: Tree, after: Side, deleted: set[str], added: set[str], remark: str) -> Iterator[Finding]:
    """What was deleted or renamed: one line for a whole run folder, else one for each file."""
    remaining = {_run_of(path) for path in after.kinds}
    whole = {_run_of(path) for path in deleted} & before.runs - remaining
    moved = {(_last(path), after.blob(path)): path for path in sorted(added) if after.kinds[path] == _FILE}
    for run in sorted(whole):
        new = moved.get((manifest.NAME, before.blobs[f"{run}/{manifest.NAME}"]))
        code, what = ("renamed", f"was renamed to {new.rpartition('/')[0]}") if new else ("deleted", "was deleted")
        yield Finding(code, run, None, f"the run {what}{remark}", _RESTORE)
    for path in sorted(path for path in deleted if _run_of(path) not in whole):
        new = moved.get((_last(path), before.blobs[path]))
        code, what = ("renamed", f"was renamed to {new}") if new else ("deleted", "was deleted")
        yield _finding(before, code, path, what + remark)


def _counts(path: str) -> bool:
    top = path.split("/", maxsplit=1)[0]
    return top not in layout.LOCAL and path not in layout.NOT_EVIDENCE


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _run_of(path: str) -> str:
    return "/".join(path.split("/")[:3])


def _finding(before: Tree, code: str, path: str, what: str, todo: str = _RESTORE) -> Finding:
    run = _run_of(path)
    if run in before.runs:
        return Finding(code, run, path[len(run) + 1 :], what, todo)
    return Finding(code, path, None, what, todo)


def _redacted(before: Tree, after: Side, deleted: set[str]) -> set[str]:
    """Those of `deleted` that a `redacted` record lists, with the digest that the base's manifest states."""
    allowed: set[str] = set()
    for run in sorted({_run_of(path) for path in deleted} & before.runs):
        listed = _listed(after, run[-SHORT:])
        if not listed:
            continue
        try:
            sealed = manifest.parse(before.read(f"{run}/{manifest.NAME}"), run)
        except EvidenceError:
            continue
        allowed |= {f"{run}/{name}" for name, sha256 in listed.items() if sealed.get(name) == sha256}
    return allowed


def _listed(side: Side, run_id: str) -> dict[str, str]:
    """{path: sha256} that the side's own `redacted` records list for a run."""
    records: list[status.StatusRecord] = []
    prefix = f"{status.FOLDER}/{run_id}/"
    for path in side.kinds:
        if path.startswith(prefix) and side.kinds[path] == _FILE:
            try:
                records.append(status.parse(side.read(path), run_id, path.removeprefix(prefix), path))
            except (EvidenceError, OSError):
                continue
    return status.redacted_paths(records)
