"""The figures of where the order of two sides turns round."""

from __future__ import annotations

from dataclasses import replace

from sitegen.charts import series
from sitegen.charts.chart import Chart
from sitegen.comparison.flips import demand, words
from sitegen.comparison.flips.found import AtDemand, Curve
from sitegen.comparison.verdict import Verdict
from sitegen.format import number, value

MARK = "order changes"
BOUNDS = "its 95 % interval"


def charts(verdict: Verdict) -> dict[str | tuple[str, str], Chart | None]:
    """{(`load`, `input` or `output`, metric): its figure}, and that of `demand`; None where nothing is to be drawn."""
    found = verdict.flips
    drawn: dict[str | tuple[str, str], Chart | None] = {
        (curve.over, curve.metric): _curve(verdict, curve) for curve in (*found.load, *found.length)
    }
    return {**drawn, "demand": _demand(found.demand) if found.demand is not None and found.demand.fleets else None}


def _curve(verdict: Verdict, found: Curve) -> Chart | None:
    """Both sides over the points at which they are compared, a line at each crossing, and its interval."""
    points = [point for point in found.points if point.absent is None]
    if found.absent or not points:
        return None
    at = [point.at for point in points]
    sides = {
        verdict.baseline: [point.baseline for point in points],
        verdict.candidate: [point.candidate for point in points],
    }
    values = [each for side in sides.values() for each in side if each is not None]
    lines = [series.Line(stack, at, side) for stack, side in sides.items()]
    for crossing in found.crossings:
        lines.append(series.Line(MARK, [crossing.at, crossing.at], [min(values), max(values)]))
        if not found.no_bounds:
            low = at[0] if crossing.low is None else crossing.low
            high = at[-1] if crossing.high is None else crossing.high
            lines.append(series.Line(BOUNDS, [low, high], [min(values), min(values)]))
    drawn = series.chart(
        f"flips-{found.over}-{found.metric.replace('.', '-').replace('_', '-')}",
        f"{found.metric} over the {words.OVER[found.over]}: geometric means over launches",
        lines,
        x_title=f"{words.OVER[found.over].capitalize()} ({found.over_unit})",
        y_title="Cost" if found.unit == "money" else found.metric,
        unit=found.unit,
    )
    return replace(drawn, alt=_alt(found, sides, at)) if drawn is not None else None


def _alt(found: Curve, sides: dict[str, list[float | None]], at: list[float]) -> str:
    """Each side at the first and at the last point, and what the words beside the figure say."""
    ends = [
        f"{stack}: {value(side[0], found.unit)} at {number(at[0])}, {value(side[-1], found.unit)} at {number(at[-1])} "
        f"{found.over_unit}."
        for stack, side in sides.items()
    ]
    return " ".join([*ends, *words.curve(found)])


def _demand(found: AtDemand) -> Chart | None:
    """A month's cost over the demand, as steps."""
    end = found.stretches[-1].end
    return series.chart(
        "cost-at-demand",
        "What a month costs, by the demand",
        [series.Line(fleet.stack, *demand.steps(fleet, end)) for fleet in found.fleets],
        x_title="Requests a day",
        y_title="Cost a month",
        unit=found.currency or "money",
        from_zero=True,
    )
