"""Small exports of Nsight Systems with known numbers, in the schema of version 2024.6 (3.16), as SQLite files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

PID, TID, STREAM = 4711, 4712, 7
PAGEABLE, PINNED, DEVICE = 0, 1, 2

SCHEMA = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER, "
    "memoryBandwidth INTEGER, smCount INTEGER, uuid TEXT, chipName TEXT, cuDevice INTEGER, computeMajor INTEGER, "
    "computeMinor INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, numMultiprocessors INTEGER",
    "MPI_RANKS": "globalTid INTEGER NOT NULL, rank INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
    "contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
    "globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
    "launchType INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
    "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
    "graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
    "contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
    "globalPid INTEGER, graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
    "contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
    "globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, "
    "graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
    "contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
    "globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, "
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
    "callchainId INTEGER",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
    "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, "
    "domainId INTEGER",
}
"""Columns of each table, but for those that nothing here fills or reads."""


def global_id(pid: int, tid: int = 0) -> int:
    """A process or thread as Nsight Systems writes it: the machine's number stands above both."""
    return 1 << 48 | pid << 24 | tid


class Export:
    """An export on its way to a file. Times are nanoseconds."""

    def __init__(self, pid: int = PID, device: int = 0) -> None:
        self.pid, self.device = pid, device
        self.rows: dict[str, list[dict[str, Any]]] = {"META_DATA_EXPORT": [{"name": "EXPORT_SCHEMA_VERSION"}]}
        self._strings: dict[str, int] = {}
        self._launches = 0

    def string(self, value: str) -> int:
        """The id of a string."""
        number = self._strings.setdefault(value, len(self._strings) + 1)
        if number > len(self.rows.get("StringIds", [])):
            self.add("StringIds", id=number, value=value)
        return number

    def add(self, table: str, **values: Any) -> Export:
        """A row as it is, with 0 in the columns that must have a value."""
        required = [column.split()[0] for column in SCHEMA.get(table, "").split(", ") if "INTEGER NOT NULL" in column]
        self.rows.setdefault(table, []).append({**dict.fromkeys(required, 0), **values})
        return self

    def gpu(self, number: int = 0, processors: int = 132) -> Export:
        return self.add(
            "TARGET_INFO_GPU",
            id=number, name="NVIDIA H200", totalMemory=150_000_000_000, smCount=processors, cuDevice=number,
        )  # fmt: skip

    def call(self, name: str, start: int, end: int, correlation: int = 0, **values: Any) -> Export:
        """A runtime call."""
        return self.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            **{
                "start": start,
                "end": end,
                "globalTid": global_id(self.pid, TID),
                "correlationId": correlation,
                "nameId": self.string(name),
                **values,
            },
        )

    def nvtx(self, text: str | None, start: int, end: int | None, event_type: int = 59, **values: Any) -> Export:
        found = {"text": text, "start": start, "end": end, "eventType": event_type}
        return self.add("NVTX_EVENTS", **{**found, "globalTid": global_id(self.pid, TID), **values})

    def kernel(self, name: str, start: int, end: int, at: int | None = None, **values: Any) -> Export:
        """A kernel; `at`: when it was launched, which takes 500 ns."""
        names = {"demangledName": self.string(name), "shortName": self.string(name.partition("<")[0])}
        grid = {"gridX": 1, "gridY": 1, "gridZ": 1}
        return self._launched("KERNEL", start, end, at, "cudaLaunchKernel_v7000", **{**names, **grid, **values})

    def memcpy(self, start: int, end: int, at: int | None = None, **values: Any) -> Export:
        """A copy; from pageable memory to the device unless said otherwise."""
        found = {"bytes": 4096, "copyKind": 1, "srcKind": PAGEABLE, "dstKind": DEVICE, **values}
        return self._launched("MEMCPY", start, end, at, "cudaMemcpyAsync_v3020", **found)

    def memset(self, start: int, end: int, at: int | None = None, **values: Any) -> Export:
        found = {"bytes": 1024, "memKind": DEVICE, **values}
        return self._launched("MEMSET", start, end, at, "cudaMemsetAsync_v3020", **found)

    def graph(self, start: int, end: int, at: int | None = None, **values: Any) -> Export:
        return self._launched("GRAPH_TRACE", start, end, at, "cudaGraphLaunch_v10000", **values)

    def _launched(self, table: str, start: int, end: int, at: int | None, call: str, **values: Any) -> Export:
        correlation = 0
        if at is not None:
            self._launches += 1
            correlation = self._launches
            self.call(call, at, at + 500, correlation)
        found = {"start": start, "end": end, "deviceId": self.device, "streamId": STREAM, "correlationId": correlation}
        return self.add(f"CUPTI_ACTIVITY_KIND_{table}", **{**found, "globalPid": global_id(self.pid), **values})

    def with_all(self, other: Export) -> Export:
        """Take in the rows of another rank, whose strings become this export's."""
        value = {number: text for text, number in other._strings.items()}
        named = ("nameId", "demangledName", "shortName", "textId")
        for table, rows in other.rows.items():
            for row in rows if table not in ("StringIds", "META_DATA_EXPORT") else ():
                moved = {key: self.string(value[row[key]]) for key in named if row.get(key)}
                self.rows.setdefault(table, []).append({**row, **moved})
        return self

    def write(self, path: Path, without: tuple[str, ...] = (), loose: bool = False) -> Path:
        """A file with the tables that have rows. `without`: columns that its version lacks; `loose`: no constraints."""
        with closing(sqlite3.connect(path)) as connection, connection:
            for table, rows in self.rows.items():
                columns = [each for each in SCHEMA[table].split(", ") if each.split()[0] not in without]
                if loose:
                    columns = [each.split()[0] for each in columns]
                connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
                for row in rows:
                    kept = {name: value for name, value in row.items() if name not in without}
                    places = ", ".join("?" * len(kept))
                    statement = f"INSERT INTO {table} ({', '.join(kept)}) VALUES ({places})"
                    connection.execute(statement, tuple(kept.values()))
        return path
