"""Serving metrics from the client's record of every request (samples/requests.parquet)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ledger.metrics import load_levels, server_counters
from ledger.metrics.registry import Missing, Result, metric
from ledger.metrics.requests import MEASURED, SWEEP, Requests, levels, of_phase
from ledger.metrics.tables import Tables

REQUESTS = "samples/requests.parquet"
SUMMARY = "samples/summary.json"
BENCHMARK = "benchmark.yaml"
ASKED = ("serve", "tasks", "command")
"""Workloads that are done in requests or attempts."""
SERVED = ("serve", "command")
NO_REQUESTS = Missing("the trial recorded no measured request")
SOURCE = "stackproof: the client's monotonic clock"
QUEUE = "vllm:request_queue_time_seconds"
"""vLLM's histogram of the time between a request's arrival in its engine and its first schedule."""

_STATISTICS = {
    "mean": ("mean", "Mean"),
    "p50": ("median", "Median"),
    "p95": ("95th percentile", "95th percentile"),
    "p99": ("99th percentile", "99th percentile"),
}
_LATENCIES = {
    "ttft": (
        "Time to first token",
        "the time from a request's start to its first token; an open loop starts it when it was due",
        SERVED,
    ),
    "e2e": (
        "Time to the whole result",
        "the time from a request's or attempt's start to its end; an open loop starts it when it was due",
        ASKED,
    ),
    "tpot": (
        "Time per output token",
        "a request's time from its first to its last token, divided by its output tokens but one",
        SERVED,
    ),
}


def measured(tables: Tables) -> Requests | None:
    """The requests of the declared level, warm-up left out."""
    return of_phase(tables.requests, MEASURED)


def _latency(family: str, statistic: str) -> Callable[[Tables], Result]:
    def compute(tables: Tables) -> Result:
        requests = measured(tables)
        if requests is None:
            return NO_REQUESTS
        found = load_levels.latency(requests, f"{family}.{statistic}")
        return Missing("is no latency") if found is None else found

    return compute


for _family, (_title, _words, _kinds) in _LATENCIES.items():
    for _statistic, (_short, _long) in _STATISTICS.items():
        metric(
            f"{_family}.{_statistic}",
            title=f"{_title} ({_short})",
            unit="s",
            direction="lower",
            definition=f"{_long} over answered requests of {_words}.",
            inputs=(REQUESTS,),
            source=SOURCE,
            kinds=_kinds,
        )(_latency(_family, _statistic))


def _gaps(tables: Tables, statistic: str, *, tokens: bool) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    if requests.one_token_a_chunk is not tokens:
        return Missing(
            "the chunks are not proven to be single tokens" if tokens else "each chunk is one token: see itl"
        )
    return load_levels.statistic(requests.gaps, statistic, "gaps")


def _gap_metrics(family: str, title: str, words: str, *, tokens: bool) -> None:
    for statistic, (short, long) in _STATISTICS.items():

        def compute(tables: Tables, statistic: str = statistic) -> Result:
            return _gaps(tables, statistic, tokens=tokens)

        metric(
            f"{family}.{statistic}",
            title=f"{title} ({short})",
            unit="s",
            direction="lower",
            definition=f"{long} over the gaps between {words}, of all answered requests together.",
            inputs=(REQUESTS,),
            source=SOURCE,
            kinds=SERVED,
        )(compute)


_gap_metrics("itl", "Inter-token latency", "tokens, where every chunk is proven to hold one", tokens=True)
_gap_metrics("inter_chunk_gap", "Gap between chunks", "chunks that may hold several tokens", tokens=False)


@metric(
    "queue_time",
    title="Queue time",
    unit="s",
    direction="lower",
    definition="Mean time that answered requests waited in the server's queue, as the server tells it.",
    inputs=(REQUESTS,),
    source="the server's own metrics",
    kinds=SERVED,
)
def queue_time(tables: Tables) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    values = requests.latency("queue_time")
    if values is None or np.isnan(values).all():
        return Missing("the server does not tell how long requests wait")
    return load_levels.statistic(values, "mean")


@metric(
    "queue_time",
    version=2,
    title="Queue time",
    unit="s",
    direction="lower",
    definition="Mean time that requests waited in the server's queue, as the server tells it: of each answered "
    "request, else by its counters over the whole launch, warm-up included; absent where these count several levels of "
    "load.",
    inputs=(REQUESTS, *server_counters.FILES),
    source="the server's own metrics: vLLM's request_queue_time_seconds, from arrival in its engine to being scheduled",
    kinds=SERVED,
)
def queue_time_counted(tables: Tables) -> Result:
    found = queue_time(tables)
    if not isinstance(found, Missing) or measured(tables) is None:
        return found
    waited, requests = (server_counters.growth(tables.folder, f"{QUEUE}_{each}") for each in ("sum", "count"))
    if waited is None or not requests:
        return found
    if of_phase(tables.requests, SWEEP) is not None:
        return Missing("the server counts the queue over all driven levels of load together")
    return waited / requests


@metric(
    "request_throughput",
    title="Request throughput",
    unit="1/s",
    direction="higher",
    definition="Requests answered without an error a second, from the first one's start to the last one's end.",
    inputs=(REQUESTS,),
    source=SOURCE,
    kinds=ASKED,
)
def request_throughput(tables: Tables) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    return float(requests.answered.sum() / requests.span)


@metric(
    "output_token_throughput",
    title="Output token throughput",
    unit="tokens/s",
    direction="higher",
    definition="Output tokens of answered requests a second, from the first one's start to the last one's end.",
    inputs=(REQUESTS,),
    source=f"{SOURCE}; tokens as the server counts them, so not comparable between tokenizers",
    kinds=SERVED,
)
def output_token_throughput(tables: Tables) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    tokens = requests.output_tokens[requests.answered]
    if np.isnan(tokens).any():
        return Missing("not every answer says how many tokens it has")
    return float(tokens.sum() / requests.span)


def _phase(name: str, title: str, definition: str, first: str, last: str) -> None:
    def compute(tables: Tables) -> Result:
        requests = measured(tables)
        if requests is None:
            return NO_REQUESTS
        found = requests.phase(first, last)
        return Missing("no answered request tells when its first token came") if found is None else found

    metric(
        f"phase.{name}",
        title=title,
        unit="s",
        direction="lower",
        definition=definition,
        inputs=(REQUESTS,),
        source=f"{SOURCE}; the phases of a request add up to its time to the whole result",
        kinds=SERVED,
    )(compute)


_phase(
    "client_wait",
    "Wait before sending",
    "Mean time from when an answered request was due until the client had sent it.",
    "start",
    "sent",
)
_phase(
    "first_token",
    "Queue and prompt",
    "Mean time from sending an answered request to its first token: network, queue and prefill.",
    "sent",
    "first_token",
)
_phase(
    "decode",
    "Output",
    "Mean time from an answered request's first token to its last.",
    "first_token",
    "ended",
)


@metric(
    "goodput",
    title="Goodput",
    unit="1/s",
    direction="higher",
    definition="Requests that hold every latency limit of the envelope and were accepted, a second.",
    inputs=(REQUESTS, BENCHMARK),
    source=f"{SOURCE}; limits as the launch's own benchmark file declares them",
    kinds=SERVED,
)
def goodput(tables: Tables) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    if tables.benchmark is None:
        return Missing("the run folder does not say which limits were declared")
    if np.isnan(requests.accepted).all():
        return Missing("no result could be judged")
    good = load_levels.within_limits(requests, tables.benchmark.envelope.limits) & (requests.accepted == 1)
    return float(good.sum() / requests.span)


@metric(
    "error_rate",
    title="Error rate",
    unit="share",
    direction="lower",
    definition="Share of measured requests that ended with an error.",
    inputs=(REQUESTS,),
    source=SOURCE,
    kinds=ASKED,
)
def error_rate(tables: Tables) -> Result:
    requests = measured(tables)
    return NO_REQUESTS if requests is None else load_levels.error_rate(requests)


@metric(
    "request_reliability",
    title="Request reliability",
    unit="share",
    direction="higher",
    definition="Share of measured requests that were answered without an error.",
    inputs=(REQUESTS,),
    source=SOURCE,
    kinds=ASKED,
)
def request_reliability(tables: Tables) -> Result:
    requests = measured(tables)
    return NO_REQUESTS if requests is None else 1 - load_levels.error_rate(requests)


@metric(
    "achieved_load",
    title="Achieved load",
    unit="share",
    direction="higher",
    definition="Share of the offered load that was carried; below 95 % the server is saturated.",
    inputs=(REQUESTS,),
    source=SOURCE,
    kinds=("serve",),
)
def achieved_load(tables: Tables) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    found = requests.achieved
    return Missing("a closed loop offers no load by a clock") if found is None else found


@metric(
    "capacity",
    title="Capacity",
    unit="level",
    direction="higher",
    definition="The highest driven level of load at which every limit of the envelope held, and at all lower ones too.",
    inputs=(REQUESTS, BENCHMARK),
    source=f"{SOURCE}; levels are requests a second, requests in flight, or times production's rate",
    kinds=("serve",),
)
def capacity(tables: Tables) -> Result:
    found = at_capacity(tables)
    return found if isinstance(found, Missing) else found[0]


def at_capacity(tables: Tables) -> tuple[float, Requests] | Missing:
    """(level, its requests) of the highest driven level that holds, with all below it."""
    driven = levels(tables.requests)
    if not driven:
        return NO_REQUESTS
    if tables.benchmark is None:
        return Missing("the run folder does not say which limits were declared")
    best: tuple[float, Requests] | None = None
    for level, requests in driven:
        problem = load_levels.breaks(requests, tables.benchmark.envelope.limits)
        if problem is not None:
            break
        best = level, requests
    return best if best is not None else Missing(f"no driven level holds the envelope: at {driven[0][0]:g}, {problem}")


@metric(
    "startup_time",
    title="Start-up time",
    unit="s",
    direction="lower",
    definition="Time from the start of the server's process until it answered that it is healthy.",
    inputs=(SUMMARY,),
    source=SOURCE,
    kinds=("serve", "tasks"),
)
def startup_time(tables: Tables) -> Result:
    value = tables.summary.get("startup_s")
    return float(value) if value is not None else Missing("no server was started for this launch")
