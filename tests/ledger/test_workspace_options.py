"""mkdocs.yml as stackproof reads it: past what means nothing here, and never past a mistake in its own options."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import workspace
from ledger.errors import InputError


def options(folder: Path, text: str) -> workspace.Workspace:
    (folder / "mkdocs.yml").write_text(text)
    return workspace.find(folder)


def test_folders_may_have_other_names(tmp_path: Path) -> None:
    found = options(
        tmp_path, "extra: {stackproof: {evidence: data/runs, benchmarks: ../asked}}\nx: !!python/name:y z\n"
    )
    assert found.evidence == tmp_path / "data/runs"
    assert found.benchmarks == tmp_path / "../asked"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("extra: {stackproof: {evidnce: x}}", "extra.stackproof.evidnce: unknown option; did you mean 'evidence'?"),
        ("extra: {stackproof: {evidence: ''}}", "extra.stackproof.evidence: must be a folder's path, got ''"),
        ("extra: {stackproof: {evidence: .}}", "must be a folder's path, got '.'"),
        ("extra: {stackproof: {evidence: [a]}}", "must be a folder's path, got ['a']"),
        ("extra: {stackproof: {benchmarks: 5}}", "extra.stackproof.benchmarks: must be a folder's path, got 5"),
        ("a: !!bool foo", "cannot be read"),
        ("a: !!timestamp foo", "cannot be read"),
        ("a: [", "cannot be read"),
        ("? [a]\n: 1", "cannot be read"),
        ("a: " + "[" * 5000, "nests too deep"),
        ("a: \x00", "cannot be read"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        options(tmp_path, text)
    assert said in caught.value.diagnostics()
    assert str(tmp_path / "mkdocs.yml") in caught.value.diagnostics()
