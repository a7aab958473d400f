"""Where the order changes over the load: planted latencies in sealed runs, judged as a workspace's own evidence is."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from scipy.special import stdtrit

from ledger import benchmark as benchmark_file
from ledger import catalog, parquet
from ledger.metrics import load_levels
from ledger.metrics.registry import Missing
from ledger.metrics.requests import levels
from sitegen.comparison import report
from sitegen.comparison.evidence import load
from sitegen.comparison.flips import words
from sitegen.comparison.judge import judge_file
from sitegen.comparison.verdict import Verdict
from sitegen.pages.flips import charts
from tests import factory
from tests.serving import PRICE, SERVE, benchmark, failed, make_run, request
from tests.sitegen.comparison.test_request_work import judged

LEVELS = (1.0, 2.0, 4.0, 8.0)
OPEN = {
    **SERVE,
    "load": {"arrivals": {"rate": LEVELS[0]}, "requests": 200, "max_output_tokens": 16, "sweep": list(LEVELS[1:])},
}
FACTORS = (0.98, 1.0, 1.03, 0.99, 1.01)
"""Of the five launches of a side: all their latencies are so much longer."""


def driven(latency: dict[float, float], *, factor: float = 1.0, of: int = 200, **changes: Any) -> list[dict[str, Any]]:
    """An open loop over levels, {level: seconds of each request}; half of it until the first token."""
    rows = []
    for level, seconds in latency.items():
        took = round(seconds * factor * 1e9)
        for number in range(of):
            due = round(number * 1e9 / level)
            times = {"scheduled_ns": due, "sent_ns": due, "first_token_ns": due + took // 2, "ended_ns": due + took}
            phase = "measured" if level == LEVELS[0] else "sweep"
            rows.append(request(number, phase=phase, level=level, **times, **changes))
    return rows


SLOW = {1.0: 0.2, 2.0: 0.2, 4.0: 0.2, 8.0: 0.2}
FAST = {1.0: 0.1, 2.0: 0.1 * math.sqrt(2), 4.0: 0.2 * math.sqrt(2), 8.0: 0.4}
"""Crosses SLOW between 2 and 4, in the middle of the logarithms: at 2 sqrt(2)."""


def keys(limits: dict[str, str] | None = None, **objective: str) -> dict[str, Any]:
    found = benchmark(OPEN, limits)
    found["envelope"]["objective"] = objective or {"minimise": "e2e.mean"}
    return found


def verdict(
    folder: Path,
    slow: list[dict[float, float]],
    fast: list[dict[float, float]],
    declared: dict[str, Any] | None = None,
    **changes: Any,
) -> Verdict:
    factors = FACTORS[: len(slow)]
    sides = {
        "slow": [driven(each, factor=f, **changes) for each, f in zip(slow, factors, strict=True)],
        "fast": [driven(each, factor=f, **changes) for each, f in zip(fast, factors[::-1], strict=True)],
    }
    return judged(folder, sides, declared or keys())


def test_a_planted_crossing_is_found_with_its_interval(tmp_path: Path) -> None:
    found = verdict(tmp_path, [SLOW] * 5, [FAST] * 5)
    (curve,) = found.flips.load
    (crossing,) = curve.crossings
    assert (curve.metric, curve.over_unit, curve.compared, curve.crossing) == ("e2e.mean", "requests/s", 5, 5)
    assert crossing.at == pytest.approx(2 * math.sqrt(2), rel=1e-6)
    assert crossing.low is not None
    assert crossing.high is not None
    # Pairs differ by a factor that is the same at all levels, and the log ratio rises by 1 with the log load there.
    offsets = [math.log(fast / slow) for slow, fast in zip(FACTORS, FACTORS[::-1], strict=True)]
    half = stdtrit(4, 0.975) * stdev(offsets) / math.sqrt(5)
    assert (crossing.low, crossing.high) == pytest.approx(
        (crossing.at * math.exp(-half), crossing.at * math.exp(half)), rel=1e-6
    )
    assert (crossing.below, crossing.above) == ("fast", "slow")
    assert words.curve(curve)[0] == (
        "Up to 2.83 requests/s (95 % interval 2.75 to 2.91) fast is better, beyond it slow."
    )
    assert words.curve(curve)[1] == "The order changes in 5 of 5 pairs of launches."
    assert [point.ratio for point in curve.points] == pytest.approx([0.5, 0.5 * math.sqrt(2), math.sqrt(2), 2.0])
    text = report.to_text(found)
    assert "Where it flips" in text
    assert "Up to 2.83 requests/s" in text
    assert max(map(len, text.splitlines())) <= 80
    data = json.loads(json.dumps(report.to_json([found]), allow_nan=False))["verdicts"][0]["flips"]
    assert data["load"][0]["crossings"][0]["at"] == crossing.at


def test_swapped_sides_cross_at_the_same_place(tmp_path: Path) -> None:
    swapped = keys() | {"comparisons": [{"baseline": "fast", "candidate": "slow", "threshold": "5%"}]}
    there = verdict(tmp_path / "a", [SLOW] * 5, [FAST] * 5).flips.load[0].crossings[0]
    back = verdict(tmp_path / "b", [SLOW] * 5, [FAST] * 5, swapped).flips.load[0].crossings[0]
    assert (back.at, back.low, back.high) == pytest.approx((there.at, there.low, there.high))
    assert (back.below, back.above) == (there.below, there.above)


def test_where_more_is_better_the_same_crossing_has_its_sides_the_right_way(tmp_path: Path) -> None:
    """With few requests a launch the throughput of the quicker side is higher, as the last one ends sooner."""
    found = verdict(tmp_path, [SLOW] * 3, [FAST] * 3, keys(maximise="request_throughput"), of=3)
    (curve,) = found.flips.load
    assert not curve.lower_is_better
    (crossing,) = curve.crossings
    assert 2 < crossing.at < 4
    assert (crossing.below, crossing.above) == ("fast", "slow")


def test_parallel_curves_do_not_cross(tmp_path: Path) -> None:
    half = {level: seconds / 2 for level, seconds in SLOW.items()}
    (curve,) = verdict(tmp_path, [SLOW] * 5, [half] * 5).flips.load
    assert (curve.crossings, curve.better, curve.crossing) == ((), "fast", 0)
    assert words.curve(curve) == (
        "Up to 8 requests/s the order does not change: fast is better at each of 4 points, by more than chance at 4.",
    )


def test_a_launch_without_a_crossing_is_counted(tmp_path: Path) -> None:
    always = {level: seconds / 2.5 for level, seconds in FAST.items()}
    (curve,) = verdict(tmp_path, [SLOW] * 5, [FAST, FAST, FAST, FAST, always]).flips.load
    (crossing,) = curve.crossings
    assert (curve.crossing, curve.compared) == (4, 5)
    assert crossing.at > 2 * math.sqrt(2)
    assert "The order changes in 4 of 5 pairs of launches." in words.curve(curve)
    assert "open above" in words.curve(curve)[0]


def test_two_launches_a_side_give_a_crossing_without_an_interval(tmp_path: Path) -> None:
    (curve,) = verdict(tmp_path, [SLOW] * 2, [FAST] * 2).flips.load
    assert [(each.low, each.high) for each in curve.crossings] == [(None, None)]
    assert curve.no_bounds == "fewer than 3 launches a side"
    assert words.curve(curve)[0] == "Up to 2.83 requests/s fast is better, beyond it slow."
    assert words.curve(curve)[-1] == "No interval: fewer than 3 launches a side."
    assert all(point.low is None for point in curve.points)


def test_a_metric_that_one_side_lacks_is_absent_with_the_reason(tmp_path: Path) -> None:
    sides = {
        "slow": [driven(SLOW, factor=f) for f in FACTORS[:3]],
        "fast": [[{**row, "first_token_ns": None} for row in driven(FAST, factor=f)] for f in FACTORS[:3]],
    }
    found = judged(tmp_path, sides, keys({"ttft.p95": "<= 1 s"}))
    curve = {each.metric: each for each in found.flips.load}["ttft.p95"]
    assert curve.absent == "fast: no request was answered with what it is measured from"
    assert [point.baseline for point in curve.points] == pytest.approx([0.1] * 4, rel=0.02)
    assert {point.candidate for point in curve.points} == {None}
    assert charts(found)["load", "ttft.p95"] is None
    assert [each.absent for each in found.flips.held][1] == "at 1, ttft.p95: " + curve.absent.partition(": ")[2]


def test_a_percentile_needs_its_requests_at_each_level(tmp_path: Path) -> None:
    found = verdict(tmp_path, [SLOW] * 3, [FAST] * 3, keys({"e2e.p95": "<= 1 s"}), of=100)
    assert found.flips.load[1].absent == "slow: p95 needs 200 requests; there are 100"
    assert len(found.flips.load[0].crossings) == 1


def test_a_metric_of_a_whole_launch_has_no_load(tmp_path: Path) -> None:
    (curve,) = verdict(tmp_path, [SLOW] * 3, [FAST] * 3, keys(minimise="startup_time"), of=20).flips.load
    assert curve.absent == "slow: it is told for a whole launch only, and not by level of load"


def test_the_highest_load_that_holds_the_limits_lies_between_the_levels(tmp_path: Path) -> None:
    """0.2 s at 2, 0.4 s at 4: a limit of 0.2 sqrt(2) s breaks at 2 sqrt(2), half way on the logarithm."""
    rising = {1.0: 0.1, 2.0: 0.2, 4.0: 0.4, 8.0: 0.8}
    found = verdict(tmp_path, [rising] * 5, [SLOW] * 5, keys({"e2e.p95": f"<= {0.2 * math.sqrt(2)} s"}))
    slow, fast = found.flips.held
    spread = math.prod(FACTORS) ** (1 / 5)
    assert slow.load == pytest.approx(2 * math.sqrt(2) / spread, rel=1e-6)
    assert slow.low is not None
    assert slow.high is not None
    assert slow.low < slow.load < slow.high
    assert (slow.breaks, slow.held_all, slow.held_none, slow.launches) == ("e2e.p95", 0, 0, 5)
    assert (fast.load, fast.held_all, fast.most) == (None, 5, 8.0)
    assert words.held(fast) == "fast: every launch held all that was driven, up to 8 requests/s."
    assert words.held(slow).startswith("slow: up to 2.82 requests/s (95 % interval 2.7")


def test_a_side_that_does_not_keep_up_breaks_by_its_achieved_load(tmp_path: Path) -> None:
    """At 8 a second requests wait for each other: the server carries 4, which is half of what is offered."""
    sides = {}
    for stack in ("slow", "fast"):
        sides[stack] = []
        for factor in FACTORS[:3]:
            rows = driven({1.0: 0.1, 2.0: 0.1, 4.0: 0.1}, factor=factor)
            for number in range(200):
                due, end = round(number * 1e9 / 8), round((number + 1) * 1e9 / 4 * factor)
                times = {"scheduled_ns": due, "sent_ns": due, "first_token_ns": end - 1000, "ended_ns": end}
                rows.append(request(number, phase="sweep", level=8.0, **times))
            sides[stack].append(rows)
    found = judged(tmp_path, sides, keys())
    for each in found.flips.held:
        assert each.breaks == "achieved_load"
        assert each.load is not None
        assert 4 < each.load < 8


def test_launches_that_hold_nothing_or_everything_have_no_interval(tmp_path: Path) -> None:
    rising = {1.0: 0.1, 2.0: 0.2, 4.0: 0.4, 8.0: 0.8}
    low = dict.fromkeys(LEVELS, 0.01)
    high = dict.fromkeys(LEVELS, 1.0)
    found = verdict(tmp_path, [rising, rising, low], [rising, high, rising], keys({"e2e.mean": "<= 300 ms"}), of=20)
    slow, fast = found.flips.held
    assert (slow.load, slow.held_all, slow.held_none) == (None, 1, 0)
    assert slow.least == pytest.approx(2 * 2 ** math.log2(0.3 / 0.2), rel=0.05)
    assert "1 of 3 launches held all that was driven" in words.held(slow)
    assert (fast.load, fast.held_none, fast.least) == (None, 1, None)
    assert words.held(fast).startswith("fast: in 1 of 3 launches not even the lowest driven load held")


def test_no_sweep_says_how_to_get_one(tmp_path: Path) -> None:
    one = {LEVELS[0]: 0.1}
    without = keys() | {"workload": SERVE}
    sides = {stack: [driven(one, factor=f, of=20) for f in FACTORS[:3]] for stack in ("slow", "fast")}
    found = judged(tmp_path, sides, without)
    assert found.flips.load == found.flips.held == ()
    assert found.flips.load_absent is not None
    assert "workload.load.sweep" in found.flips.load_absent
    assert "By load: not told" in report.to_text(found)


def test_the_figure_has_both_sides_the_crossing_and_words(tmp_path: Path) -> None:
    found = verdict(tmp_path, [SLOW] * 3, [FAST] * 3, of=20)
    drawn = charts(found)["load", "e2e.mean"]
    assert drawn is not None
    slow, fast, mark, bounds = drawn.plotly["data"]
    assert (slow["name"], fast["name"], mark["name"]) == ("slow", "fast", "order changes")
    assert slow["x"] == fast["x"] == [1, 2, 4, 8]
    assert mark["x"] == pytest.approx([2 * math.sqrt(2)] * 2)
    (crossing,) = found.flips.load[0].crossings
    assert bounds["x"] == [crossing.low, crossing.high]
    assert "Up to 2.83 requests/s" in drawn.alt
    assert "slow: 201 ms at 1, 201 ms at 8 requests/s." in drawn.alt


def test_launches_that_did_not_take_turns_are_compared_side_by_side(tmp_path: Path) -> None:
    declared = keys()
    for place, (stack, latency) in enumerate((("slow", SLOW), ("fast", FAST))):
        for repeat, factor in enumerate(FACTORS[:4], 1):
            order = 4 * place + repeat
            rows = driven(latency, factor=factor, of=20)
            started = f"2026-11-30T12:{order:02}:00.000000Z"
            make_run(tmp_path / "evidence", rows, declared, stack, repeat=repeat, order=order, started=started)
    file = benchmark_file.read(factory.write_benchmark(tmp_path / "benchmarks", **declared))
    with catalog.open(tmp_path / "evidence") as opened:
        (found,) = judge_file(opened, file, tmp_path / "evidence")
    (curve,) = found.flips.load
    (crossing,) = curve.crossings
    half = stdtrit(3, 0.975) * math.sqrt(2) * stdev(math.log(factor) for factor in FACTORS[:4]) / math.sqrt(4)
    assert crossing.at == pytest.approx(2 * math.sqrt(2), rel=1e-6)
    assert (crossing.low, crossing.high) == pytest.approx(
        (crossing.at * math.exp(-half), crossing.at * math.exp(half)), rel=1e-6
    )
    assert (curve.compared, curve.crossing) == (0, 0)
    assert curve.method.endswith("4 and 4 launches, each side for itself")
    assert "pairs" not in " ".join(words.curve(curve))


def test_levels_that_are_no_load_and_levels_without_an_answer_break_nothing(tmp_path: Path) -> None:
    """What others recorded may hold anything: it is left out, and the rest is judged."""
    odd = [
        request(number, phase="sweep", level=level) for level in (0.0, -1.0, math.inf, math.nan) for number in (0, 1)
    ]
    lost = [failed(number) | {"phase": "sweep", "level": 16.0} for number in range(5)]
    sides = {
        "slow": [[*driven(SLOW, factor=f, of=20), *odd, *lost] for f in FACTORS[:3]],
        "fast": [[*driven(FAST, factor=f, of=20), *odd, *lost] for f in FACTORS[:3]],
    }
    found = judged(tmp_path, sides, keys())
    (curve,) = found.flips.load
    assert [point.at for point in curve.points] == [1, 2, 4, 8, 16]
    assert curve.points[-1].absent == "slow: no request was answered with what it is measured from"
    assert len(curve.crossings) == 1
    assert words.curve(curve)[-1] == (
        "Left out at 16 requests/s: slow: no request was answered with what it is measured from."
    )
    json.dumps(report.to_json([found]), allow_nan=False)


def test_what_sql_sums_up_is_what_the_metrics_define(tmp_path: Path) -> None:
    """Every metric of a level, from the aggregated rows and from the requests themselves."""
    chance = random.Random(7)  # noqa: S311 (no secret is made)
    rows = []
    for level in LEVELS[:2]:
        for number in range(250):
            if chance.random() < 0.05:
                rows.append(failed(number) | {"level": level})
                continue
            due = round(number * 1e9 / level)
            first = due + round(chance.uniform(0.01, 0.2) * 1e9)
            last = first + round(chance.uniform(0.01, 2) * 1e9)
            times = {"scheduled_ns": due, "sent_ns": due + 1000, "first_token_ns": first, "ended_ns": last}
            told = {"output_tokens": chance.choice([1, 5, 9]), "queue_ns": chance.choice([None, 5_000_000])}
            item = {"item": chance.choice([None, "q1", f"q{number}"]), "accepted": chance.choice([True, False, None])}
            rows.append(request(number, level=level, **times, **told, **item, cached_tokens=3))
    for row in rows:
        row["phase"] = "measured" if row["level"] == LEVELS[0] else "sweep"
    prices = [{**PRICE, "per": per} for per in ("device_hour", "request", "million_cached_tokens")]
    prices += [{**PRICE, "per": f"million_{side}_tokens"} for side in ("input", "output")]
    declared = keys()
    declared["stacks"]["slow"]["price"] = prices
    devices = {"hardware": {"devices": [{"name": "one"}, {"name": "two"}, {"name": "three"}]}}
    made = make_run(tmp_path / "evidence", rows, declared, environment=devices)
    with catalog.open(tmp_path / "evidence") as opened:
        (run,) = load(opened, "tiny").runs
    table = parquet.read(made / "samples/requests.parquet")
    for found, (level, requests) in zip(run.levels, levels(table), strict=True):
        assert found.level == level
        families = [f"{family}.{name}" for family in load_levels.FAMILIES for name in ("mean", "p50", "p95", "p99")]
        for name in families:
            expected = load_levels.latency(requests, name)
            value = found.value(name)
            assert isinstance(value, Missing) == isinstance(expected, Missing), name
            assert isinstance(value, Missing) or value == pytest.approx(expected), name
        assert found.value("error_rate") == pytest.approx(load_levels.error_rate(requests))
        assert found.value("acceptance_rate") == pytest.approx(load_levels.acceptance_rate(requests))
        assert found.value("accepted_throughput") == pytest.approx(load_levels.accepted_rate(requests))
        assert found.achieved == pytest.approx(requests.achieved)
        assert found.span == pytest.approx(requests.span)
    sealed = {row["metric"]: row["value"] for row in json.loads((made / "metrics.json").read_text())}
    (measured,) = [each for each in run.levels if each.level == LEVELS[0]]
    for name in ("request_throughput", "output_token_throughput", "queue_time", "achieved_load"):
        assert measured.value(name) == pytest.approx(sealed[name]), name
    at_capacity = next(each for each in run.levels if each.level == sealed["capacity"])
    assert at_capacity.value("cost_per_accepted_result") == pytest.approx(sealed["cost_per_accepted_result"])
