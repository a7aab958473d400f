"""An empty workspace as the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "workspace"
    (root / "evidence").mkdir(parents=True)
    (root / "mkdocs.yml").write_text("site_name: test\n")
    monkeypatch.chdir(root)
    return root
