"""A browser and a built site, shared by the tests; without Chromium they are skipped."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.sitegen.pages import made

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = made.workspace(tmp_path_factory.mktemp("workspace"))
    done = made.stackproof(root, "build", "--strict")
    assert done.returncode == 0, done.stderr
    return root / "site"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium; install it: sudo apt-get install chromium")
    opened = Chromium(program, tmp_path / "profile")
    yield opened
    opened.close()
