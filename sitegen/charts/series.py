"""A line over time or over steps: loss, step time, telemetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sitegen.charts.chart import WIDTH, Chart, axis, layout
from sitegen.charts.draw import draw
from sitegen.charts.scale import Axis, padded, unit_for
from sitegen.format import value

HEIGHT = 230
COLOURS = ("var(--sp-a)", "var(--sp-b)", "var(--sp-part-3)", "var(--sp-part-4)")
DASHES = ("solid", "dash", "dot", "dashdot")
MOST = 4000
"""Points drawn of one line; more are thinned evenly, which the figure's text says."""


@dataclass(frozen=True)
class Line:
    """One named line: x and y of equal length, y None where there is no value."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]


def chart(
    id: str, title: str, lines: list[Line], *, x_title: str, y_title: str, unit: str, from_zero: bool = False
) -> Chart | None:
    """The lines in one figure, y in `unit`; None when no line has a value."""
    lines = [line for line in lines if any(y is not None for y in line.y)]
    if not lines:
        return None
    thinned = [_thin(line) for line in lines]
    values = [y for line in thinned for y in line.y if y is not None]
    shown = unit_for(values, unit)
    low, high = padded([shown(y) for y in values], 0.06)
    low = min(0.0, low) if from_zero else low
    return Chart(
        id=id,
        title=title,
        alt=_alt(lines, unit, any(len(line.x) > MOST for line in lines)),
        plotly={
            "data": [_trace(line, index, shown.factor, unit) for index, line in enumerate(thinned)],
            "layout": layout(
                HEIGHT + 40,
                showlegend=len(lines) > 1,
                xaxis=axis(x_title),
                yaxis=axis(f"{y_title} ({shown.name})" if shown.name else y_title, range=[low, high]),
                hovermode="closest",
            ),
        },
        svg=_svg(thinned, shown.factor, (low, high), x_title, f"{y_title} ({shown.name})" if shown.name else y_title),
    )


def _thin(line: Line) -> Line:
    step = -(-len(line.x) // MOST)
    return Line(line.name, list(line.x)[::step], list(line.y)[::step]) if step > 1 else line


def _trace(line: Line, index: int, factor: float, unit: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(line.x) <= 60 else "lines",
        "name": line.name,
        "x": list(line.x),
        "y": [None if y is None else float(f"{y / factor:.6g}") for y in line.y],
        "text": [value(y, unit) for y in line.y],
        "hovertemplate": "%{x}: %{text}<extra></extra>",
        "line": {"color": COLOURS[index % 4], "width": 2, "dash": DASHES[(index + index // 4) % 4]},
        "marker": {"size": 5},
    }


def _svg(lines: list[Line], factor: float, span: tuple[float, float], x_title: str, y_title: str) -> Any:
    xs = [x for line in lines for x in line.x]
    x = Axis(min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1, 64, WIDTH - 16)
    y = Axis(*span, HEIGHT - 44, 34)
    drawn = [(line.name, _pieces(line, x, y, factor)) for line in lines]
    return draw("lines", width=WIDTH, height=HEIGHT, x=x, y=y, lines=drawn, x_title=x_title, y_title=y_title)


def _pieces(line: Line, x: Axis, y: Axis, factor: float) -> list[str]:
    """The polylines of a line: a new one after each missing value; a lone value is a point."""
    pieces: list[list[str]] = [[]]
    for across, up in zip(line.x, line.y, strict=True):
        if up is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{x.at(across)},{y.at(up / factor)}")
    return [" ".join(piece if len(piece) > 1 else piece * 2) for piece in pieces if piece]


def _alt(lines: list[Line], unit: str, thinned: bool) -> str:
    sentences = []
    for line in lines:
        values = [y for y in line.y if y is not None]
        words = f"from {value(values[0], unit)} to {value(values[-1], unit)}, lowest {value(min(values), unit)}"
        sentences.append(f"{line.name}: {len(values)} values, {words}, highest {value(max(values), unit)}.")
    if thinned:
        sentences.append(f"At most {MOST} points of a line are drawn.")
    return " ".join(sentences)
