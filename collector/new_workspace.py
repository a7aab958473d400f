"""What `stackproof init` does: fill a folder from the workspace template; start a git repository where there is none.

Nothing that the folder already holds is overwritten: what is in the way is listed before anything is written. Lists of
patterns (`.gitignore`, `.gitattributes`) get the lines that they lack; a README of one's own stays.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ledger import git
from ledger.durable import storage_errors
from ledger.errors import GitError, InputError
from ledger.manifest import list_files
from ledger.suggestion import nearest

TEMPLATE = Path(__file__).with_name("workspace_template")
EXAMPLES = Path(__file__).with_name("benchmarks")

_LISTS = frozenset({".gitignore", ".gitattributes"})
_KEPT = frozenset({"README.md"})
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "stackproof"), ("EMAIL", "stackproof@localhost"))
}
"""Who signs the first commit where nobody has told git a name."""


@dataclass(frozen=True)
class Made:
    """What was made: paths relative to the folder, the first commit (None in a repository that was there), remarks."""

    files: tuple[str, ...]
    commit: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Extra:
    """What a workspace gets beside the template and a shipped example."""

    files: dict[str, bytes]
    """{path: bytes}."""
    trees: dict[str, Path]
    """{path of a folder that is not there yet: the folder that is copied to it, links and modes kept}."""


def make(folder: Path, example: str | None = None, extra: Extra | None = None) -> Made:
    """Make a workspace in `folder`. Raises InputError, before anything is written, when files are in the way."""
    extra = extra or Extra({}, {})
    contents = {**_contents(example), **extra.files}
    _need_git()
    _refuse_to_overwrite(folder, {**contents, **dict.fromkeys(extra.trees, b"")})
    with storage_errors(folder):
        written = [name for name, data in contents.items() if _put(folder / name, data)]
        for name, tree in extra.trees.items():
            shutil.copytree(tree, folder / name, symlinks=True)
            written += [path.relative_to(folder).as_posix() for path in list_files(folder / name)]
        (folder / "benchmarks").mkdir(exist_ok=True)
    notes = [] if "README.md" in written else ["README.md was there already and stays as it is"]
    if b"\nstackproof" not in b"\n" + contents["requirements.txt"]:
        notes.append("requirements.txt: say there where CI gets stackproof from")
    commit = _start_repository(folder, written)
    return Made(tuple(written), commit, (*notes, *_about_the_repository(folder, written, commit)))


def examples() -> list[str]:
    """The names that `--example` takes."""
    return sorted(path.stem for path in EXAMPLES.glob("*.yaml"))


def _contents(example: str | None) -> dict[str, bytes]:
    """{path: bytes} of all files of a new workspace."""
    contents = {path.relative_to(TEMPLATE).as_posix(): path.read_bytes() for path in _template_files()}
    contents["requirements.txt"] = _requirements().encode()
    if example is not None:
        contents |= _example(example)
    return dict(sorted(contents.items()))


def _template_files() -> list[Path]:
    return _files(TEMPLATE)


def _example(name: str) -> dict[str, bytes]:
    """{path: bytes} of a shipped benchmark and of the files beside it that its text names. Raises InputError."""
    known = examples()
    if name not in known:
        raise InputError(f"no example {name!r}", todo=nearest(name, known))
    path = EXAMPLES / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    named = [each for each in sorted(EXAMPLES.glob("*/*")) if each.relative_to(EXAMPLES).as_posix() in text]
    files = [path, *(file for each in named for file in _files(each))]
    return {f"benchmarks/{each.relative_to(EXAMPLES).as_posix()}": each.read_bytes() for each in files}


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    return [path] if path.is_file() else []


def _refuse_to_overwrite(folder: Path, contents: dict[str, bytes]) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError("is not a folder", where=str(folder), todo="name another one")
    in_the_way = sorted({blocked for name, data in contents.items() if (blocked := _in_the_way(folder, name, data))})
    if in_the_way:
        raise InputError(
            f"these are in the way: {', '.join(in_the_way)}",
            where=str(folder),
            todo="move them aside or name another folder (nothing was changed)",
        )


def _in_the_way(folder: Path, name: str, data: bytes) -> str | None:
    """The existing path that writing `name` would harm, relative to `folder`, or None."""
    path = folder / name
    for parent in list(path.relative_to(folder).parents)[:-1]:
        if os.path.lexists(folder / parent) and ((folder / parent).is_symlink() or not (folder / parent).is_dir()):
            return str(parent)
    if not os.path.lexists(path):
        return None
    if path.is_symlink() or not path.is_file():
        return name
    return None if name in _LISTS | _KEPT or path.read_bytes() == data else name


def _put(path: Path, data: bytes) -> bool:
    """Write a file of the template; False where the one that is there stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with path.open("xb") as file:
            file.write(data)
        return True
    if path.name not in _LISTS:
        return False
    old = path.read_bytes()
    missing = [line for line in data.splitlines() if line not in old.splitlines()]
    if missing:
        separator = b"" if old.endswith(b"\n") or not old else b"\n"
        with path.open("ab") as file:
            file.write(separator + b"\n".join(missing) + b"\n")
    return bool(missing)


