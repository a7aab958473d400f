"""Collectives of one or more ranks: what was moved, for how long, and how much of it was waiting for the last rank.

Bytes and bandwidths are counted as nccl-tests does, which holds where no switch reduces:
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ledger.traces.breakdown import explain
from ledger.traces.collective_calls import CALLED, of_rank
from ledger.traces.collective_ranks import Split, split
from ledger.traces.collective_sizes import integers, nullable
from ledger.traces.interface import Int64
from ledger.traces.trace import Trace

__all__ = ["COLLECTIVES", "across", "bus_factor", "collectives", "notes", "of_rank", "unsplit"]

COLLECTIVES = pa.schema(
    [
        ("trace", pa.int32()),  # place of the rank's trace among those given, from 0
        *CALLED,
        ("peer_wait_ns", pa.int64()),  # until the last rank arrived; null where not all ranks of the group are there
        ("transfer_ns", pa.int64()),  # the rest
        ("last_rank", pa.int32()),  # the rank that arrived last
        ("algorithm_bandwidth", pa.float64()),  # bytes a second of transfer; null where nothing is moved
        ("bus_bandwidth", pa.float64()),
    ]
)
"""One row a collective a rank. Null: not known."""

_UNSPLIT = b"stackproof_unsplit"
_NOTES = b"stackproof_notes"
_SHARED = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
_WHOLE = ("broadcast", "reduce", "send", "recv", "send_recv")


def collectives(traces: Sequence[Trace]) -> pa.Table:
    """The collectives of the ranks of one run: schema COLLECTIVES, in the order of the traces, then of their start."""
    return across([of_rank(trace, explain(trace)) for trace in traces])


def across(ranks: Sequence[pa.Table]) -> pa.Table:
    """The table of all ranks' collectives (of each its `of_rank`), waiting told from transfer where every rank of a
    group is there; `unsplit` and `notes` tell of it what its rows cannot."""
    place = np.repeat(np.arange(len(ranks)), [len(each) for each in ranks])
    calls = pa.concat_tables(ranks) if ranks else CALLED.empty_table()
    calls = calls.add_column(0, COLLECTIVES.field("trace"), [pa.array(place, pa.int32())])
    numbers = [each["rank"][0].as_py() if len(each) else None for each in ranks]
    found = split(calls, numbers)
    table = _measured(calls, found, numbers)
    told = {_UNSPLIT: "; ".join(found.unsplit), _NOTES: "\n".join(found.notes)}
    return table.replace_schema_metadata({key: text for key, text in told.items() if text} or None)


def unsplit(table: pa.Table) -> str | None:
    """Why waiting and transfer could not be told apart; None where they were, or there was nothing to tell."""
    found = (table.schema.metadata or {}).get(_UNSPLIT)
    return None if found is None else found.decode()


def notes(table: pa.Table) -> tuple[str, ...]:
    """What was estimated to tell waiting from transfer, such as a difference of clocks: a line each."""
    return tuple((table.schema.metadata or {}).get(_NOTES, b"").decode().splitlines())


def bus_factor(operation: str, size: int | None) -> float | None:
    """What a bus carries of each byte of the full buffer, as nccl-tests has it; None where that is not defined."""
    if not size or size < 2:
        return None
    if operation == "all_reduce":
        return 2 * (size - 1) / size
    if operation in _SHARED:
        return (size - 1) / size
    return 1.0 if operation in _WHOLE else None


def _measured(calls: pa.Table, found: Split, numbers: Sequence[int | None]) -> pa.Table:
    """The calls with their waits and bandwidths."""
    known = found.wait >= 0
    transfer = np.where(known, integers(calls["duration_ns"]) - found.wait, -1)
    moved, size = integers(calls["bytes"]), integers(calls["group_size"])
    speed = np.full(len(calls), np.nan)
    measured = (moved > 0) & (transfer > 0) & (size > 1)
    speed[measured] = moved[measured] / transfer[measured] * 1e9
    bus = speed * _factors(calls["operation"], size)
    added = {
        "peer_wait_ns": nullable(found.wait),
        "transfer_ns": nullable(transfer),
        "last_rank": pa.array(numbers, pa.int32()).take(pa.array(found.last, mask=~known)),
        "algorithm_bandwidth": pa.array(speed, mask=np.isnan(speed)),
        "bus_bandwidth": pa.array(bus, mask=np.isnan(bus)),
    }
    columns = [added[name] if name in added else calls[name] for name in COLLECTIVES.names]
    return pa.table(columns, schema=COLLECTIVES)


def _factors(operation: pa.ChunkedArray, size: Int64) -> npt.NDArray[np.float64]:
    """The bus factor of each call, NaN where there is none."""
    codes = operation.combine_chunks().dictionary_encode()
    index = codes.indices.to_numpy().astype(np.int64)
    pairs, inverse = np.unique(np.stack([index, size]), axis=1, return_inverse=True)
    words = codes.dictionary.to_pylist()
    factors = [bus_factor(words[word], count) for word, count in pairs.T.tolist()]
    return np.array([np.nan if each is None else each for each in factors], dtype=np.float64)[inverse.ravel()]
