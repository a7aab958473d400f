"""Results item by item: the item (a prompt, a task) is the unit of quality, and both sides were given the same ones.

A side's value for an item is the mean over its timed launches and attempts. Sampling of items is a chance of its own:
launches that all answer alike say nothing about it, so intervals of what rests on acceptance are widened by it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean

from scipy.special import bdtr, ndtri

from sitegen.comparison.selection import Selection, Side
from sitegen.comparison.statistics import CONFIDENCE, Interval, NoInterval, wilson_interval
from sitegen.comparison.verdict import ItemComparison, ItemRow
from sitegen.format import count

RESTS_ON_ACCEPTANCE = frozenset({"acceptance_rate", "accepted_throughput", "goodput", "cost_per_accepted_result"})
"""Metrics of which the choice of items is a part of the chance."""
MOST_ROWS = 50
"""Items that a verdict lists; all are in the catalog."""
HALF = 0.5
"""From this share of its attempts on an item counts as accepted, where yes or no is asked."""


def accepted(side: Side) -> dict[str, float]:
    """{item: share of its attempts that were accepted}, over the timed launches; without items that nobody judged."""
    found: dict[str, list[float]] = defaultdict(list)
    for run in side.timed:
        for name, item in run.items.items():
            if item.accepted is not None:
                found[name].append(item.accepted)
    return {name: fmean(values) for name, values in found.items()}


def acceptance(side: Side) -> tuple[Interval | NoInterval, str]:
    """The acceptance rate with Wilson's interval over items, and what it rests on."""
    found = accepted(side)
    interval = wilson_interval(math.fsum(found.values()), len(found))
    return interval, f"{count(len(found), 'item')}, Wilson interval"


def reliability(side: Side) -> tuple[Interval | NoInterval, str]:
    """The share of requests answered without an error, over all timed launches, with Wilson's interval."""
    items = [item for run in side.timed for item in run.items.values()]
    answered, asked = sum(item.answered for item in items), sum(item.requests for item in items)
    return wilson_interval(answered, asked), f"{answered} of {count(asked, 'request')} answered, Wilson interval"


def compare(selection: Selection) -> ItemComparison | None:
    """Both sides item by item; None where they have no item in common."""
    sides = [accepted(side) for side in selection.sides]
    shared = sorted(sides[0].keys() & sides[1].keys())
    if not shared:
        return None
    rows = [ItemRow(item, sides[0][item], sides[1][item]) for item in shared]
    yes = [(row.baseline >= HALF, row.candidate >= HALF) for row in rows]
    only = yes.count((True, False)), yes.count((False, True))
    apart = sorted((row for row in rows if row.baseline != row.candidate), key=lambda row: -abs(row.difference))
    return ItemComparison(
        both=yes.count((True, True)),
        only_baseline=only[0],
        only_candidate=only[1],
        neither=yes.count((False, False)),
        p_value=mcnemar(*only),
        apart=tuple(apart[:MOST_ROWS]),
        apart_count=len(apart),
        alone=len(sides[0].keys() ^ sides[1].keys()),
    )


def mcnemar(first: int, second: int) -> float:
    """The exact two-sided p-value of McNemar's test: as many items go only to one side as only to the other."""
    apart = first + second
    return min(1.0, 2 * float(bdtr(min(first, second), apart, 0.5))) if apart else 1.0


def widened(
    found: Interval | NoInterval, selection: Selection, confidence: float = CONFIDENCE
) -> Interval | NoInterval:
    """A ratio's interval with the chance of which items were asked added, by the delta method on paired items.

    The logarithm of the ratio of two acceptance rates over the same n items has the variance
    Var(c/C - b/B) / n, where b and c are the items' values and B and C their means.
    """
    error = _item_error(selection)
    if error is None or found.center is None or found.center <= 0:
        return found
    center = math.log(found.center)
    half = float(ndtri((1 + confidence) / 2)) * error
    low, high = (center, center) if isinstance(found, NoInterval) else (math.log(found.low), math.log(found.high))
    below, above = math.hypot(center - low, half), math.hypot(high - center, half)
    if below == 0 == above:
        return found
    return Interval(found.center, math.exp(center - below), math.exp(center + above))


def _item_error(selection: Selection) -> float | None:
    """Standard error of the log ratio of the acceptance rates from the choice of items; None where nothing is known."""
    sides = [accepted(side) for side in selection.sides]
    shared = sides[0].keys() & sides[1].keys()
    means = [fmean(side[item] for item in shared) if shared else 0.0 for side in sides]
    if len(shared) < 2 or not all(means):
        return None
    values = [sides[1][item] / means[1] - sides[0][item] / means[0] for item in shared]
    middle = fmean(values)
    variance = math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
    return math.sqrt(variance / len(values))
