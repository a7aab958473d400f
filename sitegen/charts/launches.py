"""Every launch as a mark, in the order of the launches: spread, drift and interleaving at one glance."""

from __future__ import annotations

import html
from typing import Any

from sitegen.charts.chart import SIDES, WIDTH, Chart, axis, layout
from sitegen.charts.draw import draw
from sitegen.charts.scale import Axis, Unit, padded, unit_for
from sitegen.comparison.verdict import Launch, Verdict
from sitegen.format import count, value

HEIGHT = 300
SYMBOLS = ("circle", "diamond")


def chart(verdict: Verdict, title: str, runs: str) -> Chart | None:
    """The launches of a comparison; None when none has a value. `runs` is the way from the page to the run pages."""
    measured = [launch for launch in verdict.launches if launch.value is not None]
    if not measured:
        return None
    order = {launch.run_id: number for number, launch in enumerate(verdict.launches, 1)}
    sides = (verdict.baseline, verdict.candidate)
    unit = unit_for([launch.value or 0.0 for launch in measured], verdict.effect.unit)
    means = [mean for mean in (verdict.effect.baseline, verdict.effect.candidate) if mean is not None]
    low, high = padded([unit(value) for value in [*(launch.value or 0.0 for launch in measured), *means]])
    lost = [launch for launch in verdict.launches if launch.value is None]
    return Chart(
        id="launches",
        title=f"{title} of every timed launch",
        alt=_alt(verdict, sides, measured, lost),
        plotly={
            "data": [
                *(_marks(verdict, side, index, measured, unit, order, runs) for index, side in enumerate(sides)),
                *([_lost(lost, low, order, runs)] if lost else []),
            ],
            "layout": layout(
                HEIGHT + 40,
                xaxis=axis("Launch, in the order they ran", dtick=1 if len(verdict.launches) <= 24 else None),
                yaxis=axis(f"{title} ({unit.name})", range=[low, high]),
                shapes=_mean_lines(verdict, unit),
                hovermode="closest",
            ),
        },
        svg=_svg(verdict, title, unit, (low, high), order),
    )


def _marks(
    verdict: Verdict, side: str, index: int, measured: list[Launch], unit: Unit, order: dict[str, int], runs: str
) -> dict[str, Any]:
    chosen = [launch for launch in measured if launch.stack == side]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": side,
        "x": [order[launch.run_id] for launch in chosen],
        "y": [unit(launch.value or 0.0) for launch in chosen],
        "customdata": [f"{runs}{launch.run_id}/index.html" for launch in chosen],
        "text": [_hover(launch, verdict.effect.unit) for launch in chosen],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": SYMBOLS[index],
            "size": 11,
            "color": SIDES[index],
            "line": {"width": 1, "color": "var(--sp-paper)"},
        },
    }


def _lost(lost: list[Launch], low: float, order: dict[str, int], runs: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "failed, no value",
        "x": [order[launch.run_id] for launch in lost],
        "y": [low] * len(lost),
        "cliponaxis": False,
        "customdata": [f"{runs}{launch.run_id}/index.html" for launch in lost],
        "text": [f"<b>{html.escape(launch.stack)}</b>: {html.escape(_why(launch))}" for launch in lost],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": "x-thin", "size": 10, "line": {"width": 2, "color": "var(--sp-bad)"}},
    }


def _hover(launch: Launch, unit: str) -> str:
    name = html.escape(launch.stack)
    return f"<b>{name}</b> repeat {launch.repeat}<br>{value(launch.value, unit)}<br>run {launch.run_id}"


def _mean_lines(verdict: Verdict, unit: Unit) -> list[dict[str, Any]]:
    means = (verdict.effect.baseline, verdict.effect.candidate)
    return [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": unit(mean),
            "y1": unit(mean),
            "layer": "below",
            "line": {"color": SIDES[index], "width": 1.5, "dash": ("solid", "dash")[index]},
        }
        for index, mean in enumerate(means)
        if mean is not None
    ]


def _svg(verdict: Verdict, title: str, unit: Unit, span: tuple[float, float], order: dict[str, int]) -> Any:
    x = Axis(0.5, len(order) + 0.5, 64, WIDTH - 16)
    y = Axis(*span, HEIGHT - 44, 34)
    sides = (verdict.baseline, verdict.candidate)
    means = enumerate((verdict.effect.baseline, verdict.effect.candidate))
    return draw(
        "launches",
        width=WIDTH,
        height=HEIGHT,
        x=x,
        y=y,
        sides=sides,
        y_title=f"{title} ({unit.name})",
        orders=list(order.values()) if len(order) <= 24 else [],
        means=[(index, y.at(unit(mean))) for index, mean in means if mean is not None],
        marks=[
            (sides.index(launch.stack), x.at(order[launch.run_id]), y.at(unit(launch.value)))
            for launch in verdict.launches
            if launch.value is not None
        ],
        lost=[x.at(order[launch.run_id]) for launch in verdict.launches if launch.value is None],
    )


def _alt(verdict: Verdict, sides: tuple[str, str], measured: list[Launch], lost: list[Launch]) -> str:
    sentences = []
    for side in sides:
        values = [launch.value for launch in measured if launch.stack == side and launch.value is not None]
        if values:
            span = f"{value(min(values), verdict.effect.unit)} to {value(max(values), verdict.effect.unit)}"
            sentences.append(f"{side}: {count(len(values), 'launch')}, {span}.")
    if lost:
        sentences.append(f"{count(len(lost), 'launch')} without a value.")
    return " ".join([*sentences, "The values are in the table below."])


def _why(launch: Launch) -> str:
    return (launch.reason or launch.state).replace("_", " ")
