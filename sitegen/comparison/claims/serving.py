"""Claims about requests, from the phases of the time to a result and what the client saw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from ledger.run import Role
from sitegen.comparison.claims import batching
from sitegen.comparison.claims.facts import ALIKE, MATTERS, Facts
from sitegen.comparison.explanation import Claim
from sitegen.format import number, seconds, share, times

SATURATED = 0.95
"""Share of the offered load below which a side does not keep up."""
QUEUE = ("phase.client_wait", "phase.first_token")
"""Parts of the time to a result that grow where requests pile up."""


def _phase(facts: Facts, name: str) -> float | None:
    """Seconds that the slower side spends more in a phase of a result, where they matter."""
    more = facts.more(name)
    return more if facts.slower is not None and facts.share_of(more) >= MATTERS else None


def _slow_fast(facts: Facts) -> tuple[str, str]:
    slower = facts.slower or 0
    return facts.names[slower], facts.names[1 - slower]


def _accounts(facts: Facts, amount: float) -> str:
    return f"that accounts for {share(facts.share_of(amount))} of the difference in the time to a result"


def saturated(facts: Facts) -> Iterable[Claim]:
    """A side that does not carry the load that is offered: its latency grows with the length of the run."""
    for side in (0, 1):
        carried = facts.mean(side, "achieved_load")
        if carried is not None and carried < SATURATED:
            yield facts.claim(
                "saturated",
                f"{facts.names[side]} carries {share(carried)} of the offered load: requests pile up, and its latency "
                "is that of the queue, not of the server.",
                metrics=("achieved_load", "request_throughput", "e2e.mean"),
                parts=QUEUE if facts.slower == side and _queues(facts) and not batching.starved(facts) else (),
                refuted_by="a longer run at this load has no longer latency",
                intervention="offer both sides a load that both carry",
                role=Role.TIMED,
            )


def _queues(facts: Facts) -> bool:
    return facts.share_of(sum(map(facts.more, QUEUE))) >= MATTERS


def starved(facts: Facts) -> Iterable[Claim]:
    """Requests wait while few are worked on at once: the time of an iteration is spent on a small batch."""
    found, more = batching.starved(facts), _phase(facts, "phase.first_token")
    if found is None or more is None:
        return
    (slow, fast), room = _slow_fast(facts), math.ceil(found.in_flight)
    yield facts.claim(
        "batch_starvation",
        f"Of {number(found.in_flight)} requests in flight {slow} decodes {number(found.batch)} at once, {found.why}; "
        f"of {number(found.other_in_flight)} {fast} decodes {number(found.other_batch)}. The first token of {slow} "
        f"comes {seconds(more)} later; {_accounts(facts, more)}.",
        metrics=(
            "requests_in_flight",
            "decoding_at_once",
            "queue_time",
            "phase.first_token",
            "tpot.mean",
            "output_token_throughput",
        ),
        parts=("phase.first_token",),
        refuted_by=f"with room for {room} requests at once the first token of {slow} comes as late",
        intervention=f"give {slow} room for {room} requests at once"
        + (f" instead of {found.setting}" if found.setting else ""),
        role=Role.TIMED,
    )


def small_batches(facts: Facts) -> Iterable[Claim]:
    """The load, and no limit, keeps a side's batches small: what a token costs then is that of this load."""
    for side in (0, 1):
        found = batching.limit_of(facts, side)
        in_flight = facts.mean(side, "requests_in_flight")
        if found is None or in_flight is None or in_flight > found.most / 2:
            continue
        name = facts.names[side]
        yield facts.claim(
            "small_batches",
            f"{name} has {number(in_flight)} requests in flight, where {found.setting} allows more at once: the load "
            "keeps its batches small, so device time a token is that of this load, not of its capacity.",
            metrics=("requests_in_flight", "decoding_at_once", "output_token_throughput"),
            refuted_by=f"with twice as many requests in flight {name} gives no more tokens a second",
            intervention="offer both sides a higher load, or sweep it",
            role=Role.TIMED,
        )


