"""What every figure is: its text alternative, its Plotly description and its SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

SIDES = ("var(--sp-a)", "var(--sp-b)")
"""Colours of baseline and candidate."""

WIDTH = 720
"""Width of an SVG's own coordinates; the page scales it."""


@dataclass(frozen=True)
class Chart:
    """One figure of a page."""

    id: str
    """Unique on its page; the id of the element."""
    title: str
    alt: str
    """What a reader who does not see it must know."""
    plotly: dict[str, Any]
    """`{data, layout}` for Plotly, with `var(--…)` where a colour stands."""
    svg: Markup


def layout(height: int, **changes: Any) -> dict[str, Any]:
    """The layout that all Plotly figures share, with `changes` put over it."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--sp-ink)", "size": 13},
        "hoverlabel": {"align": "left"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "xaxis": axis(),
        "yaxis": axis(),
        "dragmode": False,
        **changes,
    }


def axis(title: str | None = None, **changes: Any) -> dict[str, Any]:
    """An axis with quiet grid lines and room for its labels."""
    text = {"title": {"text": title, "standoff": 12}} if title else {}
    return {
        "automargin": True,
        "fixedrange": True,
        "gridcolor": "var(--sp-line)",
        "linecolor": "var(--sp-line)",
        "zeroline": False,
        **text,
        **changes,
    }
