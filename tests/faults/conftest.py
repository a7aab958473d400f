"""Every test in this folder needs strace or mounts: `make test-faults`."""

from pathlib import Path

import pytest

from tests.faults import harness


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One sealed run to prepare others from."""
    return harness.make_template(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def calls(template: Path, tmp_path_factory: pytest.TempPathFactory) -> harness.Calls:
    """The system calls of one undisturbed sealing."""
    folder = tmp_path_factory.mktemp("undisturbed")
    bench = harness.prepare(folder, template)
    found = harness.count_calls(bench, folder / "trace.log")
    assert len(bench.visible()) == 1
    return found
