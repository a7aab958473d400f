"""Rows of a table on their way into a trace, in the room of its columns once they are many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ledger.traces.room import Room

_GROUP = 4 * 2**20
"""Bytes of rows that are moved at once."""


class Rows:
    """Batches of one table, each with its place in the file."""

    def __init__(self, room: Room, schema: pa.Schema) -> None:
        self._room, self._schema = room, schema
        self._settled: list[tuple[int, pa.RecordBatch]] = []
        self._loose: list[tuple[int, pa.RecordBatch]] = []
        self._size = 0

    def append(self, place: int, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._loose.append((place, batch))
        self._size += batch.nbytes
        if self._size >= _GROUP:
            self._settle()

    def table(self) -> pa.Table:
        """All rows, in the file's order."""
        ordered = sorted(self._settled + self._loose, key=lambda each: each[0])
        return pa.Table.from_batches([batch for _, batch in ordered], self._schema).unify_dictionaries()

    def _settle(self) -> None:
        """Copy the loose batches into the room, where nothing but its own pages holds them."""
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, self._schema) as writer:
            for _, batch in self._loose:
                writer.write_batch(batch)
        written = stream.getvalue()
        memory = self._room.empty(written.size, np.uint8)
        memory[:] = np.frombuffer(written, dtype=np.uint8)
        places = [place for place, _ in self._loose]
        self._settled += zip(places, pa.ipc.open_stream(pa.py_buffer(memory)), strict=True)
        self._loose, self._size = [], 0
