"""What a judgement reads of a launch's requests: summed up by level of load and by length, never one by one.

The sums are made in SQL (`comparison_levels.sql`, `comparison_lengths.sql`); what a metric is, and when a percentile
has enough requests, is defined where every launch's own metrics are (`ledger.metrics`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ledger.metrics.load_levels import FAMILIES, PERCENTILES
from ledger.metrics.registry import Missing
from ledger.metrics.requests import BEYOND


@dataclass(frozen=True)
class Level:
    """One launch at one level of load."""

    level: float
    """Requests a second, requests in flight, or times production's rate."""
    requests: int
    answered: int
    accepted: float | None
    """Accepted results; None where none could be judged."""
    acceptance_rate: float | None
    span: float
    """Seconds from the first request's start to the last one's end."""
    achieved: float | None
    """Share of the offered load that was carried, 0 to 1; None for a closed loop."""
    output_tokens: float | None
    """Of answered requests; None where one does not tell."""
    money: float | None
    """Price of this time or of these tokens; None where no price is stated, or what it is charged by is not told."""
    latencies: Mapping[str, float | None]
    """{`ttft.p95`: seconds}, whether or not enough requests lie beyond it."""
    told: Mapping[str, int]
    """{`ttft`: requests that have one}."""

    def value(self, metric: str) -> float | Missing | None:
        """A metric at this level, Missing where it cannot be told, None for one that no level of load has."""
        family, _, statistic = metric.partition(".")
        if metric in {"queue_time", *(f"{each}.{name}" for each in FAMILIES for name in ("mean", *PERCENTILES))}:
            return self._latency(family, statistic or "mean")
        answered_share = self.answered / self.requests
        known = {
            "error_rate": 1 - answered_share,
            "request_reliability": answered_share,
            "acceptance_rate": _or(self.acceptance_rate, "no result could be judged"),
            "achieved_load": _or(self.achieved, "a closed loop offers no load by a clock"),
            "request_throughput": self._rate(float(self.answered)),
            "accepted_throughput": self._rate(_or(self.accepted, "no result could be judged")),
            "output_token_throughput": self._rate(
                _or(self.output_tokens, "not every answer says how many tokens it has")
            ),
            "cost_per_accepted_result": self._cost(),
        }
        return known.get(metric)

    def _latency(self, family: str, statistic: str) -> float | Missing:
        value, told = self.latencies[f"{family}.{statistic}"], self.told[family]
        if value is None:
            return Missing("no request was answered with what it is measured from")
        needed = round(BEYOND / (1 - PERCENTILES[statistic] / 100)) if statistic in PERCENTILES else 1
        if told < needed:
            return Missing(f"{statistic} needs {needed:,} requests; there are {told:,}")
        return value

    def _rate(self, amount: float | Missing) -> float | Missing:
        if isinstance(amount, Missing):
            return amount
        return amount / self.span if self.span > 0 else Missing("it took no time")

    def _cost(self) -> float | Missing:
        if self.money is None:
            return Missing("no price is stated, or not every answer tells what it is charged by")
        if self.accepted is None:
            return Missing("no result could be judged")
        return self.money / self.accepted if self.accepted else Missing("nothing was accepted")


@dataclass(frozen=True)
class LengthBin:
    """The answered requests of one launch whose input, or output, is of about one length."""

    side: str
    """`input` or `output`."""
    bin: int
    """floor(8 log2(tokens))."""
    requests: int
    tokens: float
    """Of all of them."""
    shortest: int
    longest: int
    sums: Mapping[str, tuple[int, float]]
    """{`e2e`: (requests that have one, sum of seconds)}, of `e2e`, `ttft` and `tpot`."""


def level_of(row: Mapping[str, Any]) -> Level:
    """One row of `comparison_levels.sql`."""
    numbers = {name: value for name, value in row.items() if "." not in name and name != "run_id"}
    numbers["accepted"] = None if row["accepted"] is None else float(row["accepted"])
    return Level(
        **numbers,
        latencies={name: value for name, value in row.items() if "." in name and not name.endswith(".count")},
        told={family: row[f"{family}.count"] for family in FAMILIES},
    )


def length_of(row: Mapping[str, Any]) -> LengthBin:
    """One row of `comparison_lengths.sql`."""
    numbers = {name: value for name, value in row.items() if "." not in name and name != "run_id"}
    numbers["tokens"] = float(row["tokens"])
    sums = {name: (row[f"{name}.count"], row[f"{name}.sum"] or 0.0) for name in ("e2e", "ttft", "tpot")}
    return LengthBin(**numbers, sums=sums)


def _or(value: float | None, reason: str) -> float | Missing:
    return Missing(reason) if value is None else value
