"""Traces on a run's page: files, integrity, the picture of a step, and the button of a configured viewer."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path

import pytest

from ledger import catalog
from ledger.traces.integrity import DEFINITIONS
from ledger.workspace import find
from sitegen.pages import write
from tests.factory import make_run
from tests.ledger.traces.builder import annotation, op
from tests.ledger.traces.builder import write as write_trace
from tests.sitegen.pages import made

HOSTILE = "</title></svg><script>alert(1)</script>"


def page(target: Path, run: Path) -> str:
    return (target / f"runs/{run.name[-16:]}/index.html").read_text()


def with_trace(root: Path, events: list, repeat: int = 1) -> Path:
    data = write_trace(root / "trace.json.gz", events).read_bytes()
    (root / "trace.json.gz").unlink()
    return make_run(root / "evidence", role="profiled", repeat=repeat, trace=data)


def options(root: Path, viewer: str) -> None:
    config = root / "mkdocs.yml"
    text = config.read_text()
    assert "extra:\n" in text
    config.write_text(text.replace("extra:\n", f"extra:\n  stackproof: {{trace_viewer: {viewer}}}\n"))


def test_a_profiled_run_shows_its_trace_and_one_step(folder: Path, site: Path) -> None:
    with catalog.open(folder / "evidence") as index:
        rows = index.query(
            "SELECT run_id, sha256, events FROM runs JOIN files USING (run_id) JOIN trace_integrity USING (run_id)"
            " WHERE files.path = 'traces/rank-0.json.gz'"
        ).rows
        without = index.query("SELECT run_id FROM runs WHERE role = 'timed' LIMIT 1").rows[0][0]
    assert len(rows) == 6
    for run_id, digest, events in rows:
        text = (site / f"runs/{run_id}/index.html").read_text()
        section = text[text.index('<h2 id="traces">') : text.index('<h2 id="samples">')]
        assert 'href="files/traces/rank-0.json.gz"' in section
        assert digest in section
        assert f"{events:,} events read" in section
        assert "carries an explanation" in section
        assert "Timeline of step " in section
        assert section.count("<svg") == 1
        assert "aten::mm: " in section
        assert "<button" not in section
    assert 'id="traces"' not in (site / f"runs/{without}/index.html").read_text()


def test_the_query_on_the_page_gives_its_rows(folder: Path, site: Path) -> None:
    with catalog.open(folder / "evidence") as index:
        run_id = index.query("SELECT run_id FROM runs WHERE role = 'profiled'").rows[0][0]
        text = html.unescape((site / f"runs/{run_id}/index.html").read_text())
        line = next(found for found in re.findall(r"<code>(stackproof query .*?)</code>", text) if "integrity" in found)
        assert len(index.query(shlex.split(line)[2]).rows) == 1


def test_a_trace_that_cannot_be_read_says_why_and_has_no_picture(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    run = make_run(tmp_path / "evidence", role="profiled", trace=b"no trace at all")
    write(find(tmp_path), tmp_path / "out")
    text = page(tmp_path / "out", run)
    assert "carries no explanation" in text
    assert "<strong>the trace cannot be read: " in text
    assert "No timeline: no trace of this run carries an explanation." in text
    assert "<svg" not in text[text.index('<h2 id="traces">') : text.index('<h2 id="samples">')]


def test_each_kind_of_finding_is_explained_once_and_led_to(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    run = with_trace(tmp_path, [op("aten::mm", 10, 50), op("aten::mm", 10, 50)])
    write(find(tmp_path), tmp_path / "out")
    text = page(tmp_path / "out", run)
    codes = re.findall(r'<div id="finding-(\w+)"><dt>', text)
    assert set(codes) == {"no_steps", "duplicated"}
    for code in codes:
        assert f'<a href="#finding-{code}"' in text
        assert text.count(f'id="finding-{code}"') == 1
        assert html.escape(DEFINITIONS[code]) in text
    assert set(re.findall(r'href="#finding-(\w+)"', text)) == set(codes)


def test_a_trace_without_findings_explains_none(folder: Path, site: Path) -> None:
    with catalog.open(folder / "evidence") as index:
        clean = index.query("SELECT run_id FROM trace_integrity GROUP BY run_id HAVING count(code) = 0").rows
    for (run_id,) in clean:
        assert "What these findings mean" not in (site / f"runs/{run_id}/index.html").read_text()


def test_names_in_a_trace_are_text(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    run = with_trace(tmp_path, [annotation("ProfilerStep#1", 0, 100), op(HOSTILE, 10, 50, tid=HOSTILE)])
    write(find(tmp_path), tmp_path / "out")
    text = page(tmp_path / "out", run)
    assert "<script>alert" not in text
    assert "alert(1)" in html.unescape(text)


def test_what_was_drawn_once_is_kept(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    run = with_trace(tmp_path, [annotation("ProfilerStep#1", 0, 100), op("aten::mm", 10, 50)])
    write(find(tmp_path), tmp_path / "out")
    (kept,) = (tmp_path / ".stackproof/traces/pictures").iterdir()
    assert "aten::mm" in page(tmp_path / "out", run)
    kept.write_text(kept.read_text().replace("aten::mm", "aten::kept"))
    write(find(tmp_path), tmp_path / "out")
    assert "aten::kept" in page(tmp_path / "out", run)
    kept.write_text("{")
    write(find(tmp_path), tmp_path / "out")
    assert "aten::mm" in page(tmp_path / "out", run)


def test_the_button_stands_where_a_viewer_is_named(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    run = with_trace(tmp_path, [annotation("ProfilerStep#1", 0, 100), op("aten::mm", 10, 50)])
    options(tmp_path, "'https://viewer.example/ui?a=1'")
    write(find(tmp_path), tmp_path / "out")
    text = page(tmp_path / "out", run)
    assert 'data-viewer="https://viewer.example/ui?a=1" data-trace="files/traces/rank-0.json.gz"' in text
    assert "assets/stackproof/viewer.js" in text


@pytest.mark.parametrize(
    "address",
    [
        "http://ui.perfetto.dev",
        "javascript:alert(1)",
        "ui.perfetto.dev",
        "https://",
        "https://a@b.example",
        "'https://[x'",
        "7",
    ],
)
def test_a_viewer_that_is_not_safe_is_one_error(tmp_path: Path, address: str) -> None:
    made.empty_workspace(tmp_path)
    options(tmp_path, address)
    done = made.stackproof(tmp_path, "build")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path}/mkdocs.yml: extra.stackproof.trace_viewer: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("address", ["https://ui.perfetto.dev", "http://localhost:9001/", "http://127.0.0.1:1/x"])
def test_a_safe_viewer_is_taken(tmp_path: Path, address: str) -> None:
    from sitegen.pages.traces import viewer

    made.empty_workspace(tmp_path)
    assert viewer(find(tmp_path)) is None
    options(tmp_path, address)
    assert viewer(find(tmp_path)) == address
