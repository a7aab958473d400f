"""Parquet files of a run folder: zstd, with the plain column types that DuckDB reads back unchanged."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.errors import EvidenceError

STEPS = pa.schema(
    [
        ("step", pa.int32()),
        ("phase", pa.string()),  # warmup, measured or profiled
        ("start_ns", pa.int64()),  # since the first step's start
        ("duration_ns", pa.int64()),
        ("samples", pa.int64()),
        ("tokens", pa.int64()),
        ("loss", pa.float64()),  # nats a token
    ]
)
"""samples/steps.parquet: one row an optimizer step."""

TELEMETRY = pa.schema(
    [
        ("elapsed_ns", pa.int64()),  # since the launch
        ("device", pa.string()),  # host, gpu0, gpu1, …
        ("utilisation", pa.float64()),  # share of the device's capacity, 0 to 1
        ("memory_bytes", pa.int64()),  # host: resident set of the trial's processes; gpu: used memory
        ("power_w", pa.float64()),
        ("energy_j", pa.float64()),  # the device's own counter, since the launch
        ("clock_hz", pa.int64()),
    ]
)
"""samples/telemetry.parquet: one row a sample a device; null where there is no sensor."""


def write(path: Path, rows: list[dict[str, object]], schema: pa.Schema) -> None:
    """Write `rows` under `schema`; a key that a row lacks is null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="zstd")


def read(path: Path) -> pa.Table:
    """Read a whole file. Raises EvidenceError when it is not Parquet."""
    try:
        return pq.ParquetFile(path).read()
    except (pa.ArrowInvalid, OSError) as error:
        raise EvidenceError(
            f"is not a Parquet file ({str(error).splitlines()[0]})", where=str(path), todo="restore it from git"
        ) from None
