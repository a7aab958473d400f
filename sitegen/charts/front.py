"""Two metrics of all stacks against each other, and which of them are on the front of the two."""

from __future__ import annotations

from typing import Any

from sitegen.charts.chart import WIDTH, Chart, axis, layout
from sitegen.charts.draw import draw
from sitegen.charts.scale import Axis, Unit, padded, unit_for
from sitegen.comparison.ranking import Cell, Column, Place, Ranking
from sitegen.comparison.verdict import Standing
from sitegen.format import value

HEIGHT = 320
LEFT, RIGHT, TOP, BOTTOM = 84, 24, 24, 52


def chart(ranking: Ranking, across: Column, up: Column) -> Chart | None:
    """One figure; None where the stacks do not differ in one of the metrics."""
    places = [place for place in ranking.places if across.metric in place.cells and up.metric in place.cells]
    if any(len({place.cells[each.metric].value for place in places}) < 2 for each in (across, up)):
        return None
    front = ranking.front(across.metric, up.metric)
    x_unit, y_unit = (
        unit_for([place.cells[each.metric].value for place in places], each.unit) for each in (across, up)
    )
    titles = [
        f"{each.title} ({unit.name})" if unit.name else each.title for each, unit in ((across, x_unit), (up, y_unit))
    ]
    return Chart(
        id=f"front-{across.metric}-{up.metric}".replace(".", "-").replace("_", "-"),
        title=f"{up.title} against {across.title[:1].lower()}{across.title[1:]}",
        alt=_alt(places, across, up, front),
        plotly={
            "data": [_marks(place, across, up, (x_unit, y_unit), on_front=place.stack in front) for place in places],
            "layout": layout(HEIGHT + 40, xaxis=axis(titles[0]), yaxis=axis(titles[1]), hovermode="closest"),
        },
        svg=_svg(places, across, up, (x_unit, y_unit), titles, front),
    )


def _marks(place: Place, across: Column, up: Column, units: tuple[Unit, Unit], *, on_front: bool) -> dict[str, Any]:
    x, y = place.cells[across.metric], place.cells[up.metric]
    holds = place.standing is Standing.HOLDS
    colour = "var(--sp-a)" if on_front else "var(--sp-muted)"
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": place.stack,
        "x": [units[0](x.value)],
        "y": [units[1](y.value)],
        "text": [place.stack],
        "textposition": "top center",
        "error_x": _error(x, units[0], colour),
        "error_y": _error(y, units[1], colour),
        "marker": {"size": 12, "color": colour, "symbol": "circle" if holds else "circle-open"},
        "hovertemplate": f"{value(x.value, across.unit)}, {value(y.value, up.unit)}"
        f"<extra>{_state(place, on_front)}</extra>",
        "showlegend": False,
    }


def _error(cell: Cell, unit: Unit, colour: str) -> dict[str, Any]:
    if cell.low is None or cell.high is None:
        return {"visible": False}
    up, down = unit(cell.high - cell.value), unit(cell.value - cell.low)
    return {"type": "data", "symmetric": False, "array": [up], "arrayminus": [down], "color": colour, "thickness": 1}


def _state(place: Place, on_front: bool) -> str:
    if place.standing is Standing.HOLDS:
        return "on the front" if on_front else "holds the envelope, another stack is better in both"
    return f"envelope: {place.standing}"


def _alt(places: list[Place], across: Column, up: Column, front: tuple[str, ...]) -> str:
    told = [
        f"{place.stack} {value(place.cells[across.metric].value, across.unit)} and "
        f"{value(place.cells[up.metric].value, up.unit)} ({_state(place, place.stack in front)})"
        for place in places
    ]
    return f"{across.title} and {up.title}: {'; '.join(told)}."


def _svg(
    places: list[Place],
    across: Column,
    up: Column,
    units: tuple[Unit, Unit],
    titles: list[str],
    front: tuple[str, ...],
) -> Any:
    xs, ys = (
        [unit(place.cells[each.metric].value) for place in places]
        for each, unit in ((across, units[0]), (up, units[1]))
    )
    x, y = Axis(*padded(xs, 0.2), LEFT, WIDTH - RIGHT), Axis(*padded(ys, 0.2), HEIGHT - BOTTOM, TOP)
    marks = [
        (place.stack, x.at(left), y.at(top), place.stack in front, place.standing is Standing.HOLDS)
        for place, left, top in zip(places, xs, ys, strict=True)
    ]
    return draw("front", width=WIDTH, height=HEIGHT, x=x, y=y, marks=marks, x_title=titles[0], y_title=titles[1])
