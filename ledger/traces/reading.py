"""Reading trace files: which format a file has, its tables in Parquet, and its columns in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from ledger.durable import storage_errors
from ledger.errors import InputError
from ledger.traces.elsewhere import Elsewhere, elsewhere
from ledger.traces.interface import Facts, Format, Part
from ledger.traces.kineto import Kineto
from ledger.traces.nsight import Nsight
from ledger.traces.source import Source
from ledger.traces.storage import Writing, batches
from ledger.traces.trace import Collecting, Trace, collect

WORTH_A_PROCESS = 2 * 2**20
"""Bytes of a file from which on reading it beside others pays for a process."""

FORMATS: tuple[Format, ...] = (Nsight(), Kineto())
"""Every format, in the order they are asked."""


def format_of(path: Path) -> Format:
    """The format of a file. Raises InputError when it cannot be read or has none that is known."""
    head = Source(path).head()
    for each in FORMATS:
        if each.recognises(path, head):
            return each
    known = ", ".join(each.name for each in FORMATS)
    raise InputError("is not a trace that stackproof reads", where=str(path), todo=f"give it one of these: {known}")


def read(path: Path, tables: Path | None = None) -> Trace:
    """One trace file as columns in memory; `tables`: a new folder for its tables in Parquet. Raises InputError."""
    form = format_of(path)
    of = form.parts(path)
    facts = Facts()
    collecting = Collecting()
    with ExitStack() as stack:
        stack.enter_context(storage_errors(tables or path))
        folder = tables
        if folder is None and of > 1:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackproof-trace-")))
        others = [stack.enter_context(elsewhere(path, folder, Part(number, of))) for number in range(1, of) if folder]
        with Writing(tables, Part(0, of)) as writing:
            for batch in form.read(path, facts, Part(0, of)):
                writing.write(batch)
                collecting.add(batch)
            for other in others:
                facts.add(other.wait())
            for batch in form.join(facts) if others else ():
                writing.write(batch)
                collecting.add(batch)
        for other in others:
            for batch in batches(other.folder, other.part.number):
                collecting.add(batch)
    return collecting.trace(path, facts)


def read_ranks(paths: Sequence[Path]) -> Iterator[Trace]:
    """Several trace files one after another, large ones read ahead by other processes. Raises InputError.

    Memory holds one trace at a time if the caller lets each go, whatever their number.
    """
    with ExitStack() as stack:
        ahead: deque[tuple[Path, Elsewhere | None]] = deque()
        waiting = deque(paths)
        while waiting or ahead:
            while waiting and len(ahead) < (os.cpu_count() or 1):
                ahead.append(_ahead(waiting.popleft(), stack, alone=len(paths) == 1))
            path, reader = ahead.popleft()
            yield read(path) if reader is None else _collected(path, reader)


def _ahead(path: Path, stack: ExitStack, *, alone: bool) -> tuple[Path, Elsewhere | None]:
    """A process that reads the file, where that pays."""
    if alone or not path.is_file() or path.stat().st_size < WORTH_A_PROCESS:
        return path, None
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackproof-trace-")))
    return path, stack.enter_context(elsewhere(path, folder, Part()))


def _collected(path: Path, reader: Elsewhere) -> Trace:
    facts = reader.wait()
    trace = collect(batches(reader.folder), path, facts)
    shutil.rmtree(reader.folder, ignore_errors=True)
    return trace
