"""One workspace and one built site for all tests that only look at them."""

from pathlib import Path

import pytest

from tests.sitegen.pages import made


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="session")
def site(folder: Path) -> Path:
    done = made.stackproof(folder, "build", "--strict")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "site"
