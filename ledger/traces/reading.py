"""Reading trace files: which format a file has, its tables in Parquet, and its columns in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.errors import InputError
from ledger.traces.interface import CALLS, EVENTS, MEMORY, Batch, Facts, Format, Part
from ledger.traces.kineto import Kineto
from ledger.traces.source import Source
from ledger.traces.trace import Collecting, Trace

FORMATS: tuple[Format, ...] = (Kineto(),)
"""Every format, in the order they are asked."""

_PLACES = b"stackproof_places"
TABLES = {"events": EVENTS, "calls": CALLS, "memory": MEMORY}


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
        folder = tables
        if folder is None and of > 1:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackproof-trace-")))
        others = [stack.enter_context(_elsewhere(path, folder, Part(number, of))) for number in range(1, of) if folder]
        with _Writing(tables, Part(0, of)) as writing:
            for batch in form.read(path, facts, Part(0, of)):
                writing.write(batch)
                collecting.add(batch)
        for other in others:
            facts.add(other.wait())
            for batch in batches(other.folder, other.part.number):
                collecting.add(batch)
    return collecting.trace(path, facts)


class _Writing:
    """Parquet files of one part, a row group a batch; none where there is no folder for them."""

    def __init__(self, folder: Path | None, part: Part) -> None:
        self._folder, self._part = folder, part
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._places: dict[str, list[int]] = {name: [] for name in TABLES}

    def __enter__(self) -> _Writing:
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._table("events")
        return self

    def __exit__(self, *_: object) -> None:
        for name, writer in self._writers.items():
            writer.add_key_value_metadata({_PLACES: json.dumps(self._places[name])})
            writer.close()

    def write(self, batch: Batch) -> None:
        """Append a batch."""
        if self._folder is None:
            return
        for name, rows in (("events", batch.events), ("calls", batch.calls), ("memory", batch.memory)):
            if rows is not None and len(rows):
                self._table(name).write_batch(rows)
                self._places[name].append(batch.place)

    def _table(self, name: str) -> pq.ParquetWriter:
        if name not in self._writers:
            schema = TABLES[name]
            self._writers[name] = pq.ParquetWriter(
                Path(self._folder or "") / f"{name}-{self._part.number}.parquet",
                schema,
                compression="zstd",
                compression_level=1,
                use_dictionary=[field.name for field in schema if pa.types.is_dictionary(field.type)],
                write_statistics=["kind", "start_ns"],
            )
        return self._writers[name]


class _Elsewhere:
    """A part that another process reads into Parquet files."""

    def __init__(self, process: subprocess.Popen[bytes], path: Path, folder: Path, part: Part) -> None:
        self._process, self._path, self.folder, self.part = process, path, folder, part

    def wait(self) -> Facts:
        """What the part's reader learnt, once it is done. Raises InputError when it failed."""
        out, err = self._process.communicate()
        if self._process.returncode:
            line = err.decode(errors="replace").strip().rpartition("\n")[2] or f"exit code {self._process.returncode}"
            raise InputError(f"could not be read ({line})", where=str(self._path), todo="free memory or disk space")
        return Facts.of(json.loads(out))


def batches(folder: Path, part: int | None = None) -> Iterator[Batch]:
    """The rows of the tables in a folder, or of one part of them, a row group at a time."""
    for name, schema in TABLES.items():
        for file in sorted(folder.glob(f"{name}-{'*' if part is None else part}.parquet")):
            for place, rows in _row_groups(file, schema):
                yield Batch(**{name: rows}, place=place)


def _row_groups(file: Path, schema: pa.Schema) -> Iterator[tuple[int, pa.RecordBatch]]:
    words = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    with pq.ParquetFile(file, read_dictionary=words) as parquet:
        places = json.loads((parquet.metadata.metadata or {}).get(_PLACES, b"[]"))
        for group, place in enumerate(places):
            for rows in parquet.read_row_group(group).to_batches():
                yield place, rows


@contextmanager
def _elsewhere(path: Path, folder: Path, part: Part) -> Iterator[_Elsewhere]:
    command = [sys.executable, "-m", "ledger.traces.reading", str(path), str(folder), str(part.number), str(part.of)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        yield _Elsewhere(process, path, folder, part)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _read_part(path: Path, folder: Path, part: Part) -> Facts:
    """Read a part of a file into Parquet files: what the other process does."""
    facts = Facts()
    with _Writing(folder, part) as writing:
        for batch in format_of(path).read(path, facts, part):
            writing.write(batch)
    return facts


if __name__ == "__main__":
    file, into, number, of = sys.argv[1:]
    print(json.dumps(asdict(_read_part(Path(file), Path(into), Part(int(number), int(of))))))
