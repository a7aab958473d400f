"""Figures: Plotly accepts them, both drawings hold the same numbers, and values that are missing are not drawn."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.workspace import find
from sitegen.charts import interval, launches, parts, series
from sitegen.charts.scale import Axis, unit_for
from sitegen.comparison import judge_all
from sitegen.comparison.verdict import Verdict
from tests.sitegen.pages import made


@pytest.fixture(scope="module")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> Verdict:
    (found,) = judge_all(find(made.workspace(tmp_path_factory.mktemp("charts"))))
    return found


def charts(verdict: Verdict) -> list:
    line = series.Line("loss", [0, 1, 2], [3.0, None, 2.0])
    found = [
        launches.chart(verdict, "Step time", "../runs/"),
        interval.chart(verdict, (1 / 1.05, 1.05)),
        parts.side_by_side(verdict),
        parts.waterfall(verdict),
        series.chart("loss", "Loss", [line, line], x_title="Step", y_title="Loss", unit="nats"),
    ]
    assert None not in found
    return found


def test_plotly_accepts_every_figure(verdict: Verdict) -> None:
    import plotly.graph_objects as go

    for chart in charts(verdict):
        figure = json.loads(re.sub(r"var\(--[\w-]+\)", "#123456", json.dumps(chart.plotly, allow_nan=False)))
        assert go.Figure(figure).data


def test_every_launch_with_a_value_is_one_dot_in_both_drawings(verdict: Verdict) -> None:
    chart = launches.chart(verdict, "Step time", "../runs/")
    dots = [launch for launch in verdict.launches if launch.value is not None]
    lost = [launch for launch in verdict.launches if launch.value is None]
    assert (len(dots), len(lost)) == (9, 1)
    assert [len(trace["x"]) for trace in chart.plotly["data"]] == [5, 4, 1]
    assert len(re.findall(r'class="sp-dot', chart.svg)) == 9 + 2, "and two in the legend"
    assert chart.svg.count("sp-lost") == 1


def test_the_waterfall_adds_up(verdict: Verdict) -> None:
    trace = parts.waterfall(verdict).plotly["data"][0]
    assert sum(trace["x"][:-1]) == pytest.approx(trace["x"][-1], abs=1e-6)
    assert trace["measure"][-1] == "total"


def test_without_a_value_there_is_no_figure(verdict: Verdict) -> None:
    nothing = replace(
        verdict,
        launches=tuple(replace(launch, value=None) for launch in verdict.launches),
        effect=replace(verdict.effect, ratio=None, low=None, high=None, baseline=None, candidate=None),
        accounting=replace(verdict.accounting, parts=(), difference=None, residual=None),
    )
    assert launches.chart(nothing, "Step time", "") is None
    assert interval.chart(nothing, (0.95, 1.05)) is None
    assert parts.side_by_side(nothing) is None
    assert parts.waterfall(nothing) is None
    assert series.chart("x", "X", [series.Line("x", [1], [None])], x_title="", y_title="", unit="s") is None


def test_a_hostile_name_is_escaped_in_svg_and_hover(verdict: Verdict) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    named = tuple(replace(launch, stack=hostile if launch.stack == "slow" else "fast") for launch in verdict.launches)
    chart = launches.chart(replace(verdict, baseline=hostile, launches=named), "Step time", "")
    assert "<img" not in chart.svg
    assert not any("<img" in text for trace in chart.plotly["data"] for text in trace["text"])


@pytest.mark.parametrize("span", [(0.0, 1.0), (0.07, 0.11), (99.0, 1234.0), (-3.0, 5.0), (1e-9, 2e-9)])
def test_ticks_are_few_round_and_inside(span: tuple[float, float]) -> None:
    ticks = Axis(*span, 0, 100).ticks
    assert 3 <= len(ticks) <= 8
    assert all(-0.1 <= at <= 100.1 for at, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)


@pytest.mark.parametrize(
    ("value", "unit", "name"), [(0.05, "s", "ms"), (3e9, "B", "GiB"), (0.4, "share", "%"), (0, "s", "ns")]
)
def test_an_axis_counts_in_a_readable_unit(value: float, unit: str, name: str) -> None:
    assert unit_for([value], unit).name == name
    assert math.isfinite(unit_for([value], unit)(value))


def test_a_single_point_has_an_axis() -> None:
    chart = series.chart("x", "X", [series.Line("x", [1], [2.0])], x_title="", y_title="", unit="s")
    assert "nan" not in str(chart.svg)


def test_a_missing_value_breaks_the_line_in_both_drawings() -> None:
    line = series.Line("x", [1, 2, 3, 4], [1.0, 2.0, None, 3.0])
    chart = series.chart("x", "X", [line], x_title="", y_title="", unit="nats")
    assert chart.plotly["data"][0]["y"] == [1.0, 2.0, None, 3.0]
    assert chart.svg.count("<polyline") == 2


def test_a_long_series_is_thinned_and_says_so() -> None:
    many = series.Line("x", list(range(9000)), [float(i) for i in range(9000)])
    chart = series.chart("x", "X", [many], x_title="", y_title="", unit="nats")
    assert len(chart.plotly["data"][0]["x"]) == 3000
    assert "4000 points" in chart.alt


def test_figures_say_in_words_what_they_show(verdict: Verdict, tmp_path: Path) -> None:
    for chart in charts(verdict):
        assert len(chart.alt) > 30
        assert re.search(r"\d", chart.alt)
