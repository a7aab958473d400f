"""The made-up driver, compiled once."""

from pathlib import Path

import pytest

from tests.faults.nvml.driver import Driver, compile_library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the library with every function."""
    return compile_library(tmp_path_factory.mktemp("nvml") / "new")


@pytest.fixture
def driver(library: Path, tmp_path: Path) -> Driver:
    """A healthy driver with one device, for a test to change."""
    return Driver(library, tmp_path)
