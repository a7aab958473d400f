"""The requests of one phase at one level of load, as columns that metrics are computed from.

Shapes: every array has one entry a request, in the order in which they were due. Times are seconds; NaN where there is
none. Tasks are requests too: one a attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MEASURED, SWEEP = "measured", "sweep"
BEYOND = 10
"""Requests that must lie beyond a percentile: p95 needs 200 of them, p99 1,000 (shared with every launch's judge)."""


@dataclass(frozen=True)
class Requests:
    """Some rows of samples/requests.parquet."""

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def is_open(self) -> bool:
        """Whether requests were sent by a clock: then latency runs from the scheduled time."""
        return len(self) > 0 and self.table["scheduled_ns"].null_count == 0

    @cached_property
    def start(self) -> Floats:
        """When each was due (open loop) or sent (closed loop)."""
        return self._seconds("scheduled_ns" if self.is_open else "sent_ns")

    @cached_property
    def sent(self) -> Floats:
        """When each was sent."""
        return self._seconds("sent_ns")

    @cached_property
    def ended(self) -> Floats:
        """When each ended, well or not."""
        return self._seconds("ended_ns")

    @cached_property
    def answered(self) -> Flags:
        """Whether each was answered without an error."""
        flags: Flags = np.asarray(pc.is_null(self.table["error"]).to_numpy(zero_copy_only=False), dtype=np.bool_)
        return flags

    @cached_property
    def accepted(self) -> Floats:
        """1 for an accepted result, 0 for any other; NaN where it could not be judged."""
        judged = self.table["accepted"].to_pylist()
        return np.array([np.nan if each is None else float(each) for each in judged])

    @cached_property
    def items(self) -> list[str | None]:
        """The prompt or task of each."""
        found: list[str | None] = self.table["item"].to_pylist()
        return found

    @cached_property
    def output_tokens(self) -> Floats:
        """Tokens of each answer."""
        return self._floats("output_tokens")

    def latency(self, family: str) -> Floats | None:
        """One latency for each request, NaN where it has none; None for what is no latency of a request."""
        if family == "ttft":
            return np.where(self.answered, self._seconds("first_token_ns") - self.start, np.nan)
        if family == "e2e":
            return np.where(self.answered, self.ended - self.start, np.nan)
        if family == "tpot":
            after = np.where(self.output_tokens > 1, self.output_tokens - 1, np.nan)
            return np.where(self.answered, (self.ended - self._seconds("first_token_ns")) / after, np.nan)
        if family == "queue_time":
            return np.where(self.answered, self._seconds("queue_ns"), np.nan)
        return None

    def phase(self, first: str, last: str) -> float | None:
        """Mean seconds between two moments of answered requests that tell all of theirs; None where none does."""
        moments = {
            "start": self.start,
            "sent": self.sent,
            "first_token": self._seconds("first_token_ns"),
            "ended": self.ended,
        }
        whole = self.answered & ~np.isnan(np.array(list(moments.values()))).any(axis=0)
        return float((moments[last] - moments[first])[whole].mean()) if whole.any() else None

    @cached_property
    def gaps(self) -> Floats:
        """Gaps between chunks with content, of all answered requests together."""
        rows = self.table.filter(pa.array(self.answered))["chunk_gaps_ns"].to_pylist()
        return np.array([gap for row in rows if row for gap in row], dtype=np.float64) / 1e9

    @cached_property
    def one_token_a_chunk(self) -> bool:
        """Whether every answered request proves that its chunks are its tokens."""
        flags = self.table.filter(pa.array(self.answered))["one_token_a_chunk"].to_pylist()
        return bool(flags) and all(flags)

    @cached_property
    def span(self) -> float:
        """Seconds from the first one due to the last one ended."""
        return float(np.nanmax(self.ended) - np.nanmin(self.start)) if len(self) else 0.0

    @cached_property
    def in_flight(self) -> float | None:
        """Mean number that were sent and had not ended, while there was any; None where none took any time."""
        return _at_once(self.sent, self.ended)

    @cached_property
    def decoding_at_once(self) -> float | None:
        """Mean number of answered ones between first and last token, while there was any; None where none tells."""
        first = np.where(self.answered, self._seconds("first_token_ns"), np.nan)
        return _at_once(first, self.ended)

    @cached_property
    def offered(self) -> float | None:
        """Requests a second that the load asked for; None for a closed loop or a single request."""
        if not self.is_open or len(self) < 2:
            return None
        width = float(self.start.max() - self.start.min())
        return (len(self) - 1) / width if width > 0 else None

    @cached_property
    def achieved(self) -> float | None:
        """Share of the offered load that was carried, at most 1; None where nothing was offered by a clock.

        The offered rate lasts from the first request due to the last. A server that carries it is done with the last
        one a request's time later; the quickest request of the launch stands for that time.
        """
        if self.offered is None:
            return None
        width = (len(self) - 1) / self.offered
        late = self.span - float(np.nanmin(self.ended - self.start))
        return min(1.0, width / late) if late > 0 else 1.0

    def acceptance(self) -> dict[str, float]:
        """{item: share of its attempts that were accepted}, of items that could be judged at all."""
        found: dict[str, list[float]] = {}
        for index, (item, accepted) in enumerate(zip(self.items, self.accepted, strict=True)):
            if not np.isnan(accepted):
                found.setdefault(item if item is not None else f"#{index}", []).append(accepted)
        return {item: float(np.mean(attempts)) for item, attempts in found.items()}

    def _seconds(self, name: str) -> Floats:
        return self._floats(name) / 1e9

    def _floats(self, name: str) -> Floats:
        values: Any = self.table[name].to_numpy(zero_copy_only=False)
        return np.asarray(values, dtype=np.float64)


def _at_once(start: Floats, end: Floats) -> float | None:
    """Mean number of intervals that are open, over the time in which any is; None where none has a length."""
    known = ~np.isnan(start) & ~np.isnan(end) & (end > start)
    if not known.any():
        return None
    order = np.argsort(start[known], kind="stable")
    start, end = start[known][order], end[known][order]
    reached = np.maximum.accumulate(end)
    # Each interval adds what of it lies beyond the end of all that began before.
    before = np.concatenate(([-np.inf], reached[:-1]))
    covered = np.clip(end - np.maximum(start, before), 0, None).sum()
    return float((end - start).sum() / covered)


def of_phase(table: pa.Table | None, phase: str) -> Requests | None:
    """The requests of a phase; None where there is none."""
    if table is None:
        return None
    found = table.filter(pc.equal(table["phase"], phase))
    return Requests(found) if found.num_rows else None


def levels(table: pa.Table | None) -> list[tuple[float, Requests]]:
    """(level, its requests) of the declared level and of the sweep, lowest first; empty where no level is known."""
    if table is None:
        return []
    chosen = table.filter(pc.is_in(table["phase"], pa.array([MEASURED, SWEEP])))
    known = sorted({level for level in chosen["level"].to_pylist() if level is not None})
    return [(level, Requests(chosen.filter(pc.equal(chosen["level"], level)))) for level in known]
