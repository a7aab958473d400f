"""A tuning path: the objective of every trial of a search, those that failed, and the launches that confirmed it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from sitegen.charts.chart import WIDTH, Chart, axis, layout
from sitegen.charts.draw import draw
from sitegen.charts.scale import Axis, Unit, padded, unit_for
from sitegen.comparison.tuning_path import TuningPath, TuningTrial
from sitegen.format import count, value

HEIGHT = 300
COLOUR, BAD, PAPER = "var(--sp-a)", "var(--sp-bad)", "var(--sp-paper)"
Points = list[tuple[float, float]]


def chart(path: TuningPath, runs: str, at: str = "") -> Chart | None:
    """The path as a figure; None when no trial has a value.

    `runs` is the way from the page to the run pages, `at` what the figure's id begins with.
    """
    trials = path.counting
    measured = [trial.value for trial in trials if trial.value is not None]
    if not measured:
        return None
    known = [*measured, *(each for each in (path.confirmed, path.low, path.high) if each is not None)]
    unit = unit_for(known, path.unit)
    low, high = padded([unit(each) for each in known])
    best = _best_so_far(path, unit)
    return Chart(
        id=f"{at}tuning-{path.stack}",
        title=f"{path.title} of each search trial of {path.stack}",
        alt=_alt(path, measured),
        plotly={
            "data": [
                _line(best),
                *_marks(path, unit, low, runs),
                *([_ring(path, unit)] if path.searched is not None else []),
                *([_confirmed(path, unit)] if path.confirmed is not None else []),
            ],
            "layout": layout(
                HEIGHT + 40,
                xaxis=axis(
                    "Trial",
                    range=[0.3, _end(path) + 0.7],
                    tickvals=_ticks(path),
                    ticktext=[*map(str, _ticks(path)[: -1 if path.confirmed is not None else None]), *_last(path)],
                ),
                yaxis=axis(f"{path.title} ({unit.name})" if unit.name else path.title, range=[low, high]),
                hovermode="closest",
            ),
        },
        svg=_svg(path, unit, (low, high), best),
    )


def _end(path: TuningPath) -> int:
    """The last place of the axis: behind the trials stand the launches that confirmed what was chosen."""
    return path.counting[-1].number + (1 if path.confirmed is not None else 0)


def _ticks(path: TuningPath) -> list[int]:
    """Each trial, or every fifth and so on, and the place of the timed launches."""
    numbers = [trial.number for trial in path.counting]
    step = next(each for each in (1, 2, 5, 10, 20, 50, 100, 1000, 10_000) if len(numbers) <= 24 * each)
    shown = [number for number in numbers if number % step == 0]
    return [*shown, _end(path)] if path.confirmed is not None else shown


def _last(path: TuningPath) -> list[str]:
    return ["timed"] if path.confirmed is not None else []


def _best_so_far(path: TuningPath, unit: Unit) -> Points:
    """Steps: the best value inside the envelope up to each trial."""
    sign = 1 if path.lower_is_better else -1
    points: Points = []
    for trial in path.counting:
        inside = trial.value is not None and not trial.outside
        best = points[-1][1] if points else None
        if inside and trial.value is not None and (best is None or sign * unit(trial.value) < sign * best):
            best = unit(trial.value)
        if best is not None:
            points.append((trial.number, best))
    return points


def _line(points: Points) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "best so far",
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "hoverinfo": "skip",
        "line": {"color": COLOUR, "width": 1.5, "shape": "hv", "dash": "dot"},
    }


def _marks(path: TuningPath, unit: Unit, low: float, runs: str) -> Iterable[dict[str, Any]]:
    groups = _groups(path)
    looks: dict[str, dict[str, Any]] = {
        "inside the envelope": {"symbol": "circle", "color": COLOUR, "line": {"width": 1, "color": PAPER}},
        "outside the envelope": {"symbol": "circle-open", "color": COLOUR, "line": {"width": 2}},
        "failed, no value": {"symbol": "x-thin", "line": {"width": 2, "color": BAD}},
    }
    for name, trials in groups.items():
        if trials:
            yield {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": [trial.number for trial in trials],
                "y": [low if trial.value is None else unit(trial.value) for trial in trials],
                "cliponaxis": False,
                "customdata": [f"{runs}{trial.run_id}/index.html" for trial in trials],
                "text": [_hover(trial, path) for trial in trials],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"size": 10, **looks[name]},
            }


def _groups(path: TuningPath) -> dict[str, Sequence[TuningTrial]]:
    apart = {trial.number for trial in (*path.failed, *path.outside)}
    return {
        "inside the envelope": [trial for trial in path.counting if trial.number not in apart],
        "outside the envelope": path.outside,
        "failed, no value": path.failed,
    }


def _hover(trial: TuningTrial, path: TuningPath) -> str:
    end = (trial.reason or "not measured").replace("_", " ") if trial.value is None else value(trial.value, path.unit)
    said = [f"<b>trial {trial.number}</b> {trial.parameters}", end, *trial.outside, f"run {trial.run_id}"]
    return "<br>".join([said[0].replace("&", "&amp;"), *map(html.escape, said[1:])])


def _ring(path: TuningPath, unit: Unit) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "chosen",
        "x": [path.chosen],
        "y": [unit(path.searched or 0.0)],
        "hoverinfo": "skip",
        "marker": {"symbol": "circle-open", "size": 18, "color": COLOUR, "line": {"width": 2}},
    }


def _confirmed(path: TuningPath, unit: Unit) -> dict[str, Any]:
    center = path.confirmed or 0.0
    bars = {}
    if path.low is not None and path.high is not None:
        above, below = unit(path.high) - unit(center), unit(center) - unit(path.low)
        bars = {"error_y": {"type": "data", "symmetric": False, "array": [above], "arrayminus": [below]}}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "timed launches of the chosen settings",
        "x": [_end(path)],
        "y": [unit(center)],
        "text": [f"{count(path.launches, 'timed launch')}, mean {value(center, path.unit)}"],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"symbol": "diamond", "size": 12, "color": "var(--sp-b)"},
        **bars,
    }


def _svg(path: TuningPath, unit: Unit, span: tuple[float, float], best: Points) -> Any:
    x = Axis(0.3, _end(path) + 0.7, 64, WIDTH - 16)
    y = Axis(*span, HEIGHT - 44, 34)
    bounds = [y.at(unit(each)) for each in (path.low, path.high) if each is not None]
    groups = _groups(path)
    return draw(
        "tuning",
        width=WIDTH,
        height=HEIGHT,
        x=x,
        y=y,
        y_title=f"{path.title} ({unit.name})" if unit.name else path.title,
        ticks=[(x.at(each), str(each)) for each in _ticks(path)[: -1 if path.confirmed is not None else None]],
        steps=_staircase([(x.at(across), y.at(up)) for across, up in best]),
        inside=_places(groups["inside the envelope"], x, y, unit),
        outside=_places(groups["outside the envelope"], x, y, unit),
        lost=[x.at(trial.number) for trial in path.failed],
        ring=next(iter(_places([each for each in path.counting if each.number == path.chosen], x, y, unit)), None),
        timed=(x.at(_end(path)), y.at(unit(path.confirmed)), bounds) if path.confirmed is not None else None,
    )


def _places(trials: Iterable[TuningTrial], x: Axis, y: Axis, unit: Unit) -> Points:
    return [(x.at(each.number), y.at(unit(each.value))) for each in trials if each.value is not None]


def _staircase(points: Points) -> str:
    """The way along the points of a polyline, level up to each new one."""
    way = []
    for index, (across, up) in enumerate(points):
        if index:
            way.append(f"{across},{points[index - 1][1]}")
        way.append(f"{across},{up}")
    return " ".join(way)


def _alt(path: TuningPath, measured: list[float]) -> str:
    said = f"{count(len(path.counting), 'trial')}, from {value(min(measured), path.unit)} to "
    sentences = [f"{said}{value(max(measured), path.unit)}."]
    if path.failed:
        sentences.append(f"{count(len(path.failed), 'trial')} failed.")
    if path.outside:
        sentences.append(f"{count(len(path.outside), 'trial')} broke a limit of the envelope.")
    if path.chosen is not None:
        sentences.append(
            f"Trial {path.chosen} was chosen with {value(path.searched, path.unit)}; launched again it was "
            f"{value(path.confirmed, path.unit)}."
        )
    return " ".join([*sentences, "The values are in the table below."])