def _need_git() -> None:
    """Raises GitError where git is not installed, before anything is written."""
    git.Repository(Path.cwd(), Path.cwd()).run("--version")


def _start_repository(folder: Path, files: list[str]) -> str | None:
    """A first commit of `files`; None in a repository that has commits already, where committing is the user's."""
    repository = _repository(folder) or git.Repository(folder.resolve(), folder.resolve() / ".git")
    if not repository.git_dir.exists():
        repository.run("init", "--quiet", "--initial-branch", "main")
    if repository.head():
        return None
    paths = [str(folder.resolve() / name) for name in files]
    repository.run("add", "--force", "--", *paths)
    unsigned = ("-c", "commit.gpgSign=false")
    message = ("--quiet", "--no-verify", "--message", "Start a workspace")
    repository.run(*unsigned, "commit", *message, "--", *paths, env=_identity(repository))
    return repository.head()


def _about_the_repository(folder: Path, files: list[str], commit: str | None) -> list[str]:
    """What it means that the workspace is part of a repository which was there before."""
    repository = _repository(folder)
    if commit or not files or repository is None:
        return []
    root = repository.root
    if root == folder.resolve():
        return ["this folder was a git repository already: commit the new files yourself"]
    return [
        f"this folder lies inside the git repository {root}: commits go there, the first one is yours to make, and "
        "GitHub ignores the workflow, as it is not at the top; name a folder outside for a repository of its own"
    ]


def _repository(folder: Path) -> git.Repository | None:
    """The repository that `folder` belongs to; one that ignores the folder cannot hold evidence and does not count."""
    try:
        repository = git.find(folder)
    except GitError:
        return None
    if repository.root == folder.resolve():
        return repository
    try:
        repository.run("check-ignore", "--quiet", "--", str(folder.resolve()))
    except GitError:
        return repository
    return None


def _identity(repository: git.Repository) -> dict[str, str]:
    try:
        repository.run("var", "GIT_AUTHOR_IDENT")
    except GitError:
        return _IDENTITY
    return {}


def _requirements() -> str:
    """requirements.txt: this very stackproof, from where it was installed."""
    version = importlib.metadata.version("stackproof")
    source = json.loads(importlib.metadata.distribution("stackproof").read_text("direct_url.json") or "{}")
    vcs = source.get("vcs_info")
    if vcs:
        return f"stackproof @ {vcs['vcs']}+{source['url']}@{vcs['commit_id']}\n"
    if not source:
        return f"stackproof=={version}\n"
    return (
        f"# stackproof {version} was installed from a folder, which CI cannot reach. Say where CI gets it, such as\n"
        "# stackproof @ git+https://github.com/OWNER/stackproof@COMMIT\n"
    )
