"""The effect as a ratio with its interval, against 1 and against the declared threshold."""

from __future__ import annotations

import math
from typing import Any

from sitegen.charts.chart import WIDTH, Chart, axis, layout
from sitegen.charts.draw import draw
from sitegen.charts.scale import Axis
from sitegen.comparison.verdict import Verdict
from sitegen.format import ratio, ratios, share

HEIGHT = 120


def chart(verdict: Verdict, band: tuple[float, float]) -> Chart | None:
    """The interval; None where there is none. `band` holds the ratios that count as no difference that matters."""
    effect = verdict.effect
    if effect.ratio is None or effect.low is None or effect.high is None:
        return None
    logs = [math.log(value) for value in (effect.low, effect.high, effect.ratio, 1.0, *band)]
    air = (max(logs) - min(logs)) * 0.12
    low, high = math.exp(min(logs) - air), math.exp(max(logs) + air)
    faster, slower = (verdict.candidate, verdict.baseline)
    left, right = (faster, slower) if effect.lower_is_better else (slower, faster)
    return Chart(
        id="effect-interval",
        title=f"Ratio {verdict.candidate} / {verdict.baseline}, 95 % interval",
        alt=f"Ratio {ratio(effect.ratio, effect.low, effect.high)}, "
        f"95 % interval {ratios(effect.low, effect.high, effect.ratio)}; "
        f"from {ratio(band[0])} to {ratio(band[1])} is within the threshold of {share(verdict.declared.threshold)}.",
        plotly={"data": [_point(verdict)], "layout": _layout(low, high, band, left, right)},
        svg=draw(
            "interval",
            width=WIDTH,
            height=HEIGHT,
            x=Axis(math.log(low), math.log(high), 12, WIDTH - 12),
            log=math.log,
            ticks=_ticks(low, high),
            effect=effect,
            band=band,
            left=left,
            right=right,
        ),
    )


def _point(verdict: Verdict) -> dict[str, Any]:
    effect = verdict.effect
    value, low, high = effect.ratio or 0.0, effect.low or 0.0, effect.high or 0.0
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [value],
        "y": [0],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [high - value],
            "arrayminus": [value - low],
            "thickness": 3,
            "width": 8,
            "color": "var(--sp-ink)",
        },
        "marker": {"size": 13, "color": "var(--sp-ink)", "symbol": "circle"},
        "hovertemplate": f"ratio {ratio(value, low, high)}<br>95 % interval {ratios(low, high, value)}<extra></extra>",
        "showlegend": False,
    }


def _layout(low: float, high: float, band: tuple[float, float], left: str, right: str) -> dict[str, Any]:
    ticks = _ticks(low, high)
    return layout(
        HEIGHT + 20,
        margin={"l": 8, "r": 8, "t": 26, "b": 8},
        xaxis=axis(
            type="log", range=[math.log10(low), math.log10(high)], tickvals=ticks, ticktext=[f"{t:g}" for t in ticks]
        ),
        yaxis=axis(visible=False, range=[-1, 1]),
        shapes=[
            {
                "type": "rect",
                "x0": band[0],
                "x1": band[1],
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "fillcolor": "var(--sp-band)",
                "line": {"width": 0},
                "layer": "below",
            },
            {
                "type": "line",
                "x0": 1,
                "x1": 1,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": "var(--sp-muted)", "width": 1, "dash": "dot"},
                "layer": "below",
            },
        ],
        annotations=[_side(f"← {left} better", 0, "left"), _side(f"{right} better →", 1, "right")],
    )


def _side(text: str, x: int, anchor: str) -> dict[str, Any]:
    place = {"x": x, "xref": "paper", "xanchor": anchor, "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {"text": text, "showarrow": False, "font": {"color": "var(--sp-muted)", "size": 12}, **place}


def _ticks(low: float, high: float) -> list[float]:
    """Ratios to label: about five round ones in the range."""
    span = high - low
    power = float(10 ** math.floor(math.log10(span / 5)))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= span / 5)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(number * step, 6) for number in range(first, last + 1) if number * step > 0]
