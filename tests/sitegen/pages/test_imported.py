"""Pages of imported traces: what they say, what they leave unsaid, and names from elsewhere that cannot harm."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from sitegen.pages import site
from tests import imported as made

HOSTILE = "<img src=x onerror=alert|`_"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported")
    here = made.make_workspace(folder / "workspace", made.declared("vendors", {"h100": {}, "mi300": {}}))
    sides = {
        "h100": ({"aten::mm": 100.0, "aten::fill_": 7.0, HOSTILE: 9.0}, made.NVIDIA),
        "mi300": ({"aten::mm": 130.0, HOSTILE: 4.0}, made.AMD),
    }
    for stack, (times, kernels) in sides.items():
        path = made.trace(folder / f"{stack}.json", made.on_device(times, kernels))
        made.imported(here, "vendors", stack, path)
    found = site.write(here, folder / "pages")
    assert found.findings == ()
    return folder / "pages"


@pytest.fixture
def comparison(pages: Path) -> str:
    return (pages / "comparisons/vendors/h100-vs-mi300.md").read_text()


def words(text: str) -> str:
    """The text of a page, tags gone, white space single."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text.replace("<wbr>", ""))).split())


def test_the_page_aligns_operations_and_says_what_is_missing(comparison: str) -> None:
    said = words(comparison)
    assert "aten::mm Compute: gemm 100 µs 130 µs +30.0 µs" in said
    assert "aten::fill_ Compute: elementwise 7.00 µs missing −7.00 µs" in said
    assert "Traced step 400 µs 400 µs 0 s" in said
    assert "sgemm_nn Cijk_Alik_Bljk_S_B" in said


def test_what_needs_timed_launches_is_not_said(comparison: str) -> None:
    said = words(comparison)
    assert "Within the traces alone: the timed launches give no difference in step time" in said
    assert "Difference within the traces" in said
    for unsaid in ("Closure", "Explained share", "Measured difference", "wins", "sh launch/run.sh"):
        assert unsaid not in said
    assert "stackproof collect vendors --dry-run" not in said


def test_the_source_stands_on_the_comparison_and_on_each_run_s_page(pages: Path, comparison: str) -> None:
    assert f"2 launches imported, not made here; from {made.SOURCE}" in words(comparison)
    runs = list((pages / "runs").glob("*/index.html"))
    assert len(runs) == 2
    for page in runs:
        said = words(page.read_text())
        assert "Nothing was launched here: this run was imported" in said
        assert made.SOURCE in said


def test_a_hostile_operation_is_text(comparison: str) -> None:
    assert "<img" not in comparison
    assert HOSTILE in words(comparison)
