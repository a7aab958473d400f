"""Reading and writing files in pieces, plain, gzip or zstd alike. The first bytes tell which, not the name."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

Read = Callable[[int], bytes]
"""Called with the most bytes wanted; empty at the end."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


@contextmanager
def reading(path: Path) -> Iterator[Read]:
    """The decompressed bytes of a file. A compressed stream that is damaged ends where it cannot be read on."""
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file, mode="rb") as packed:
                yield _up_to_damage(packed.read1, (EOFError, gzip.BadGzipFile, zlib.error))
        elif magic == _ZSTD:
            with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as packed:
                yield _up_to_damage(packed.read, (OSError, pa.ArrowException))
        else:
            yield file.read


@contextmanager
def writing(path: Path, *, like: Path) -> Iterator[Callable[[bytes], object]]:
    """Write `path`, compressed as `like` is, with the same bytes each time (no time or name in the header)."""
    with like.open("rb") as file:
        magic = file.read(4)
    with path.open("wb") as file:
        if magic.startswith(_GZIP):
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
                yield packed.write
        elif magic == _ZSTD:
            with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), "zstd") as packed:
                yield packed.write
        else:
            yield file.write


def _up_to_damage(read: Read, damage: tuple[type[Exception], ...]) -> Read:
    def careful(most: int) -> bytes:
        try:
            return read(most)
        except damage:
            return b""

    return careful
