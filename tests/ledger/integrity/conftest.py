"""The command line, and a workspace with committed evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stackproof import cli
from tests import evidence_repository
from tests.evidence_repository import EvidenceRepository

Ask = Callable[..., Result]


@pytest.fixture
def ask() -> Ask:
    """Run `stackproof` with arguments."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), standalone_mode=False)

    return run


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvidenceRepository:
    """Three sealed runs with their plan, committed; the current folder is the workspace."""
    made = evidence_repository.start(tmp_path / "workspace")
    monkeypatch.chdir(made.root)
    return made
