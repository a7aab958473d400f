"""This repository's own documents and pages say what its evidence shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import workspace
from sitegen import prose
from sitegen.comparison import judge_all
from sitegen.comparison.judge import rank_all
from sitegen.comparison.verdict import Verdict
from sitegen.prose import Tables

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return judge_all(workspace.find(ROOT))


@pytest.fixture(scope="module")
def tables(verdicts: list[Verdict]) -> Tables:
    return prose.tables(verdicts, rank_all(workspace.find(ROOT)))


def test_the_documents_contradict_no_table(tables: Tables) -> None:
    assert len(DOCUMENTS) > 5
    found = [(path.name, each) for path in DOCUMENTS for each in prose.check_page(path.read_text(), tables)]
    assert found == []


def test_the_generated_sentences_contradict_no_table(verdicts: list[Verdict], tables: Tables) -> None:
    assert [(each.slug, found) for each in verdicts for found in prose.check_verdict(each, tables)] == []


def test_a_false_sentence_about_them_would_be_found(verdicts: list[Verdict], tables: Tables) -> None:
    won = [each for each in verdicts if each.winner is not None]
    assert won
    for each in won:
        loser = each.baseline if each.winner == each.candidate else each.candidate
        (found,) = prose.check_page(f"In {each.benchmark}, {loser} beats {each.winner}.", tables)
        assert each.slug in found.what
