"""How a server's batches bound what it does: iterations that memory bounds, and requests that wait for room in a batch.

An iteration of decoding reads all weights once, whatever the batch; its arithmetic grows with the batch. So where a
token takes about as long in a large batch as in a small one, it is not arithmetic that it waits for. Reading as many
bytes then takes as long on both sides, or comes near to what the memory can do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ledger.run import Role
from sitegen.comparison.claims.facts import ALIKE, Facts
from sitegen.format import share, times

NEAR_PEAK = 0.5
"""Share of the memory's peak bandwidth from which reading weights alone is called what bounds decoding."""
HARDLY_GROWS = 0.5
"""Exponent of a token's time over the batch up to which it hardly grows: 1 is that of arithmetic alone."""
SMALLER = 1.25
"""Factor from which two sides' bytes, batches or queues are called apart."""
CROWDED = 1.5
"""Requests in flight over those that are worked on at once, from which most of a queue is waiting for room."""
LIMITS = ("max_num_seqs", "parallel")
"""Settings that say how many requests are worked on at once."""
BATCHING = "continuous_batching"
"""The setting that says whether requests are batched at all."""
MEMORY = ("weight_bytes", "weight_read_rate", "mbu", "decode_growth", "decoding_at_once")
"""What stands beside a claim that memory bounds decoding."""


@dataclass(frozen=True)
class Limit:
    """The most requests that a side works on at once."""

    setting: str
    """What sets it, `max_num_seqs=4`."""
    most: int


@dataclass(frozen=True)
class Starved:
    """The slower side's requests wait for room, the other's do not, or less."""

    batch: float
    in_flight: float
    other_batch: float
    other_in_flight: float
    why: str
    setting: str | None
    """The limit's, where it is known that a limit is what they wait for."""


def memory_bound(facts: Facts, pace: float) -> str | None:
    """Words on why the slower side's decoding is bound by memory bandwidth; None where nothing shows that.

    `pace` is its time a token over the other's.
    """
    side = facts.slower or 0
    growth, used = facts.mean(side, "decode_growth"), facts.mean(side, "mbu")
    if growth is not None and growth > HARDLY_GROWS:
        return None
    if used is not None and used >= NEAR_PEAK:
        return f"reading its weights uses {share(used)} of the memory's peak bandwidth"
    weights = facts.ratio("weight_bytes")
    if growth is None or weights is None or weights < SMALLER or abs(math.log(pace / weights)) > math.log(SMALLER):
        return None
    return (
        f"an iteration reads {times(weights)} times as many bytes of weights, while a token's time hardly grows with "
        "the batch"
    )


def starved(facts: Facts) -> Starved | None:
    """Whether the slower side works on few requests at once while others wait for room."""
    in_flight, batch = facts.both("requests_in_flight"), facts.both("decoding_at_once")
    if facts.slower is None or in_flight is None or batch is None:
        return None
    slow, fast = facts.slower, 1 - facts.slower
    growth = facts.mean(slow, "decode_growth")
    if growth is not None and growth > HARDLY_GROWS:
        return None  # a larger batch would take as much longer
    crowds = [one / other for one, other in zip(in_flight, batch, strict=True)]
    if crowds[slow] < CROWDED or crowds[slow] < SMALLER * crowds[fast]:
        return None
    limit = limit_of(facts, slow)
    if limit is not None and in_flight[slow] >= CROWDED * limit.most:
        why, setting = f"as {limit.setting} allows no more", limit.setting
    elif _waits(facts, slow):
        why, setting = "and most of the difference is waiting in the server's queue", None
    else:
        return None
    return Starved(batch[slow], in_flight[slow], batch[fast], in_flight[fast], why, setting)


def limit_of(facts: Facts, side: int) -> Limit | None:
    """The limit that all timed launches of a side ran under; None where they tell none.

    A server told not to batch works on one request at once; the client must have seen no more than that.
    """
    for name in LIMITS:
        text = _setting(facts, side, name)
        if text.isdecimal() and int(text) > 0:
            return Limit(f"{name}={text}", int(text))
    batch = facts.mean(side, "decoding_at_once")
    if _setting(facts, side, BATCHING) == "false" and batch is not None and batch <= 1 + ALIKE:
        return Limit(f"{BATCHING}=false", 1)
    return None


def _setting(facts: Facts, side: int, name: str) -> str:
    """A setting of all timed launches of a side, as text; empty where they do not all have the same."""
    found = {run.fields.get(f"setting.{name}", "") for run in facts.runs(side, Role.TIMED)}
    return found.pop() if len(found) == 1 else ""


def _waits(facts: Facts, side: int) -> bool:
    """Whether at least half of what the first token comes later is waiting in the slower side's queue."""
    queues, more = facts.both("queue_time"), facts.more("phase.first_token")
    return queues is not None and queues[side] - queues[1 - side] >= more / 2 > 0
