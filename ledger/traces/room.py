"""Memory for the columns of a trace, up to a budget; beyond it, room on disk that the system can take out of memory."""

from __future__ import annotations

import ctypes
import mmap
import tempfile
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BUDGET = 96 * 2**20
"""Bytes of columns that one trace keeps in memory."""
_SMALL = 2**18
"""Arrays below this many bytes are not worth memory of their own."""
_on_disk: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
"""What glibc calls it; other allocators give back by themselves."""


def forget_pages() -> None:
    """Let go of the pages of temporary files: their content stays, and comes back when it is looked at."""
    for memory in list(_on_disk):
        memory.madvise(mmap.MADV_DONTNEED)


def trim() -> None:
    """Give the system what was freed and is kept for later, so that one piece of work does not add to the next."""
    forget_pages()
    pa.default_memory_pool().release_unused()
    if _trim is not None:
        _trim(0)


class Room:
    """Hands out large arrays. What is freed goes back to the system at once, however small what lies around it."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._left = budget
        self.spilled = 0
        """Bytes that were placed in temporary files, below the folder that TMPDIR names."""

    def empty(self, size: int, dtype: type) -> npt.NDArray[Any]:
        """An array whose content is not set. Raises OSError when the temporary folder is full."""
        count = size * np.dtype(dtype).itemsize
        if count < _SMALL:
            return np.empty(size, dtype=dtype)
        return np.frombuffer(self._memory(count) if count <= self._left else self._disk(count), dtype=dtype)

    def _memory(self, count: int) -> mmap.mmap:
        self._left -= count
        memory = mmap.mmap(-1, count)
        weakref.finalize(memory, self._give_back, count)
        return memory

    def _give_back(self, count: int) -> None:
        self._left += count

    def _disk(self, count: int) -> mmap.mmap:
        with tempfile.TemporaryFile(prefix="stackproof-trace-") as file:
            file.truncate(count)
            self.spilled += count
            memory = mmap.mmap(file.fileno(), count)
        forget_pages()
        _on_disk.add(memory)
        return memory
