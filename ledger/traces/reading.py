"""Reading trace files: which format a file has, its tables in Parquet, and its columns in memory."""

from __future__ import annotations

import os
import re
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
from ledger.traces.several import apart
from ledger.traces.source import Source
from ledger.traces.storage import Writing, batches
from ledger.traces.trace import Collecting, Trace, collect

WORTH_A_PROCESS = 2 * 2**20
"""Bytes of a file from which on reading it beside others pays for a process."""
MOST_READERS = 2
"""Processes that read ahead: with the one that explains, they fit into the memory that traces may take."""

FORMATS: tuple[Format, ...] = (Nsight(), Kineto())
"""Every format, in the order they are asked."""


def format_of(path: Path) -> Format:
    """The format of a file. Raises InputError when it cannot be read or has none that is known."""
    head = b"" if path.is_dir() else Source(path).head()
    for each in FORMATS:
        if each.recognises(path, head):
            return each
    if path.is_dir():
        Source(path).head()  # says that it is a folder
    for each in FORMATS:
        if error := each.refused(path, head):
            raise error
    known = ", ".join(each.name for each in FORMATS)
    raise InputError("is not a trace that stackproof reads", where=str(path), todo=f"give it one of these: {known}")


def read_each(path: Path, tables: Path | None = None) -> Iterator[Trace]:
    """Each rank of a trace file, as `read` reads it; `Facts.share` tells which it is where there are several.

    `tables`: a new folder, in which each of several ranks has its own (`folder_of`) where the file tells them apart.
    """
    ranks = format_of(path).ranks(path)
    if len(ranks) < 2:
        yield from apart(read(path, tables))
        return
    for rank in ranks:
        yield read(path, tables and folder_of(tables, rank), rank)


def folder_of(tables: Path, share: str | None) -> Path:
    """The folder of one of several ranks, below that of the file."""
    return tables if share is None else tables / re.sub(r"\W+", "-", share)


def read(path: Path, tables: Path | None = None, rank: str | None = None) -> Trace:
    """One trace file as columns in memory; `tables`: a new folder for its tables in Parquet; `rank`: which of several
    that its format lists. Raises InputError."""
    form = format_of(path)
    of = form.parts(path) if rank is None else 1
    facts = Facts(share=rank)
    collecting = Collecting()
    with ExitStack() as stack:
        stack.enter_context(storage_errors(tables or path))
        folder = tables
        if folder is None and of > 1:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackproof-trace-")))
        others = [stack.enter_context(elsewhere(path, folder, Part(number, of))) for number in range(1, of) if folder]
        with Writing(tables, Part(0, of)) as writing:
            for batch in form.read(path, facts, Part(0, of), rank):
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

    Memory holds one trace at a time if the caller lets each go, and what MOST_READERS take, whatever their number.
    """
    with ExitStack() as stack:
        ahead: deque[tuple[Path, Elsewhere | None]] = deque()
        waiting = deque(paths)
        while waiting or ahead:
            while waiting and len(ahead) < min(MOST_READERS, os.cpu_count() or 1):
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
