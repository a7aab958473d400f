"""Where the faster side changes with the length of input or output: planted in sealed runs, and worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sitegen.comparison import report
from sitegen.comparison.flips import length, words
from sitegen.comparison.verdict import Verdict
from sitegen.pages.flips import charts
from tests.serving import SERVE, TASKS, attempt, benchmark, failed, request
from tests.sitegen.comparison.test_flips_by_load import FACTORS
from tests.sitegen.comparison.test_request_work import judged

LENGTHS = (16, 64, 256, 1024)
EACH = 25
"""Requests of each length."""
SLOPES = {"slow": 0.5, "fast": 1.0}
"""Seconds go with the length to this power: both need 0.2 s at 128 tokens, `fast` less below."""


def took(stack: str, tokens: float) -> float:
    return 0.2 * (tokens / 128) ** SLOPES[stack]


def asked(stack: str, factor: float, **changes: Any) -> list[dict[str, Any]]:
    """Requests of all lengths of input, of 5 tokens of output; `over` makes it the output's lengths."""
    over = changes.pop("over", "input_tokens")
    rows = []
    for number in range(EACH * len(LENGTHS)):
        tokens = LENGTHS[number % len(LENGTHS)]
        due = number * 100_000_000
        end = due + round(took(stack, tokens) * factor * 1e9)
        times = {"scheduled_ns": due, "sent_ns": due, "first_token_ns": due + 1_000_000, "ended_ns": end}
        rows.append(request(number, **times, **{over: tokens}, **changes))
    return rows


def keys(limits: dict[str, str] | None = None) -> dict[str, Any]:
    found = benchmark(SERVE, limits)
    found["envelope"]["objective"] = {"minimise": "e2e.mean"}
    return found


def verdict(folder: Path, limits: dict[str, str] | None = None, **changes: Any) -> Verdict:
    sides = {
        stack: [asked(stack, factor, **changes) for factor in factors]
        for stack, factors in (("slow", FACTORS), ("fast", FACTORS[::-1]))
    }
    return judged(folder, sides, keys(limits))


@pytest.mark.parametrize(("over", "column"), [("input", "input_tokens"), ("output", "output_tokens")])
def test_a_planted_crossing_is_found_with_its_interval(tmp_path: Path, over: str, column: str) -> None:
    found = verdict(tmp_path, over=column)
    curve = next(each for each in found.flips.length if each.over == over)
    (crossing,) = curve.crossings
    assert [point.at for point in curve.points] == list(LENGTHS)
    assert crossing.at == pytest.approx(128, rel=1e-6)
    assert crossing.low is not None
    assert crossing.high is not None
    assert 64 < crossing.low < 128 < crossing.high < 256
    assert (crossing.below, crossing.above) == ("fast", "slow")
    assert words.curve(curve)[0].startswith("Up to 128 tokens (95 % interval 1")
    assert curve.points[0].note == "16 tokens, 25 requests a launch or more"
    other = next(each for each in found.flips.length if each.over != over)
    told = "input" if over == "output" else "output"
    assert other.absent is not None
    assert other.absent.startswith(f"lengths of {told} from ")
    drawn = charts(found)[over, "e2e.mean"]
    assert drawn is not None
    assert "Up to 128 tokens" in drawn.alt
    text = report.to_text(found)
    assert f"by length of the {over}" in text
    assert max(map(len, text.splitlines())) <= 80
    json.dumps(report.to_json([found]), allow_nan=False)


def test_limited_latencies_are_shown_beside_the_whole_time(tmp_path: Path) -> None:
    found = verdict(tmp_path, {"ttft.p95": "<= 1 s", "acceptance_rate": ">= 0.1"})
    assert [(each.over, each.metric) for each in found.flips.length] == [
        ("input", "e2e.mean"),
        ("input", "ttft.mean"),
        ("output", "e2e.mean"),
        ("output", "ttft.mean"),
    ]
    ttft = found.flips.length[1]
    assert (ttft.crossings, ttft.better) == ((), None)
    assert words.curve(ttft) == ("From 16 to 1,024 tokens no change of the order can be told from chance.",)


def test_bins_are_common_and_hold_enough_requests_of_every_launch(tmp_path: Path) -> None:
    found = verdict(tmp_path)
    assert all("25 requests a launch or more" in point.note for point in found.flips.length[0].points)
    sides = {
        stack: [[*asked(stack, f), *(request(100 + n, input_tokens=5000) for n in range(9))] for f in FACTORS[:3]]
        for stack in ("slow", "fast")
    }
    few = judged(tmp_path / "few", sides, keys())
    assert few.flips.length[0].points[-1].note == "1,024 to 5,000 tokens, 34 requests a launch or more"


def test_answers_that_failed_take_no_part(tmp_path: Path) -> None:
    sides = {
        stack: [[*asked(stack, f), *(failed(100 + n) for n in range(50))] for f in FACTORS[:3]]
        for stack in ("slow", "fast")
    }
    curve = judged(tmp_path, sides, keys()).flips.length[0]
    assert [point.at for point in curve.points] == list(LENGTHS)
    assert curve.crossings[0].at == pytest.approx(128, rel=1e-6)


def test_tokens_that_the_sides_count_otherwise_are_no_length(tmp_path: Path) -> None:
    sides = {
        "slow": [asked("slow", f) for f in FACTORS[:3]],
        "fast": [[{**row, "input_tokens": row["input_tokens"] + 3} for row in asked("fast", f)] for f in FACTORS[:3]],
    }
    found = judged(tmp_path, sides, keys())
    assert found.flips.length == ()
    assert found.flips.length_absent is not None
    assert found.flips.length_absent.startswith("100 of 100 items have other counts of input tokens on the two sides")


def test_one_side_that_tells_no_tokens_leaves_nothing_to_compare(tmp_path: Path) -> None:
    sides = {
        "slow": [asked("slow", f) for f in FACTORS[:3]],
        "fast": [[{**row, "input_tokens": None} for row in asked("fast", f)] for f in FACTORS[:3]],
    }
    absent = judged(tmp_path, sides, keys()).flips.length_absent
    assert absent is not None
    assert "nothing shows that they are counted alike" in absent


def test_tasks_that_record_no_tokens_say_so(tmp_path: Path) -> None:
    sides = {stack: [[attempt(f"t{n}", 1 + n, True, n) for n in range(20)]] * 3 for stack in ("slow", "fast")}
    found = judged(tmp_path, sides, benchmark(TASKS))
    assert found.flips.length_absent == "no request or attempt tells its tokens"
    assert found.flips.load_absent == "a tasks workload has no levels of load"


def test_an_eighth_of_an_octave_is_the_finest_bin(tmp_path: Path) -> None:
    """However many lengths there are, a launch is a few dozen rows: 1,000 lengths from 1 to 1,000 are at most 80."""
    rows = [request(n, input_tokens=n + 1, ended_ns=n * 100_000_000 + 50_000_000 + n * 1000) for n in range(1000)]
    found = judged(tmp_path, {"slow": [rows] * 3, "fast": [rows] * 3}, keys())
    curve = found.flips.length[0]
    assert len(curve.points) <= length.MOST_BINS
    assert curve.points[0].note.startswith("1 to ")
    assert curve.points[-1].note.partition(" tokens")[0].endswith("to 1,000")
    assert all(math.isfinite(point.at) for point in curve.points)
    assert curve.better is None
