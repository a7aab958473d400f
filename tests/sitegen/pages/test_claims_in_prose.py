"""A hand-written page that the tables contradict fails a strict build, with its page and line; mended, it passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sitegen.pages import made

FALSE = "In `tiny`, slow trains 1.4 times as fast as fast."
TRUE = "In `tiny`, fast trains 1.43 times as fast as slow: its step time is 72.5 ms."


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = made.workspace(tmp_path_factory.mktemp("told"))
    (root / "docs/notes").mkdir()
    return root


def strict(root: Path, text: str, page: str = "notes/speed.md") -> tuple[int, str]:
    path = root / "docs" / page
    before = path.read_bytes() if path.is_file() else None
    path.write_text(text)
    done = made.stackproof(root, "build", "--strict")
    path.write_bytes(before) if before is not None else path.unlink()
    return done.returncode, done.stderr


def test_a_false_note_fails_the_build_and_a_mended_one_does_not(told: Path) -> None:
    code, said = strict(told, f"# Notes\n\n{FALSE}\n")
    assert code == 1
    assert said.count("\n") == 1
    assert said.startswith(
        f"warning: notes/speed.md:3: says “{FALSE.replace('`', '')}”, but step time of slow is 104 ms"
    )
    assert "correct the sentence, or write `<!-- stackproof: not checked: WHY -->` before it" in said
    assert strict(told, f"# Notes\n\n{TRUE}\n") == (0, "")


def test_a_marked_note_passes_and_a_mark_without_a_reason_does_not(told: Path) -> None:
    assert strict(told, f"<!-- stackproof: not checked: as the vendor put it -->\n{FALSE}\n") == (0, "")
    code, said = strict(told, f"<!-- stackproof: not checked -->\n{FALSE}\n")
    assert code == 1
    assert "notes/speed.md:1: a sentence is marked as not checked, without a reason" in said


def test_the_introduction_of_the_first_page_is_checked_too(told: Path) -> None:
    code, said = strict(told, f"# Which?\n\nWe measured.\n{FALSE}\n", "index.md")
    assert code == 1
    assert said.startswith("warning: index.md:4: says ")


def test_without_strict_the_site_is_built_and_the_finding_told(told: Path) -> None:
    (told / "docs/wrong.md").write_text(f"{FALSE}\n")
    done = made.stackproof(told, "build")
    (told / "docs/wrong.md").unlink()
    assert done.returncode == 0
    assert done.stderr.startswith("warning: wrong.md:1: says ")
    assert (told / "site/wrong.html").is_file()
