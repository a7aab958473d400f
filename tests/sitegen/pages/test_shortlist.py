"""The pages of public results: labelled everywhere, what a row shows and does not, never part of a verdict."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from ledger.workspace import find
from sitegen.pages import write
from tests.factory import BENCHMARK, write_benchmark
from tests.public_rows import imported, stored
from tests.sitegen.pages import made
from tests.sitegen.pages.test_links import Links

LABEL = "public, not verified here"
ATTACK = "</td></table>\n\n<script>alert(1)</script>\n\n# Owned\n\n[x](javascript:alert(1)) \"' onload=alert(2)"
WORK = {"kind": "train", "model": "tiny-llama", "samples_per_step": 2, "tokens_per_step": 32}


@pytest.fixture(scope="module")
def public_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with own runs in which `slow` and `fast` were drafted from public rows that say the opposite."""
    root = made.workspace(tmp_path_factory.mktemp("public"))
    digest = imported(
        root,
        stored("Slow Row", {"step_time": 0.1}, workload=WORK, problems=(("odd", "a known problem"),)),
        stored("Fast Row", {"step_time": 0.2}, workload=WORK),
        stored("other", {"step_time@made": 61.0}, workload={"kind": "serve", "model": "llama-8b"}),
        stored("broken", state="failed", failure="ran out", workload=WORK),
        stored(ATTACK, {"step_time": 9.0}, title=ATTACK, framework=ATTACK, workload={**WORK, "dataset": ATTACK}),
    )
    stacks = {
        "slow": {**BENCHMARK["stacks"]["slow"], "public": f"{digest}/Slow Row"},
        "fast": {**BENCHMARK["stacks"]["fast"], "public": f"{digest}/Fast Row"},
    }
    write_benchmark(root / "benchmarks", stacks=stacks)
    done = made.stackproof(root, "build", "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    return root


def rows_of(page: Path) -> list[str]:
    text = page.read_text()
    table = text[text.index('id="public"') :]
    return re.findall(r"<tr data-source.*?</tr>", table[: table.index("</tbody>")], re.DOTALL)


def test_every_row_is_labelled_and_says_what_it_shows_and_does_not(public_site: Path) -> None:
    page = public_site / "site/shortlist.html"
    rows = rows_of(page)
    assert len(rows) == 5
    assert all(LABEL in row for row in rows)
    assert page.read_text().count(LABEL) > len(rows)
    (row,) = (row for row in rows if "Slow Row" in row)
    for words in ("✓ trace", "✕ quality", "✕ cost", "✕ repeats", "✕ work per step", "a known problem", "100 ms"):
        assert words in row
    (failed,) = (row for row in rows if "broken" in row)
    assert "Failed there: ran out" in failed


def test_values_of_another_definition_have_columns_of_their_own(public_site: Path) -> None:
    text = (public_site / "site/shortlist.html").read_text()
    heads = re.findall(r"<th[^>]*>(.*?)</th>", text[text.index('id="public"') : text.index("<tbody>")], re.DOTALL)
    assert [re.sub("<.*?>", "", head) for head in heads] == ["Row", "Stack", "step_time", "Can show"]
    assert "What the source calls step_time@made." in html.unescape(text)


def test_the_page_of_a_benchmark_holds_what_fits_with_why_and_rank(public_site: Path) -> None:
    rows = rows_of(public_site / "site/shortlists/tiny.html")
    assert len(rows) == 4
    first = rows[0]
    assert "Slow Row" in first
    assert "1 of 3" in first
    assert "2 sequences a step, 32 tokens a step" in first
    assert "same phase, model family; unknown: model size, hardware" in first
    text = (public_site / "site/shortlists/tiny.html").read_text()
    assert "Left out: 1 of another phase." in text


def test_public_rank_stands_beside_own_rank_with_the_moves_named(public_site: Path) -> None:
    text = (public_site / "site/benchmarks/tiny.html").read_text()
    assert (
        "Largest moves from the public order of 2 to the one here: fast from 2nd to 1st, slow from 1st to 2nd." in text
    )
    assert LABEL in text


def test_no_verdict_and_no_comparison_page_knows_of_public_rows(public_site: Path, folder: Path, site: Path) -> None:
    name = "comparisons/tiny/slow-vs-fast.json"
    mine, without = (json.loads((root / name).read_text()) for root in (public_site / "site", site))
    for verdict in (mine, without):
        for key in ("evidence", "launches", "declared"):
            verdict.pop(key, None)
    assert mine["sentence"] == without["sentence"]
    assert mine["effect"] == without["effect"]
    assert "Slow Row" not in (public_site / "site/comparisons/tiny/slow-vs-fast.html").read_text()


def test_the_imported_file_and_its_origin_are_on_the_site(public_site: Path) -> None:
    text = (public_site / "site/shortlist.html").read_text()
    (stored_file,) = (public_site / "public/made").glob("*.json")
    published = public_site / "site/public/made" / stored_file.name
    assert published.read_bytes() == stored_file.read_bytes()
    for words in (f"public/made/{stored_file.name}", "1f00d5e, MIT", "table.json", "a" * 64):
        assert words in text


def test_what_rows_say_is_shown_and_never_run(public_site: Path) -> None:
    for name in ("shortlist.html", "shortlists/tiny.html"):
        text = (public_site / "site" / name).read_text()
        assert "<script>alert" not in text
        assert 'id="owned"' not in text
        assert "alert(1)" in html.unescape(text)
        found = Links(text)
        assert not [link for link in found.links if link.startswith("javascript")]


def test_without_imports_nothing_is_said_of_them(site: Path) -> None:
    assert not (site / "shortlist.html").exists()
    assert "Public results" not in (site / "index.html").read_text()


def test_a_stack_of_a_row_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    stacks = {**BENCHMARK["stacks"], "slow": {"adapter": "torch", "public": f"{'0' * 16}/gone"}}
    write_benchmark(tmp_path / "benchmarks", stacks=stacks)
    found = write(find(tmp_path), tmp_path / "out").findings
    assert [str(each) for each in found] == [
        f"benchmarks/tiny.md: stack slow is drafted from {'0' * 16}/gone, which no imported collection holds"
    ]


def test_a_thousand_rows_fit_one_page_of_a_few_megabytes(tmp_path: Path) -> None:
    made.empty_workspace(tmp_path)
    write_benchmark(tmp_path / "benchmarks")
    imported(tmp_path, *(stored(f"row-{n}", {"step_time": 1.0 + n}, workload=WORK) for n in range(1000)))
    write(find(tmp_path), tmp_path / "out")
    for name in ("shortlist.md", "shortlists/tiny.md"):
        page = tmp_path / "out" / name
        assert page.read_text().count("<tr data-source") == 1000
        assert page.stat().st_size < 4e6
