"""What came of the work, and what each accepted result costs."""

from __future__ import annotations

import numpy as np

from ledger.metrics import load_levels
from ledger.metrics.definitions.serving import (
    ASKED,
    BENCHMARK,
    NO_REQUESTS,
    REQUESTS,
    SERVED,
    SOURCE,
    at_capacity,
    measured,
)
from ledger.metrics.registry import Missing, Result, metric
from ledger.metrics.requests import Requests
from ledger.metrics.tables import Tables

MONEY = "money"
"""The unit of costs: the currency that the benchmark file's prices are in."""


@metric(
    "acceptance_rate",
    title="Acceptance rate",
    unit="share",
    direction="higher",
    definition="Mean over items of the share of their attempts that were accepted; an attempt with an error is not.",
    inputs=(REQUESTS,),
    source="stackproof: the workload's own acceptance check",
    kinds=ASKED,
)
def acceptance_rate(tables: Tables) -> Result:
    requests = measured(tables)
    return NO_REQUESTS if requests is None else load_levels.acceptance_rate(requests)


@metric(
    "accepted_throughput",
    title="Accepted results",
    unit="1/s",
    direction="higher",
    definition="Accepted results of the declared load a second; for tasks, a second of the harness's own work.",
    inputs=(REQUESTS,),
    source=SOURCE,
    kinds=ASKED,
)
def accepted_throughput(tables: Tables) -> Result:
    requests = measured(tables)
    return NO_REQUESTS if requests is None else _rate(tables, requests)


@metric(
    "cost_per_accepted_result",
    title="Cost per accepted result",
    unit=MONEY,
    direction="lower",
    definition=(
        "Price of the time that it takes, or of the tokens that it takes, divided by the accepted results: at capacity "
        "where levels of load were driven, else at the declared load. Start-up is not in it."
    ),
    inputs=(REQUESTS, BENCHMARK),
    source="prices as the launch's own benchmark file states them",
    kinds=ASKED,
)
def cost_per_accepted_result(tables: Tables) -> Result:
    if tables.prices is None:
        return Missing("the benchmark file states no price of this stack")
    requests = paid_requests(tables)
    if isinstance(requests, Missing):
        return requests
    accepted = float(np.nansum(requests.accepted))
    if not accepted:
        return Missing("nothing was accepted")
    total = 0.0
    for price in tables.prices:
        units = price_units(tables, requests, price.per)
        if isinstance(units, Missing):
            return units
        total += price.amount * units
    return total / accepted


@metric(
    "one_off_cost",
    title="One-off cost of a start",
    unit=MONEY,
    direction="lower",
    definition="Price of the time from the start of the server's process until it is healthy.",
    inputs=("samples/summary.json", BENCHMARK),
    source="prices as the launch's own benchmark file states them",
    kinds=SERVED,
)
def one_off_cost(tables: Tables) -> Result:
    hourly = [price for price in tables.prices or () if price.per in {"device_hour", "node_hour"}]
    started = tables.summary.get("startup_s")
    if started is None:
        return Missing("no server was started for this launch")
    if not hourly:
        return Missing("the benchmark file states no price by the hour for this stack")
    return sum(price.amount * _devices(tables, price.per) for price in hourly) * float(started) / 3600


def _rate(tables: Tables, requests: Requests) -> float | Missing:
    if np.isnan(requests.accepted).all():
        return Missing("no result could be judged")
    seconds = paid_seconds(tables, requests)
    return float(np.nansum(requests.accepted) / seconds) if seconds > 0 else Missing("it took no time")


def paid_seconds(tables: Tables, requests: Requests) -> float:
    """Seconds that are paid for: of tasks the attempts themselves, without what prepares and judges them."""
    if tables.benchmark is not None and tables.benchmark.workload.kind == "tasks":
        return float(np.nansum(requests.ended - requests.sent))
    return requests.span


def paid_requests(tables: Tables) -> Requests | Missing:
    """The requests whose cost counts: those at capacity where a sweep found it."""
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    if np.isnan(requests.accepted).all():
        return Missing("no result could be judged")
    load = getattr(getattr(tables.benchmark, "workload", None), "load", None)
    if load is None or not load.sweep:
        return requests
    found = at_capacity(tables)
    return found if isinstance(found, Missing) else found[1]


def price_units(tables: Tables, requests: Requests, per: str) -> float | Missing:
    """How many units of a price the requests took."""
    if per == "request":
        return float(len(requests))
    if per in {"device_hour", "node_hour"}:
        return paid_seconds(tables, requests) / 3600 * _devices(tables, per)
    column = {
        "million_input_tokens": "input_tokens",
        "million_cached_tokens": "cached_tokens",
        "million_output_tokens": "output_tokens",
    }[per]
    tokens = np.asarray(requests.table[column].to_numpy(zero_copy_only=False), dtype=np.float64)
    if np.isnan(tokens[requests.answered]).any():
        return Missing(f"not every answer says how many {column.replace('_', ' ')} it took")
    total = float(np.nansum(tokens))
    if per == "million_input_tokens" and any(price.per == "million_cached_tokens" for price in tables.prices or ()):
        cached = np.asarray(requests.table["cached_tokens"].to_numpy(zero_copy_only=False), dtype=np.float64)
        total -= float(np.nansum(cached))
    return total / 1e6


def _devices(tables: Tables, per: str) -> int:
    """Devices that are paid for by the hour: a node is one, and a machine without accelerators is its own device."""
    return 1 if per == "node_hour" else max(1, tables.device_count)
