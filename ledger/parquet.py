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

REQUESTS = pa.schema(
    [
        ("request", pa.int32()),  # order in which they were due, from 0, in each phase and level
        ("item", pa.string()),  # name of the prompt or the task: the unit of quality
        ("attempt", pa.int32()),  # at this item in this launch, from 1
        ("phase", pa.string()),  # warmup, measured, sweep or profiled
        ("level", pa.float64()),  # offered requests a second, requests in flight, or times production's rate
        ("scheduled_ns", pa.int64()),  # since the phase's start; null in a closed loop
        ("sent_ns", pa.int64()),
        ("first_token_ns", pa.int64()),  # null when none came
        ("ended_ns", pa.int64()),  # last token, or the error
        ("chunk_gaps_ns", pa.list_(pa.int64())),  # between chunks with content, in order
        ("one_token_a_chunk", pa.bool_()),  # whether the chunks are as many as the output's tokens
        ("queue_ns", pa.int64()),  # where the server tells it
        ("input_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),  # of the input, as the server tells
        ("output_tokens", pa.int64()),
        ("text", pa.string()),
        ("finish_reason", pa.string()),
        ("error", pa.string()),  # one line; null when it was answered
        ("accepted", pa.bool_()),  # null when it could not be judged
        ("why", pa.string()),  # why it was not accepted
    ]
)
"""samples/requests.parquet: one row a request (serving), or an attempt at a task (tasks)."""

TELEMETRY = pa.schema(
    [
        ("elapsed_ns", pa.int64()),  # since the launch
        ("device", pa.string()),  # host, gpu0, gpu1, …
        ("utilisation", pa.float64()),  # share of the device's capacity, 0 to 1
        ("memory_bytes", pa.int64()),  # host: resident set of the trial's processes; gpu: used memory
        ("power_w", pa.float64()),
        ("energy_j", pa.float64()),  # the device's own counter, since the launch
        ("clock_hz", pa.int64()),  # host: the processors' mean; gpu: its multiprocessors
        ("memory_activity", pa.float64()),  # share of the time in which device memory was read or written, 0 to 1
        ("memory_clock_hz", pa.int64()),
        ("temperature_c", pa.float64()),
        (
            "throttled_by",
            pa.list_(pa.string()),
        ),  # what holds the clocks down (`sw_power_cap`, …); empty when nothing does
        ("pcie_received_bytes_per_s", pa.float64()),
        ("pcie_sent_bytes_per_s", pa.float64()),
        ("pcie_replays", pa.int64()),  # since the launch, as all below but the last two
        ("nvlink_received_bytes", pa.int64()),  # over all links
        ("nvlink_sent_bytes", pa.int64()),
        ("cpu_stall_s", pa.float64()),  # time in which a task at least waited for a processor (pressure, `some`)
        ("memory_stall_s", pa.float64()),
        ("io_stall_s", pa.float64()),
        ("disk_read_bytes", pa.int64()),  # the whole host's
        ("disk_written_bytes", pa.int64()),
        ("network_received_bytes", pa.int64()),  # over all interfaces but loopback
        ("network_sent_bytes", pa.int64()),
        ("in_use", pa.bool_()),  # whether a process of the trial computes on the device
        ("trial_memory_bytes", pa.int64()),  # device memory of the trial's processes
    ]
)
"""samples/telemetry.parquet: one row a sample a device; null where there is no sensor. Columns are only added."""

_ADDED = frozenset(TELEMETRY.names[7:])
"""Columns that the first runs' telemetry does not have."""


def write(path: Path, rows: list[dict[str, object]], schema: pa.Schema) -> None:
    """Write `rows` under `schema`; a key that a row lacks is null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="zstd")


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """`table` under `schema`: columns that came later are null, others must be there. Raises KeyError, ArrowInvalid."""
    for name in schema.names:
        if name in _ADDED and name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, schema.field(name).type))
    return table.select(schema.names).cast(schema)


def read(path: Path) -> pa.Table:
    """Read a whole file. Raises EvidenceError when it is not Parquet."""
    try:
        return pq.ParquetFile(path).read()
    except (pa.ArrowInvalid, OSError) as error:
        raise EvidenceError(
            f"is not a Parquet file ({str(error).splitlines()[0]})", where=str(path), todo="restore it from git"
        ) from None
