"""What of a page is prose, on which line, and what a mark exempts."""

from __future__ import annotations

import pytest

from sitegen.prose import Tables
from tests.sitegen.prose import known

WRONG = "slow is faster than fast."


@pytest.fixture(scope="module")
def tables() -> Tables:
    return known.tables_of(known.runs(known.SLOW, known.FAST))


def lines(text: str, tables: Tables) -> list[int]:
    return [int(found.split(":")[0]) for found in known.findings(text, tables)]


@pytest.mark.parametrize(
    "text",
    [
        f"---\ntitle: {WRONG}\n---\n\n# Notes\n",
        f"```\n{WRONG}\n```\n",
        f"~~~ text\n{WRONG}\n~~~\n",
        f"    {WRONG}\n",
        f"- item\n\n        {WRONG}\n",
        "`slow is faster than fast`\n",
        f"<!-- {WRONG} -->\n",
        f"Text <!-- {WRONG} --> goes on.\n",
        "[here](https://example.org 'slow is faster than fast.')\n",
        "![slow is faster than fast](picture.png)\n",
        "They write “slow is faster than fast” in their post.\n",
        f"<pre>{WRONG}</pre>\n",
        f"<script>{WRONG}</script>\n",
        "slow is `--quickly` faster than fast.\n",
    ],
)
def test_what_is_no_prose_is_not_read(text: str, tables: Tables) -> None:
    assert known.findings(text, tables) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{WRONG}\n", 1),
        (f"---\ntitle: Notes\n---\n\n{WRONG}\n", 5),
        (f"# Notes\n\n## {WRONG[:-1]}\n", 3),
        (f"Some text\nof two lines.\n{WRONG}\n", 3),
        ("Some text.\nAs it is,\nslow is faster\nthan fast.\n", 2),
        (f"- one\n- two: {WRONG}\n", 2),
        (f"- one\n\n    {WRONG}\n", 3),
        (f"> Note:\n> {WRONG}\n", 1),
        ("**slow** is *faster* than [fast](comparisons/tiny/slow-vs-fast.md).\n", 1),
        ("`slow` is faster than `fast`.\n", 1),
        ("| a | b |\n|---|---|\n| x | slow is faster than fast |\n", 3),
        (f"<div>\n<p>One.</p>\n<p>{WRONG}</p>\n</div>\n", 3),
        (f"Some text, e.g. this, vs. that.\n{WRONG}\n", 2),
    ],
)
def test_a_finding_names_the_line_on_which_the_sentence_begins(text: str, line: int, tables: Tables) -> None:
    assert lines(text, tables) == [line]


def test_a_cell_is_read_with_its_row_and_its_column(tables: Tables) -> None:
    table = "| stack | step_time | Peak memory |\n|---|---|---|\n| fast | 72 ms | 1 GiB |\n| slow | 104 ms | 1 GiB |\n"
    (found,) = known.findings(table, tables)
    assert found.startswith("3: says “Peak memory of fast is 1 GiB”, but peak memory of fast is 2.00 GiB")


def test_a_mark_with_a_reason_exempts_the_block_after_it_and_no_other(tables: Tables) -> None:
    mark = "<!-- stackproof: not checked: as it was in version 1 -->\n"
    assert lines(f"{mark}{WRONG}\n\n{WRONG}\n", tables) == [4]
    assert lines(f"{mark}\n{WRONG} {WRONG}\n\n{WRONG}\n", tables) == [5]
    assert lines(f"{mark}\n- {WRONG}\n- {WRONG}\n\nText. {WRONG}\n", tables) == [6]
    assert lines(f"{mark}\n> {WRONG}\n\n{WRONG}\n", tables) == [5]
    assert lines(f"{mark}\n| a | b |\n|---|---|\n| x | {WRONG} |\n\n{WRONG}\n", tables) == [7]
    assert lines(f"{mark}\n```\ncode\n```\n\n{WRONG}\n", tables) == [7]


def test_a_mark_inside_a_paragraph_exempts_the_rest_of_it(tables: Tables) -> None:
    mark = "<!-- stackproof: not checked: quoted from their paper -->"
    assert lines(f"{WRONG} {mark} {WRONG}\n\n{WRONG}\n", tables) == [1, 3]
    assert lines(f"- one\n- {mark} {WRONG}\n- {WRONG}\n", tables) == [3]


@pytest.mark.parametrize("mark", ["not checked", "not checked:", "not checked:  ", "nocheck: because", "skip"])
def test_a_mark_without_a_reason_or_of_another_kind_is_a_finding_and_exempts_nothing(mark: str, tables: Tables) -> None:
    found = known.findings(f"<!-- stackproof: {mark} -->\n{WRONG}\n", tables)
    assert [each.split(":")[0] for each in found] == ["1", "2"]
    assert "not checked: WHY" in found[0]
