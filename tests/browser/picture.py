"""The README's picture, taken from a built page: `python -m tests.browser.picture PAGE.html OUT.png`."""

import sys
import tempfile
from pathlib import Path

from tests.browser.chromium import Chromium

WIDTH, HEIGHT = 1180, 1580


def take(page: Path, out: Path) -> None:
    """Open `page` from disk, wait for its figures, and write the top of it to `out`."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium("chromium", Path(profile))
        try:
            browser.open(page.resolve().as_uri(), WIDTH)
            browser.wait_for("document.querySelector('#launches')?.dataset.drawn")
            out.parent.mkdir(parents=True, exist_ok=True)
            browser.screenshot(out, WIDTH, HEIGHT)
        finally:
            browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
