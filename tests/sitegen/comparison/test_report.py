"""A verdict as text and as JSON: within the terminal, within 80 columns, and without a number that is none."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from sitegen.comparison.report import to_json, to_text
from tests.sitegen.comparison.made import interleaved, verdict
from tests.sitegen.comparison.test_judging import EXPLAINED, FAST, SLOW


@pytest.mark.parametrize(
    "runs",
    [[], interleaved(SLOW, FAST) + EXPLAINED, interleaved([None] * 3, [None] * 3), interleaved([0.0] * 3, FAST[:3])],
)
def test_json_has_a_schema_and_no_nan_and_text_fits_80_columns(runs):
    found = verdict(runs)
    data = json.loads(json.dumps(to_json([found]), allow_nan=False))
    assert data["schema"] == 1
    assert data["verdicts"][0].keys() == asdict(found).keys()
    text = to_text(found)
    assert max(map(len, text.splitlines())) <= 80
    assert found.decision in text


@pytest.mark.parametrize("columns", ["40", "20", "80", "200", "", "wide", "0"])
def test_text_is_never_wider_than_the_terminal_nor_than_80_columns(monkeypatch: pytest.MonkeyPatch, columns: str):
    monkeypatch.setenv("COLUMNS", columns)
    most = int(columns) if columns in {"20", "40"} else 80
    long = "a-stack-whose-name-is-as-long-as-a-name-may-be-which-is-63-chars"
    for runs in ([], interleaved(SLOW, FAST) + EXPLAINED, interleaved(SLOW, [None, *FAST[1:]])):
        found = verdict(runs)
        for each in (found, replace(found, baseline=long, candidate=f"{long[:-1]}2")):
            lines = to_text(each).splitlines()
            assert max(map(len, lines)) <= most, max(lines, key=len)


def test_a_command_that_is_broken_over_lines_is_still_one_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "30")
    found = verdict(interleaved(SLOW, [None, *FAST[1:3], None, None]))
    text = to_text(found)
    shown = text[text.index("Next run\n") + 9 :].replace("\\\n", " ").split()
    assert " ".join(shown) == found.readiness.next_run
