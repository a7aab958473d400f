"""Writing a folder of a commit to disk, byte for byte: no filter, attribute or line-end setting has a say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ledger.append_only import GIT_ENVIRONMENT, Tree
from ledger.durable import storage_errors
from ledger.errors import GitError
from ledger.manifest import path_problem

_AT_ONCE = 64


def write_tree(tree: Tree, folder: Path) -> None:
    """Write the plain files of `tree` below `folder`, links left out. Raises GitError, StorageError."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path, data in _contents(tree):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)


def _contents(tree: Tree) -> Iterator[tuple[str, bytes]]:
    paths = [path for path, kind in sorted(tree.kinds.items()) if kind == "file" and not _leaves(path)]
    for start in range(0, len(paths), _AT_ONCE):
        some = paths[start : start + _AT_ONCE]
        wanted = "".join(f"{tree.blobs[path]}\n" for path in some).encode()
        data = tree.repository.run("cat-file", "--batch", data=wanted, env=GIT_ENVIRONMENT)
        yield from zip(some, _split(data), strict=True)


def _leaves(path: str) -> bool:
    """Whether a path, which a hand-made tree object may hold, would leave the folder."""
    problem = path_problem(path)
    return problem is not None and problem.startswith("leaves")


def _split(data: bytes) -> Iterator[bytes]:
    """The objects in the output of `git cat-file --batch`: a line with the size, the bytes, a line end."""
    position = 0
    while position < len(data):
        end = data.index(b"\n", position)
        words = data[position:end].split()
        if len(words) != 3:
            raise GitError(f"object {words[0].decode()} is missing", todo="fetch it, or repair the repository")
        size = int(words[2])
        yield data[end + 1 : end + 1 + size]
        position = end + size + 2
