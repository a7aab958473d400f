"""What a page prints is what a query gives, and every number leads somewhere."""

import json
import re
from pathlib import Path

from ledger import catalog
from ledger.workspace import find
from sitegen.comparison import judge_all
from sitegen.format import ratio, seconds, value
from tests.sitegen.pages import made

PAGE = "comparisons/tiny/slow-vs-fast.html"


def figure(page: str, id: str) -> dict:
    block = page[page.index(f'id="{id}"') :]
    return json.loads(re.search(r'class="sp-data">(.*?)</script>', block, re.DOTALL)[1])


def test_the_launches_on_the_page_are_the_catalogs(folder: Path, site: Path) -> None:
    with catalog.open(folder / "evidence") as index:
        rows = index.query(
            "SELECT run_id, value FROM metrics JOIN runs USING (run_id) "
            "WHERE role = 'timed' AND metric = 'step_time' AND value IS NOT NULL"
        ).rows
    assert len(rows) == len(made.SLOW) + len(made.FAST)
    page = (site / PAGE).read_text()
    for run_id, amount in rows:
        assert re.search(rf'<td class="sp-num">{seconds(amount)}</td>.*{run_id}', page), run_id
    drawn = [y for trace in figure(page, "launches")["data"][:2] for y in trace["y"]]
    assert sorted(drawn) == sorted(float(f"{amount * 1000:.6g}") for _, amount in rows)


def test_the_page_says_what_the_verdict_says(folder: Path, site: Path) -> None:
    (verdict,) = judge_all(find(folder))
    page = (site / PAGE).read_text()
    assert verdict.sentence in page
    assert f"<dd>{ratio(verdict.effect.ratio, verdict.effect.low, verdict.effect.high)}</dd>" in page
    for note in (*verdict.downgrades, *verdict.readiness.reasons):
        assert note.text in page
    saved = json.loads((site / PAGE.replace(".html", ".json")).read_text())
    assert saved["effect"]["ratio"] == verdict.effect.ratio
    for part in verdict.accounting.parts:
        if part.parent is None and part.shown:
            assert seconds(part.baseline) in page
    (tables,) = re.findall(r"Measured difference, timed launches.*", page)
    assert "ms" in tables


def test_the_first_page_shows_question_verdict_and_readiness(folder: Path, site: Path) -> None:
    (verdict,) = judge_all(find(folder))
    page = (site / "index.html").read_text()
    assert verdict.declared.question in page
    assert verdict.sentence in page
    assert verdict.decision in page
    assert ("Ready to decide" if verdict.readiness.ready else "Not ready to decide") in page


def test_a_run_page_shows_every_metric_of_the_run(folder: Path, site: Path) -> None:
    with catalog.open(folder / "evidence") as index:
        rows = index.query("SELECT run_id, definition, value, unit, missing_reason FROM metrics").dicts()
    for row in rows:
        page = (site / f"runs/{row['run_id']}/index.html").read_text()
        shown = value(row["value"], row["unit"]) if row["value"] is not None else row["missing_reason"]
        assert row["definition"] in page
        assert f">{shown}<" in page


def test_a_failed_run_has_a_page_like_any_other(folder: Path, site: Path) -> None:
    with catalog.open(folder / "evidence") as index:
        ((run_id,),) = index.query("SELECT run_id FROM runs WHERE state = 'failed'").rows
    page = (site / f"runs/{run_id}/index.html").read_text()
    assert "out of memory" in page
    assert "it went wrong" in page
    assert "boom" in page
    assert run_id in (site / PAGE).read_text()
    assert run_id in (site / "evidence.html").read_text()


def test_files_on_a_run_page_are_the_sealed_ones(folder: Path, site: Path) -> None:
    with catalog.open(folder / "evidence") as index:
        rows = index.query("SELECT f.run_id, f.path, f.sha256, r.path FROM files f JOIN runs r USING (run_id)").rows
    for run_id, path, digest, place in rows:
        published = site / f"runs/{run_id}/files/{path}"
        assert published.read_bytes() == (folder / "evidence" / place / path).read_bytes()
        assert digest in (site / f"runs/{run_id}/index.html").read_text()


def test_every_query_on_the_page_runs(folder: Path, site: Path) -> None:
    import html
    import shlex

    page = html.unescape((site / PAGE).read_text())
    queries = re.findall(r"<code>(stackproof query .*?)</code>", page)
    assert len(queries) >= 6
    with catalog.open(folder / "evidence") as index:
        for line in queries:
            assert index.query(shlex.split(line)[2]).columns
