"""What the stated demand needs and costs in whole machines (`envelope.demand` of the launch's own benchmark file)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ledger.benchmark import Demand
from ledger.metrics.definitions.quality import MONEY, paid_requests, paid_seconds, price_units
from ledger.metrics.definitions.serving import ASKED, BENCHMARK, REQUESTS
from ledger.metrics.registry import Missing, Result, metric
from ledger.metrics.tables import Tables

HOURS_A_MONTH = 730.0
"""A twelfth of 365 days."""
DAY_S = 86_400.0
SUMMARY = "samples/summary.json"
SOURCE = "stackproof: whole machines for the demand that the launch's own benchmark file states"


@dataclass(frozen=True)
class Supply:
    """What one machine, or the group of devices that one launch used, gives."""

    rate: float
    """Requests a second."""
    accepted: float
    """Share of them whose result is accepted."""
    hourly: float
    """Price of an hour, paid whether or not requests come."""
    per_request: float
    """Price of a request, paid by tokens or by the request."""


def whole_machines(demand: Demand, rate: float) -> int:
    """Machines for the demand's busiest time, at least one. `rate`: requests a second of one."""
    needed = (demand.requests_per_day or 0.0) / DAY_S * demand.peak_factor / rate
    return max(1, math.ceil(needed - 1e-9))


def _month(demand: Demand) -> float:
    """Requests of a month."""
    return (demand.requests_per_day or 0.0) * HOURS_A_MONTH / 24


def monthly_cost(demand: Demand, supply: Supply) -> float:
    """What a month of the demand costs: whole machines by the hour, tokens and requests as they come."""
    by_hour = whole_machines(demand, supply.rate) * supply.hourly * HOURS_A_MONTH
    return by_hour + supply.per_request * _month(demand)


def _stated(tables: Tables) -> tuple[Demand, Supply] | Missing:
    """The demand and what a machine gives, or why one of them is not known."""
    demand = tables.benchmark.envelope.demand if tables.benchmark else None
    if demand is None or demand.requests_per_day is None:
        return Missing("the benchmark file states no demand (envelope.demand.requests_per_day)")
    requests = paid_requests(tables)
    if isinstance(requests, Missing):
        return requests
    seconds = paid_seconds(tables, requests)
    if seconds <= 0:
        return Missing("it took no time")
    hourly = per_request = 0.0
    for price in tables.prices or ():
        units = price_units(tables, requests, price.per)
        if isinstance(units, Missing):
            return units
        if price.per in {"device_hour", "node_hour"}:
            hourly += price.amount * units / (seconds / 3600)
        else:
            per_request += price.amount * units / len(requests)
    accepted = float(np.nansum(requests.accepted)) / len(requests)
    return demand, Supply(len(requests) / seconds, accepted, hourly, per_request)


@metric(
    "machines_at_demand",
    title="Machines for the demand",
    unit="count",
    direction="lower",
    definition=(
        "Whole machines (or groups of the devices that one launch used) that carry the stated demand at its busiest: "
        "its rate over the requests a second that one carries, at capacity where levels of load were driven, else at "
        "the declared load; rounded up."
    ),
    inputs=(REQUESTS, BENCHMARK),
    source=SOURCE,
    kinds=ASKED,
)
def machines_at_demand(tables: Tables) -> Result:
    found = _stated(tables)
    return found if isinstance(found, Missing) else float(whole_machines(found[0], found[1].rate))


@metric(
    "requests_a_day_of_a_machine",
    title="Requests a day that one machine carries",
    unit="1",
    direction="higher",
    definition="A day's requests whose busiest time, by the demand's peak factor, is what one machine carries.",
    inputs=(REQUESTS, BENCHMARK),
    source=SOURCE,
    kinds=ASKED,
)
def requests_a_day_of_a_machine(tables: Tables) -> Result:
    found = _stated(tables)
    return found if isinstance(found, Missing) else found[1].rate * DAY_S / found[0].peak_factor


@metric(
    "use_at_demand",
    title="Use of the machines at the demand",
    unit="share",
    direction="neither",
    definition="The demand's mean rate over what the machines for its busiest time carry together.",
    inputs=(REQUESTS, BENCHMARK),
    source=SOURCE,
    kinds=ASKED,
)
def use_at_demand(tables: Tables) -> Result:
    found = _stated(tables)
    if isinstance(found, Missing):
        return found
    demand, supply = found
    return (demand.requests_per_day or 0.0) / DAY_S / (whole_machines(demand, supply.rate) * supply.rate)


@metric(
    "cost_per_month_at_demand",
    title="Cost a month at the demand",
    unit=MONEY,
    direction="lower",
    definition="Machines for the demand x the price of an hour x 730 hours; a month's tokens or requests on top.",
    inputs=(REQUESTS, BENCHMARK),
    source=SOURCE,
    kinds=ASKED,
)
def cost_per_month_at_demand(tables: Tables) -> Result:
    found = _priced(tables)
    return found if isinstance(found, Missing) else monthly_cost(*found)


@metric(
    "cost_per_accepted_result_at_demand",
    title="Cost per accepted result at the demand",
    unit=MONEY,
    direction="lower",
    definition="Cost a month at the demand, divided by the month's requests that are accepted. Start-up is not in it.",
    inputs=(REQUESTS, BENCHMARK),
    source=SOURCE,
    kinds=ASKED,
)
def cost_per_accepted_result_at_demand(tables: Tables) -> Result:
    found = _priced(tables)
    if isinstance(found, Missing):
        return found
    demand, supply = found
    return monthly_cost(demand, supply) / (_month(demand) * supply.accepted)


@metric(
    "one_off_cost_per_accepted_result",
    title="One-off cost per accepted result",
    unit=MONEY,
    direction="lower",
    definition=(
        "Price of one start of each machine for the demand, spread over the results that are accepted within the "
        "demand's horizon."
    ),
    inputs=(REQUESTS, SUMMARY, BENCHMARK),
    source=SOURCE,
    kinds=ASKED,
)
def one_off_cost_per_accepted_result(tables: Tables) -> Result:
    found, started = _priced(tables), tables.summary.get("startup_s")
    if isinstance(found, Missing):
        return found
    if started is None:
        return Missing("no server was started for this launch")
    demand, supply = found
    starts = whole_machines(demand, supply.rate) * supply.hourly * float(started) / 3600
    return starts / ((demand.requests_per_day or 0.0) * demand.horizon / DAY_S * supply.accepted)


def _priced(tables: Tables) -> tuple[Demand, Supply] | Missing:
    if tables.prices is None:
        return Missing("the benchmark file states no price of this stack")
    found = _stated(tables)
    if not isinstance(found, Missing) and not found[1].accepted:
        return Missing("nothing was accepted")
    return found
