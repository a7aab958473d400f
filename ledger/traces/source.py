"""The bytes of a trace file, decompressed as they are read, ahead of whoever parses them."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pyarrow as pa
from isal import isal_zlib

from ledger import quantity
from ledger.errors import InputError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

BLOCK = 2 * 2**20
"""Bytes of one block."""
LIMIT = 32 * 2**30
"""The most bytes that a file may hold once decompressed, unless the caller says otherwise."""
LIMIT_VARIABLE = "STACKPROOF_TRACE_LIMIT"
"""Environment variable that sets another limit, such as 8GiB."""
_PACKED = 2**18
_AHEAD = 3


def _limit() -> int:
    """What the environment allows."""
    text = os.environ.get(LIMIT_VARIABLE)
    try:
        limit = LIMIT if text is None else quantity.size(text)
        if limit <= 0:
            raise ValueError(f"must be more than nothing, got {quantity.shown(text)}")
    except ValueError as error:
        raise InputError(str(error), where=LIMIT_VARIABLE, todo="write a size such as 8GiB, or unset it") from None
    return limit


class Source:
    """Blocks of one file. `cut` tells, once they are read, whether the packed data broke off."""

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self.path = path
        self.limit = _limit() if limit is None else limit
        self.cut: str | None = None

    def head(self, size: int = 4096) -> bytes:
        """The first bytes. Raises InputError when there are none to be had."""
        block = next(self._blocks(size), b"")
        if self.cut and not block:
            raise InputError(f"{self.cut} at its very start", where=str(self.path), todo="record the trace again")
        return block

    def __iter__(self) -> Iterator[bytes]:
        """Blocks, read ahead in a thread. Raises InputError when the file cannot be read or exceeds the limit."""
        ready: queue.Queue[bytes | BaseException | None] = queue.Queue(_AHEAD)
        given_up = threading.Event()

        def fill() -> None:
            last: BaseException | None = None
            try:
                for block in self._blocks(BLOCK):
                    while not given_up.is_set():
                        with suppress(queue.Full):
                            ready.put(block, timeout=0.1)
                            break
                    if given_up.is_set():
                        return
            except BaseException as error:
                last = error
            while not given_up.is_set():
                with suppress(queue.Full):
                    ready.put(last, timeout=0.1)
                    return

        thread = threading.Thread(target=fill, name="trace source", daemon=True)
        thread.start()
        try:
            while (block := ready.get()) is not None:
                if isinstance(block, BaseException):
                    raise block
                yield block
        finally:
            given_up.set()
            thread.join()

    def _blocks(self, size: int) -> Iterator[bytes]:
        total = 0
        try:
            with self.path.open("rb") as file:
                for block in self._unpacked(file, size):
                    total += len(block)
                    if total > self.limit:
                        raise InputError(
                            f"holds more than {self.limit:,} bytes once decompressed",
                            where=str(self.path),
                            todo=f"profile fewer steps, or raise {LIMIT_VARIABLE}",
                        )
                    yield block
        except FileNotFoundError:
            raise InputError("no such file", where=str(self.path), todo="name a trace file") from None
        except IsADirectoryError:
            raise InputError("is a folder, not a trace", where=str(self.path), todo="name the files in it") from None
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror or error})", where=str(self.path), todo="check its permissions"
            ) from None

    def _unpacked(self, file: IO[bytes], size: int) -> Iterator[bytes]:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(GZIP):
            return self._gzip(file, size)
        if magic == ZSTD:
            return self._zstd(file, size)
        return iter(lambda: file.read(size), b"")

    def _gzip(self, file: IO[bytes], size: int) -> Iterator[bytes]:
        """Members one after another; what stands before a fault is kept."""
        member = isal_zlib.decompressobj(wbits=31)
        packed = b""
        try:
            while True:
                if member.eof:
                    packed = member.unused_data or file.read(_PACKED)
                    if packed[:2] != GZIP[: len(packed)] or not packed:  # padding, or a remark of who packed it
                        return
                    member = isal_zlib.decompressobj(wbits=31)
                elif not packed:
                    packed = file.read(_PACKED)
                    if not packed:
                        self.cut = "the compressed data ends early"
                        return
                block = member.decompress(packed, size)
                packed = member.unconsumed_tail
                if block:
                    yield block
        except isal_zlib.error:  # type: ignore[misc]
            self.cut = "the compressed data is damaged"

    def _zstd(self, file: IO[bytes], size: int) -> Iterator[bytes]:
        stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
        while True:
            try:
                block = stream.read(size)
            except OSError as error:
                early = "truncated" in str(error).lower()
                self.cut = f"the compressed data {'ends early' if early else 'is damaged'}"
                return
            if not block:
                return
            yield block
