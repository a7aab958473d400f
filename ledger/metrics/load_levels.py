"""Which limits of the envelope a level of load holds: what capacity, goodput and cost rest on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ledger.metrics.registry import Missing
from ledger.metrics.requests import BEYOND, Flags, Floats, Requests
from ledger.quantity import Limit

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0}
FAMILIES = ("ttft", "e2e", "tpot", "queue_time")
SATURATED = 0.95
"""Achieved share of the offered load below which the server does not keep up."""


def statistic(values: Floats, name: str, population: str = "requests") -> float | Missing:
    """The mean or a percentile of values, NaN left out; Missing where too few lie beyond the percentile."""
    values = values[~np.isnan(values)]
    if not values.size:
        return Missing("no request was answered with what it is measured from")
    if name == "mean":
        return float(values.mean())
    share = PERCENTILES[name]
    needed = round(BEYOND / (1 - share / 100))
    if values.size < needed:
        enough = f"{needed:,} {population}, so that {BEYOND} lie beyond it"
        return Missing(f"{name} needs {enough}; there are {values.size:,}")
    return float(np.percentile(values, share))


def latency(requests: Requests, metric: str) -> float | Missing | None:
    """`ttft.p95` and its like; None for what is no latency."""
    family, _, name = metric.partition(".")
    values = requests.latency(family)
    if values is None or (name != "mean" and name not in PERCENTILES):
        return None
    return statistic(values, name)


def error_rate(requests: Requests) -> float:
    """Share of requests that ended with an error."""
    return float(1 - requests.answered.mean())


def acceptance_rate(requests: Requests) -> float | Missing:
    """Mean over items of the share of their attempts that were accepted."""
    found = requests.acceptance()
    return float(np.mean(list(found.values()))) if found else Missing("no result could be judged")


def accepted_rate(requests: Requests) -> float | Missing:
    """Accepted results a second."""
    if np.isnan(requests.accepted).all():
        return Missing("no result could be judged")
    return float(np.nansum(requests.accepted) / requests.span) if requests.span > 0 else Missing("it took no time")


def within_limits(requests: Requests, limits: Mapping[str, Limit]) -> Flags:
    """Whether each request was answered within every latency limit, whatever percentile the limit is of."""
    good = requests.answered.copy()
    for metric, limit in limits.items():
        values = requests.latency(metric.partition(".")[0])
        if values is not None:
            good &= np.array([bool(not np.isnan(each) and limit.allows(float(each))) for each in values])
    return good


def breaks(requests: Requests, limits: Mapping[str, Limit]) -> str | None:
    """The first limit that a level does not hold, or why that is not known; None where it holds them all.

    Only limits that a level of load can hold or break take part: latencies, errors, acceptance, throughput.
    """
    if requests.achieved is not None and requests.achieved < SATURATED:
        return f"only {requests.achieved:.0%} of the offered load was carried"
    for metric, limit in limits.items():
        value = _at_level(requests, metric)
        if isinstance(value, Missing):
            return f"{metric}: {value.reason}"
        if value is not None and not limit.allows(value):
            return f"{metric} is {value:.4g}, and the limit is {limit.operator} {limit.bound:.4g}"
    return None


def _at_level(requests: Requests, metric: str) -> float | Missing | None:
    if metric == "error_rate":
        return error_rate(requests)
    if metric == "request_reliability":
        return 1 - error_rate(requests)
    if metric == "acceptance_rate":
        return acceptance_rate(requests)
    return latency(requests, metric)
