"""The tables of a trace as Parquet files in a folder: TABLE-PART.parquet, a row group a batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.traces.interface import CALLS, EVENTS, MEMORY, Batch, Part

TABLES = {"events": EVENTS, "calls": CALLS, "memory": MEMORY}
_PLACES = b"stackproof_places"
"""Key of a file's metadata under which the places of its row groups in the trace file stand."""


class Writing:
    """Parquet files of one part, a row group a batch; none where there is no folder for them."""

    def __init__(self, folder: Path | None, part: Part) -> None:
        self._folder, self._part = folder, part
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._places: dict[str, list[int]] = {name: [] for name in TABLES}

    def __enter__(self) -> Writing:
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
