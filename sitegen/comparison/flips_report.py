"""The section of the terminal's report on where the order of two sides turns round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sitegen.comparison.flips import words
from sitegen.comparison.flips.found import Curve
from sitegen.comparison.verdict import Verdict
from sitegen.format import number, ratio, ratios, value


@dataclass(frozen=True)
class Table:
    """Rows of a table whose first column is words, all others numbers."""

    rows: Sequence[tuple[str, ...]]


def flips(verdict: Verdict) -> Iterator[str | Table]:
    """Sentences and tables in order."""
    found = verdict.flips
    yield words.DESCRIBES
    for absent, what in ((found.load_absent, "load"), (found.length_absent, "length"), (found.price_absent, "price")):
        if absent:
            yield f"By {what}: not told, as {absent}."
    for curve in (*found.load, *found.length):
        yield f"{words.heading(curve)}: {' '.join(words.curve(curve))}"
        if curve.points and (curve.over == "load" or curve.crossings):
            yield Table(_points(verdict, curve))
    if found.load or found.length:
        yield _method(*found.load, *found.length)
    if found.held:
        for each in found.held:
            yield f"Highest load at which the limits hold, {words.held(each)}"
    if found.price is not None:
        yield words.price(found.price)
    if found.demand is not None:
        money = f" (money in {found.demand.currency})" if found.demand.currency else ""
        yield f"The stated demand is {number(found.demand.requests_per_day)} requests a day{money}."
        for row in found.demand.rows:
            yield words.row(row, (verdict.baseline, verdict.candidate))
        yield from words.demand(found.demand)


def _method(*curves: Curve) -> str:
    return next((f"Intervals: {curve.method}." for curve in curves if curve.method), "No intervals.")


def _points(verdict: Verdict, curve: Curve) -> list[tuple[str, ...]]:
    head = (curve.over_unit, verdict.baseline, verdict.candidate, "ratio", "95 % interval")
    return [
        head,
        *(
            (
                number(point.at),
                value(point.baseline, curve.unit),
                value(point.candidate, curve.unit),
                ratio(point.ratio, point.low, point.high),
                ratios(point.low, point.high, point.ratio),
            )
            for point in curve.points
        ),
    ]
