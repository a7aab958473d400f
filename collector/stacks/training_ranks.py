"""From what each rank measured to the steps of the whole job.

All ranks are on one host and read the same monotonic clock, so that their times stand on one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import pyarrow as pa

LOGS = "ranks"
"""Folder of each rank's own output, which torchrun writes."""

SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("rank", pa.int32()),
        ("phase", pa.string()),
        ("start_ns", pa.int64()),  # since the first step's start on any rank
        ("duration_ns", pa.int64()),
        ("loss", pa.float64()),  # nats a token, over this rank's slice of the batch
    ]
)
"""samples/ranks.parquet: one row an optimizer step a rank."""

Rows = list[dict[str, Any]]


def together(by_rank: Sequence[Rows]) -> Rows:
    """The steps that every rank finished, one row each: `step`, `phase`, `start_ns`, `duration_ns`, `loss`.

    A step lasts from the first rank that begins it, but not before the last one that ended the step before, until the
    last rank has ended it: steps never overlap, none of the job's time is counted twice, and no barrier is needed that
    the training itself does not have. For one rank that is its own time. The loss is the mean over the ranks, whose
    slices of the batch are equally large.
    """
    found: Rows = []
    ended = origin = _origin(by_rank)
    for rows in zip(*map(_in_order, by_rank), strict=False):
        start = max(ended, min(row["start_ns"] for row in rows))
        ended = max(start, *(row["start_ns"] + row["duration_ns"] for row in rows))
        whole = {"step": rows[0]["step"], "phase": rows[0]["phase"], "loss": _mean([row["loss"] for row in rows])}
        found.append({**whole, "start_ns": start - origin, "duration_ns": ended - start})
    return found


def rows(by_rank: Sequence[Rows]) -> Rows:
    """Each rank's own rows, by step and rank."""
    origin = _origin(by_rank)
    every = [
        {**row, "rank": rank, "start_ns": row["start_ns"] - origin} for rank, own in enumerate(by_rank) for row in own
    ]
    return sorted(every, key=lambda row: (row["step"], row["rank"]))


def _origin(by_rank: Sequence[Rows]) -> int:
    return min((row["start_ns"] for own in by_rank for row in own), default=0)


def _in_order(own: Rows) -> Rows:
    """A rank's rows up to the first that is not the next step."""
    return [row for _, row in takewhile(lambda each: each[0] == each[1]["step"], enumerate(own))]


def _mean(losses: list[float | None]) -> float | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known) / len(known) if len(known) == len(losses) else None
