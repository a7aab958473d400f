"""Where the time goes: the disjoint parts of a step side by side, and the way from one side to the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from sitegen.charts.chart import WIDTH, Chart, axis, layout
from sitegen.charts.draw import draw
from sitegen.charts.palette import PART_PATTERNS, number_of
from sitegen.charts.scale import Axis, Unit, padded, unit_for
from sitegen.comparison.verdict import Part, Verdict
from sitegen.format import difference, seconds, share

BAR = 46


@dataclass(frozen=True)
class Segment:
    """One part in one bar of the stacked chart."""

    part: int
    """Its number, which picks colour and pattern."""
    title: str
    x: float
    width: float


def side_by_side(verdict: Verdict) -> Chart | None:
    """Both sides' traced step as stacked bars; None without a trace on either side."""
    parts = _top(verdict)
    totals = [sum(_of(part, side) or 0.0 for part in parts) for side in (0, 1)]
    if not max(totals, default=0):
        return None
    unit = unit_for(totals, "s")
    sides = (verdict.baseline, verdict.candidate)
    shown = [part for part in parts if (part.baseline or 0) + (part.candidate or 0) > 0]
    return Chart(
        id="time-parts",
        title=f"Time of one {_one(verdict)}, by part",
        alt=" ".join(
            f"{side}: {', '.join(_words(part, index, totals[index]) for part in shown)}."
            for index, side in enumerate(sides)
            if totals[index]
        ),
        plotly={
            "data": [_bar(part, sides, unit, totals) for part in shown],
            "layout": layout(
                230,
                barmode="stack",
                bargap=0.35,
                xaxis=axis(f"Time a {verdict.accounting.per} ({unit.name})", rangemode="tozero"),
                yaxis=axis(autorange="reversed", gridcolor="rgba(0,0,0,0)"),
                legend={"orientation": "h", "x": 0, "y": 1.04, "yanchor": "bottom", "traceorder": "normal"},
            ),
        },
        svg=_bars_svg(shown, sides, unit, totals, verdict.accounting.per),
    )


def waterfall(verdict: Verdict) -> Chart | None:
    """Each part's difference, the residual, and the measured difference; None where parts cannot be compared."""
    accounting = verdict.accounting
    rows = [(part.title, part.difference) for part in _top(verdict)]
    steps = [(title, value) for title, value in rows if value]
    if not steps or accounting.difference is None:
        return None
    if accounting.residual is not None:
        steps.append(("Residual", accounting.residual))
    values = [value for _, value in steps]
    unit = unit_for([*values, accounting.difference], "s")
    name = "Traced difference" if accounting.within_traces else "Measured difference"
    title = f"From {verdict.baseline} to {verdict.candidate}: what each part adds or takes away"
    return Chart(
        id="time-waterfall",
        title=title,
        alt=", ".join(f"{part} {difference(value, 's')}" for part, value in steps)
        + f"; {name.lower()} {difference(accounting.difference, 's')} a {accounting.per}.",
        plotly={
            "data": [_steps(steps, (name, accounting.difference), unit)],
            "layout": layout(
                90 + 44 * (len(steps) + 1),
                showlegend=False,
                xaxis=axis(
                    f"Difference a {accounting.per} ({unit.name})",
                    zeroline=True,
                    zerolinecolor="var(--sp-muted)",
                ),
                yaxis=axis(autorange="reversed", gridcolor="rgba(0,0,0,0)"),
            ),
        },
        svg=_waterfall_svg(steps, (name, accounting.difference), unit, accounting.per),
    )


def _top(verdict: Verdict) -> list[Part]:
    return [part for part in verdict.accounting.parts if part.parent is None]


def _one(verdict: Verdict) -> str:
    return "traced step" if verdict.accounting.per == "step" else verdict.accounting.per


def _of(part: Part, side: int) -> float | None:
    return (part.baseline, part.candidate)[side]


def _words(part: Part, side: int, total: float) -> str:
    amount = _of(part, side)
    return f"{part.title} {seconds(amount)} ({share((amount or 0.0) / total)})"


def _bar(part: Part, sides: tuple[str, str], unit: Unit, totals: list[float]) -> dict[str, Any]:
    amounts, number = [_of(part, side) for side in (0, 1)], number_of(part.id)
    return {
        "type": "bar",
        "orientation": "h",
        "name": part.title,
        "y": list(sides),
        "x": [None if amount is None else unit(amount) for amount in amounts],
        "text": [_words(part, side, totals[side]) if totals[side] else "" for side in (0, 1)],
        "textposition": "none",
        "hovertemplate": "<b>%{y}</b><br>%{text}<extra></extra>",
        "marker": {
            "color": f"var(--sp-part-{number})",
            "line": {"color": "var(--sp-paper)", "width": 1},
            "pattern": {
                "shape": PART_PATTERNS[number - 1],
                "fillmode": "overlay",
                "fgcolor": "rgba(255,255,255,0.45)",
                "solidity": 0.2,
                "size": 8,
            },
        },
    }


def _steps(steps: list[tuple[str, float]], total: tuple[str, float], unit: Unit) -> dict[str, Any]:
    return {
        "type": "waterfall",
        "orientation": "h",
        "y": [f"{name}<br>{difference(value, 's')}" for name, value in [*steps, total]],
        "x": [unit(value) for _, value in [*steps, total]],
        "measure": [*("relative" for _ in steps), "total"],
        "hovertemplate": "<b>%{y}</b><extra></extra>",
        "connector": {"line": {"color": "var(--sp-muted)", "width": 1, "dash": "dot"}},
        "increasing": {"marker": {"color": "var(--sp-more)"}},
        "decreasing": {"marker": {"color": "var(--sp-less)"}},
        "totals": {"marker": {"color": "var(--sp-ink)"}},
    }


def _bars_svg(parts: list[Part], sides: tuple[str, str], unit: Unit, totals: list[float], per: str) -> Any:
    x = Axis(0, unit(max(totals)) * 1.02, 12, WIDTH - 16)
    bars = []
    for side, name in enumerate(sides):
        position, segments = 0.0, []
        for part in parts:
            amount = unit(_of(part, side) or 0.0)
            start, end = x.at(position), x.at(position + amount)
            segments.append(Segment(number_of(part.id), part.title, start, round(end - start, 1)))
            position += amount
        bars.append((name, seconds(totals[side]) if totals[side] else "no trace", segments))
    return draw(
        "bars",
        width=WIDTH,
        bar=BAR,
        x=x,
        bars=bars,
        parts=[(number_of(part.id), part.title) for part in parts],
        unit=unit.name,
        per=per,
    )


def _waterfall_svg(steps: list[tuple[str, float]], total: tuple[str, float], unit: Unit, per: str) -> Any:
    edges = list(accumulate((unit(value) for _, value in steps), initial=0.0))
    low, high = padded([*edges, unit(total[1])], 0.24)  # with room for the labels beside the bars
    x = Axis(low, high, 190, WIDTH - 16)
    rows = [(name, value, *sorted((x.at(edges[i]), x.at(edges[i + 1])))) for i, (name, value) in enumerate(steps)]
    rows.append((*total, *sorted((x.at(0.0), x.at(unit(total[1]))))))
    return draw(
        "waterfall", width=WIDTH, x=x, rows=rows, zero=x.at(0.0), unit=unit.name, per=per, difference=difference
    )
