"""The table of public rows in a real browser: sorted by value and not by text, and as narrow as a phone."""

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.public_rows import imported, stored
from tests.sitegen.pages import made

pytestmark = pytest.mark.browser

VALUES = {"ms": 0.0612, "s": 3.4, "minutes": 700.0, "more-ms": 0.25, "none": None}
ORDER = "[...document.querySelectorAll('#public tbody tr')].map(row => row.querySelector('.sp-breaks').textContent)"
SORT = "[...document.querySelectorAll('#public thead button')].find(each => each.textContent.includes('step')).click()"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = made.empty_workspace(tmp_path_factory.mktemp("public"))
    rows = [
        stored(name, {} if value is None else {"step_time@made": value}, workload={"kind": "train", "model": "x" * 90})
        for name, value in VALUES.items()
    ]
    imported(root, *rows)
    done = made.stackproof(root, "build", "--strict")
    assert done.returncode == 0, done.stderr
    return root / "site"


def test_values_of_different_units_are_sorted_by_size_and_missing_ones_stay_last(browser: Chromium, site: Path) -> None:
    browser.open((site / "shortlist.html").as_uri(), 1200)
    browser.evaluate(SORT)
    assert browser.evaluate(ORDER) == ["ms", "more-ms", "s", "minutes", "none"]
    browser.evaluate(SORT)
    assert browser.evaluate(ORDER) == ["minutes", "s", "more-ms", "ms", "none"]


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_the_screen_with_its_details_open(browser: Chromium, site: Path, width: int) -> None:
    browser.open((site / "shortlist.html").as_uri(), width)
    browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    label = (
        "[...document.querySelectorAll('#public tbody tr')].every(row => row.innerText.includes('not verified here'))"
    )
    assert browser.evaluate(label)
