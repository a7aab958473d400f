"""The page of a serving comparison with a sweep: it says where the order changes as the verdict and the query do."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from ledger import catalog
from ledger.workspace import find
from sitegen.comparison import judge_all, report
from sitegen.comparison.flips import words
from sitegen.comparison.statistics import geometric_mean
from sitegen.format import value
from tests import factory
from tests.serving import make_run
from tests.sitegen.comparison.test_flips_by_load import FACTORS, FAST, SLOW, driven, keys
from tests.sitegen.pages import made

PAGE = "comparisons/tiny/slow-vs-fast"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = made.empty_workspace(tmp_path_factory.mktemp("swept"))
    declared = keys({"e2e.mean": "<= 350 ms"})
    declared["envelope"]["demand"] = {"requests_per_day": 100_000}
    factory.write_benchmark(root / "benchmarks", **declared)
    order = 0
    for repeat, factor in enumerate(FACTORS[:3], 1):
        sides = [("slow", SLOW, factor), ("fast", FAST, 2 - factor)]
        for stack, latency, own in sides if repeat % 2 else sides[::-1]:
            order += 1
            rows = driven(latency, factor=own, of=40)
            started = f"2026-11-30T12:{order:02}:00.000000Z"
            make_run(root / "evidence", rows, declared, stack, repeat=repeat, order=order, started=started)
    done = made.stackproof(root, "build", "--strict")
    assert done.returncode == 0, done.stderr
    return root


def test_page_terminal_and_json_say_the_same(workspace: Path) -> None:
    (verdict,) = judge_all(find(workspace))
    page = html.unescape((workspace / f"site/{PAGE}.html").read_text())
    terminal = " ".join(report.to_text(verdict).split())
    found = verdict.flips
    assert found.demand is not None
    said = [
        *(sentence for curve in (*found.load, *found.length) for sentence in words.curve(curve)),
        *(words.held(each) for each in found.held),
        *words.demand(found.demand),
    ]
    assert any("requests/s (95 % interval" in sentence for sentence in said)
    for sentence in said:
        assert sentence in page
        assert sentence in terminal
    saved = json.loads((workspace / f"site/{PAGE}.json").read_text())["flips"]
    assert saved["load"][0]["crossings"][0]["at"] == found.load[0].crossings[0].at
    assert saved["held"][1]["load"] == found.held[1].load


def test_the_query_behind_the_table_gives_its_numbers(workspace: Path) -> None:
    (verdict,) = judge_all(find(workspace))
    page = html.unescape((workspace / f"site/{PAGE}.html").read_text())
    lines = re.findall(r"<code>(stackproof query .*?)</code>", page)
    (line,) = [each for each in lines if "e2e_p95" in each]
    with catalog.open(workspace / "evidence") as index:
        rows = index.query(shlex.split(line)[2]).dicts()
        assert all(index.query(shlex.split(each)[2]).columns for each in lines)
    for point in verdict.flips.load[0].points:
        own = [row["e2e_mean"] for row in rows if row["stack"] == "fast" and row["level"] == point.at]
        assert point.candidate == pytest.approx(geometric_mean(own))
        assert f'<td class="sp-num">{value(point.candidate, "s")}</td>' in page


def test_each_figure_has_words_and_a_table(workspace: Path) -> None:
    page = html.unescape((workspace / f"site/{PAGE}.html").read_text())
    start = page.index('id="flips-load-e2e-mean"')
    figure = page[start : page.index("</figure>", start)]
    assert 'role="img" aria-label="slow: 20' in figure
    assert "Up to 2.8" in figure
    assert page.index("<caption>Time to the whole result (mean), by load", start) < page.index('id="flips-by-length"')
