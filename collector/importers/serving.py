"""What results of serving clients share: what they cannot show, runs without an answer, percentiles of too few."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from collector.importers import values
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.values import Absent

BEYOND = 10
"""Requests beyond a percentile that it needs, as stackproof's own definitions have it."""
NO_ANSWER = "no request was answered"
_PERCENTILE = re.compile(r"\.p(\d+)(@|$)")
_LATENCY = re.compile(r"(ttft|tpot|itl|inter_chunk_gap|e2e)\.")


def describe(draft: Draft) -> None:
    """What no serving client's result can show."""
    draft.workload.setdefault("kind", "serve")
    draft.cannot_show |= {
        "quality": "no answer was judged",
        "cost": "the file holds no price",
        "work_per_step": "serving has no steps of fixed work",
        "trace": "the file names none",
    }
    draft.cannot_show.setdefault("repeats", "one run")
    draft.cannot_show.setdefault("requests", "the file holds no single requests")


def take_all(draft: Draft, dialect: Dialect, record: dict[str, Any], answered: int | None) -> None:
    """Every metric of the dialect that the record holds; none where nothing was answered, and no latency of 0."""
    for name, entry in dialect.entries.items():
        if name not in record:
            continue
        found = entry.read(record[name])
        if answered == 0 and not entry.metric.startswith("error_rate"):
            found = Absent(NO_ANSWER)
        elif found == 0 and _LATENCY.match(entry.metric):
            found = Absent("0 there stands for nothing: the answers were not streamed, or had one token")
        draft.keep(entry.metric, found)


def end(draft: Draft, answered: int | None, failed: int | None) -> None:
    """Set what came of it: failed when nothing was answered; told when a percentile comes from few requests."""
    if answered == 0:
        draft.state = "failed"
        draft.failure = f"all {failed} requests failed" if failed else NO_ANSWER
        return
    if failed:
        draft.problem("failed_requests", f"{failed} of {failed + (answered or 0)} requests failed")
    if answered is None:
        return
    few = sorted({percentile for percentile in _percentiles(draft.values) if answered < needed(percentile)})
    if few:
        told = ", ".join(f"p{percentile} needs {needed(percentile):,}" for percentile in few)
        draft.problem("few_requests", f"percentiles from {answered:,} requests: {told}")


def needed(percentile: int) -> int:
    """Requests that a percentile needs to have ten beyond it."""
    return math.ceil(BEYOND * 100 / min(percentile, 100 - percentile)) if 0 < percentile < 100 else BEYOND


def _percentiles(metrics: Iterable[str]) -> Iterable[int]:
    for metric in metrics:
        match = _PERCENTILE.search(metric)
        if match and int(match[1]) > 50:
            yield int(match[1])


def rate(raw: Any) -> float | None:
    """A request rate; None where requests are sent as fast as they can be (`inf`)."""
    found = values.number(raw, "1/s", "1/s")
    return found if isinstance(found, float) and found > 0 else None
