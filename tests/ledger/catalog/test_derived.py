"""Metrics whose definitions are newer than a run: computed beside the sealed ones, from sealed files, and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger import catalog
from ledger.catalog import derived
from tests.factory import make_run
from tests.ledger.catalog.conftest import reseal

QUERY = "SELECT metric, origin, value, missing_reason FROM metrics WHERE metric IN ('step_time', 'tokens_per_second')"


def older(folder: Path) -> None:
    """As a version that knew `step_time` alone would have written it."""
    path = folder / "metrics.json"
    rows = [row for row in json.loads(path.read_text()) if row["metric"] == "step_time"]
    path.write_text(json.dumps(rows))


def read(evidence: Path) -> dict[str, tuple[Any, ...]]:
    with catalog.open(evidence) as opened:
        assert opened.problems == ()
        return {row[0]: row[1:] for row in opened.query(QUERY).rows}


def test_a_definition_that_the_run_did_not_know_is_computed_from_what_it_sealed(tmp_path: Path) -> None:
    whole = make_run(tmp_path / "whole/evidence", step_time=0.25)
    expected = {row["metric"]: row["value"] for row in json.loads((whole / "metrics.json").read_text())}
    evidence = tmp_path / "old/evidence"
    reseal(evidence, make_run(evidence, step_time=0.25), older)
    assert read(evidence) == {
        "step_time": ("sealed", expected["step_time"], None),
        "tokens_per_second": ("derived", expected["tokens_per_second"], None),
    }


def test_a_run_that_knows_every_definition_has_nothing_derived(tmp_path: Path) -> None:
    make_run(tmp_path, step_time=0.25)
    with catalog.open(tmp_path) as opened:
        assert opened.query("SELECT DISTINCT origin FROM metrics").rows == [("sealed",)]


def test_definitions_that_read_traces_wait_for_the_next_launch(tmp_path: Path) -> None:
    reseal(tmp_path, make_run(tmp_path), older)
    with catalog.open(tmp_path) as opened:
        assert opened.query("SELECT count(*) FROM metrics WHERE metric = 'traced_step_time'").rows == [(0,)]


def test_what_was_computed_is_kept_in_the_workspace_until_definitions_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: test\n")
    (tmp_path / ".stackproof").mkdir()
    evidence = tmp_path / "evidence"
    reseal(evidence, make_run(evidence, step_time=0.25), older)
    first = read(evidence)
    (kept,) = (tmp_path / ".stackproof/derived").iterdir()
    monkeypatch.setattr(derived, "_compute", None)  # what is kept is not computed again
    assert read(evidence) == first
    monkeypatch.undo()
    kept.write_text("damaged")
    assert read(evidence) == first
    kept.write_text(json.dumps({"format": 1, "definitions": "of another version", "rows": []}))
    assert read(evidence) == first


def test_looking_makes_no_folder_in_a_workspace_without_one(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: test\n")
    evidence = tmp_path / "evidence"
    reseal(evidence, make_run(evidence), older)
    assert read(evidence)["tokens_per_second"][0] == "derived"
    assert not (tmp_path / ".stackproof").exists()


def test_a_kept_row_whose_input_is_not_the_sealed_file_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: test\n")
    (tmp_path / ".stackproof").mkdir()
    evidence = tmp_path / "evidence"
    reseal(evidence, make_run(evidence, step_time=0.25), older)
    read(evidence)
    (kept,) = (tmp_path / ".stackproof/derived").iterdir()
    data = json.loads(kept.read_text())
    for row in data["rows"]:
        row["inputs"] = dict.fromkeys(row["inputs"], "0" * 64)
    kept.write_text(json.dumps(data))
    assert "tokens_per_second" not in read(evidence)


def test_samples_that_make_no_sense_leave_the_value_missing(tmp_path: Path) -> None:
    def broken(folder: Path) -> None:
        older(folder)
        (folder / "samples/steps.parquet").write_bytes(b"PAR1 nothing")

    reseal(tmp_path, make_run(tmp_path), broken)
    with catalog.open(tmp_path) as opened:
        assert opened.query("SELECT count(*) FROM metrics WHERE origin = 'derived' AND value IS NOT NULL").rows == [
            (0,)
        ]
