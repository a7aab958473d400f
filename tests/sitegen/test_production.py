"""A benchmark's load beside production's traffic: planted differences, found and told in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import benchmark as benchmark_file
from ledger import traffic
from ledger.traffic import Traffic
from sitegen import production
from tests import factory
from tests.serving import SERVE, TASKS, benchmark, make_run, request
from tests.sitegen.pages import made

TRAFFIC = "traffic/gateway.json"


def recorded(count: int = 400, *, gap: Any = lambda n: 0.1, inputs: Any = lambda n: 20, **more: Any) -> Traffic:
    """Traffic whose gaps and lengths are functions of the request's number."""
    arrivals = [0.0]
    for number in range(1, count):
        arrivals.append(arrivals[-1] + gap(number))
    return Traffic(
        arrivals_s=tuple(arrivals),
        input_lengths=tuple(inputs(number) for number in range(count)),
        output_lengths=(5,) * count,
        prefixes=((),) * count,
        block=None,
        unit=more.pop("unit", "tokens"),
        source={"log": "gateway.jsonl"},
        **more,
    )


def keys(workload: dict[str, Any] = SERVE, **demand: Any) -> dict[str, Any]:
    """A benchmark that names the traffic."""
    found = benchmark(workload)
    found["envelope"]["demand"] = {"requests_per_day": 1000, "traffic": TRAFFIC, **demand}
    return found


def compared(root: Path, log: Traffic | None, declared: dict[str, Any] | None = None, **changes: Any) -> Any:
    """The page's part for one launch of 200 requests."""
    if log is not None:
        traffic.write(root / TRAFFIC, log)
    declared = declared or keys()
    rows = [request(number, **changes) for number in range(200)]
    folder = make_run(root / "evidence", rows, declared)
    path = factory.write_benchmark(root / "benchmarks", **declared)
    return production.of(root, benchmark_file.read(path).benchmark, {"slow": [folder]})


def quantity(found: Any, name: str) -> production.Quantity:
    assert isinstance(found, production.Production), found
    return next(each for each in found.quantities if each.id == name)


def test_the_same_traffic_is_called_alike(tmp_path: Path) -> None:
    found = compared(tmp_path, recorded())
    for name in ("input", "output", "gaps"):
        each = quantity(found, name)
        (said,) = each.said
        assert "much like production's" in said
        assert (each.samples[1].moved, each.samples[1].apart) == (pytest.approx(0), pytest.approx(0))
    assert found.requests == 400
    assert found.log == "gateway.jsonl"


def test_prompts_three_times_shorter_are_found_and_what_that_does_is_said(tmp_path: Path) -> None:
    each = quantity(compared(tmp_path, recorded(inputs=lambda n: 60)), "input")
    assert each.said == (
        "slow: 3 times shorter than production's: time to first token and memory will look better than they will be.",
    )
    assert (each.samples[0].mean, each.samples[1].mean) == (60, 20)
    assert each.samples[1].moved == pytest.approx(40 / 60)
    assert each.samples[1].apart == 1


def test_steady_arrivals_against_bursts(tmp_path: Path) -> None:
    each = quantity(compared(tmp_path, recorded(gap=lambda n: 1.0 if n % 10 == 0 else 0.01)), "gaps")
    (said,) = each.said
    assert "waiting in the queue will look shorter than it will be" in said
    assert each.samples[0].mean == pytest.approx(1)


def test_the_rate_does_not_change_the_shape_of_arrivals(tmp_path: Path) -> None:
    each = quantity(compared(tmp_path, recorded(gap=lambda n: 7.0)), "gaps")
    assert "much like production's" in each.said[0]


def test_a_closed_loop_has_no_arrivals_to_compare(tmp_path: Path) -> None:
    closed = {**SERVE, "load": {"concurrency": 1, "requests": 200, "max_output_tokens": 16}}
    each = quantity(compared(tmp_path, recorded(), keys(closed), scheduled_ns=None), "gaps")
    assert each.absent is not None
    assert "closed loop" in each.absent


def test_characters_are_not_compared_with_tokens(tmp_path: Path) -> None:
    found = compared(tmp_path, recorded(unit="characters"))
    assert quantity(found, "input").absent == "the log counts characters, and the launches count tokens"
    assert quantity(found, "output").absent is None


def test_a_log_without_lengths(tmp_path: Path) -> None:
    assert quantity(compared(tmp_path, recorded(inputs=lambda n: None)), "input").absent == "the log does not tell it"


def test_shared_beginnings_and_what_came_from_a_cache(tmp_path: Path) -> None:
    log = Traffic((0.0, 1.0), (20, 20), (5, 5), ((1, 2), (1, 2)), 10, "tokens")
    found = compared(tmp_path, log, cached_tokens=5)
    assert isinstance(found, production.Production)
    assert found.shared_prefix == pytest.approx(0.5)
    assert found.cached == {"slow": pytest.approx(0.25)}


def test_a_replayed_log_is_production_without_being_named_again(tmp_path: Path) -> None:
    load = {"from_log": {"path": TRAFFIC, "scale": 1.0}, "requests": 200, "max_output_tokens": 16}
    declared = keys({**SERVE, "load": load})
    del declared["envelope"]["demand"]["traffic"]
    assert isinstance(compared(tmp_path, recorded(), declared), production.Production)


@pytest.mark.parametrize(
    ("log", "declared", "said"),
    [
        (None, None, f"{TRAFFIC} cannot be read (No such file or directory)"),
        (None, benchmark(SERVE), "no log of production's requests is named"),
    ],
)
def test_without_a_log_the_reason_is_told(tmp_path: Path, log: Any, declared: Any, said: str) -> None:
    assert compared(tmp_path, log, declared) == said


def test_a_workload_without_a_load_has_no_such_part(tmp_path: Path) -> None:
    path = factory.write_benchmark(tmp_path, **benchmark(TASKS))
    assert production.of(tmp_path, benchmark_file.read(path).benchmark, {}) is None


def test_the_page_tells_both_and_links_the_definitions(tmp_path: Path) -> None:
    root = made.empty_workspace(tmp_path)
    traffic.write(root / TRAFFIC, recorded(inputs=lambda n: 60 + n % 7))
    declared = {**keys(), "comparisons": COMPARISONS}
    factory.write_benchmark(root / "benchmarks", **declared)
    for order, (stack, repeat) in enumerate([("slow", 1), ("fast", 1), ("fast", 2), ("slow", 2)], 1):
        rows = [request(number) for number in range(200)]
        make_run(root / "evidence", rows, declared, stack, repeat=repeat, order=order)
    done = made.stackproof(root, "build", "--strict")
    assert done.returncode == 0, done.stderr
    page = (root / "site/comparisons/tiny/slow-vs-fast.html").read_text()
    for words in (
        "At the stated demand",
        "1,000 requests a day",
        "Cost a month at the demand",
        "glossary.html#metric-cost-per-month-at-demand",
        "73",
        "Beside production",
        "3.15 times shorter than production",
        "load-input",
    ):
        assert words in page, words


COMPARISONS = [{"baseline": "slow", "candidate": "fast", "threshold": "5%"}]