def client_wait(facts: Facts) -> Iterable[Claim]:
    """Requests that were sent later than they were due."""
    more = _phase(facts, "phase.client_wait")
    if more is None:
        return
    slow, fast = _slow_fast(facts)
    yield facts.claim(
        "client_wait",
        f"Requests to {slow} are sent {seconds(more)} later after they are due than those to {fast}; "
        f"{_accounts(facts, more)}.",
        metrics=("phase.client_wait",),
        parts=("phase.client_wait",),
        refuted_by="a client with more connections or cores sends them in time, and it takes as long",
        intervention="drive the load from another machine, or with more connections",
        role=Role.TIMED,
    )


def first_token(facts: Facts) -> Iterable[Claim]:
    """A longer way to the first token: queueing before prefill where the server tells it, else prefill or both."""
    more = _phase(facts, "phase.first_token")
    if more is None or any(_is_saturated(facts, side) for side in (0, 1)) or batching.starved(facts):
        return
    slow, fast = _slow_fast(facts)
    refuted = "at one request in flight the first token comes as late"
    queues, side = facts.both("queue_time"), facts.slower or 0
    waiting = queues[side] - queues[1 - side] if queues else None
    if waiting is not None and waiting >= more / 2:
        code, why = "queueing_before_prefill", f"{seconds(waiting)} of it waiting in the server's queue"
        todo = f"let {slow} take more requests at once, or offer less load"
    elif waiting is not None:
        code, why = "slower_prefill", "working on the input, not waiting in the server's queue"
        todo = f"compare both sides' prefill at one request in flight, with {fast}'s prefix cache off"
        refuted = "at one request in flight the first token comes no later"
    else:
        code, why = "slower_first_token", "waiting or working on the input: not every server tells which"
        todo = "repeat both at one request in flight, where nothing queues"
    yield facts.claim(
        code,
        f"The first token of {slow} comes {seconds(more)} later after the send than that of {fast}, {why}; "
        f"{_accounts(facts, more)}.",
        metrics=("phase.first_token", "ttft.mean", "queue_time"),
        parts=("phase.first_token",),
        refuted_by=refuted,
        intervention=todo,
        role=Role.TIMED,
    )


def decode(facts: Facts) -> Iterable[Claim]:
    """A longer way from the first token to the last: slower tokens, or more of them."""
    more = _phase(facts, "phase.decode")
    if more is None:
        return
    slow, fast = _slow_fast(facts)
    pace, tokens = facts.ratio("tpot.mean"), _tokens_ratio(facts)
    if tokens is not None and tokens > 1 + ALIKE and (pace is None or pace < tokens):
        code, why = "longer_answers", f"its answers have {times(tokens)} times as many tokens"
        refuted, todo = "answers of equal length take as long", "hold the length of answers the same on both sides"
    elif pace is not None and (bound := batching.memory_bound(facts, pace)) is not None:
        code, why = "memory_bound_decode", f"a token takes {times(pace)} times as long, and {bound}"
        refuted = f"with weights of fewer bytes a token of {slow} takes as long, or it takes longer in a larger batch"
        todo = f"serve {slow} with weights of fewer bytes (a lower precision, quantization), all else the same"
    else:
        code = "slower_decode"
        why = f"a token takes {times(pace)} times as long" if pace and pace > 1 else "each token takes longer"
        refuted, todo = "at one request in flight a token takes as long on both", "repeat both at one request in flight"
    yield facts.claim(
        code,
        f"From its first token to its last {slow} takes {seconds(more)} longer than {fast}: {why}; "
        f"{_accounts(facts, more)}.",
        metrics=(
            "phase.decode",
            "tpot.mean",
            "output_token_throughput",
            "request_throughput",
            *(batching.MEMORY if code == "memory_bound_decode" else ()),
        ),
        parts=("phase.decode",),
        refuted_by=refuted,
        intervention=todo,
        role=Role.TIMED,
    )


def _is_saturated(facts: Facts, side: int) -> bool:
    carried = facts.mean(side, "achieved_load")
    return carried is not None and carried < SATURATED


def _tokens_ratio(facts: Facts) -> float | None:
    """Tokens of an answer, the slower side's over the other's."""
    tokens, requests = facts.ratio("output_token_throughput"), facts.ratio("request_throughput")
    return tokens / requests if tokens and requests else None


RULES: tuple[Callable[[Facts], Iterable[Claim]], ...] = (
    saturated,
    starved,
    client_wait,
    first_token,
    decode,
    small_batches,
)
