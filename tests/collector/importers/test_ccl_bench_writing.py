"""Runs written as CCL-Bench's card and row: read back they say the same, and nothing is passed off as theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ledger import catalog
from ledger.run import Reason
from ledger.run_folder import RunFolder
from tests.collector.conftest import run_cli
from tests.collector.importers.made import by_id, codes, collection
from tests.factory import make_run


@pytest.fixture
def runs(workspace: Path) -> list[RunFolder]:
    evidence = workspace / "evidence"
    return [RunFolder(make_run(evidence)), RunFolder(make_run(evidence, failed=Reason.OUT_OF_MEMORY, repeat=2))]


def test_a_run_is_a_card_and_a_row_that_read_back_alike(workspace: Path, runs: list[RunFolder]) -> None:
    ids = [each.run_id for each in runs]
    code, out, err = run_cli("export", *ids, "--as", "ccl-bench", "--output", "there")
    assert (code, err) == (0, "")
    assert "2 cards and 1 rows" in out
    good, bad = runs
    name = f"{good.run.benchmark.name}-{good.run.stack}-{good.run_id}"
    assert (workspace / "there/trace_collection" / name / f"{name}.yaml").read_bytes() == good.bytes("card.yaml")
    found = by_id(collection("ccl-bench", workspace / "there"))
    with catalog.open(workspace / "evidence") as opened:
        sql = "SELECT value FROM metrics WHERE metric = 'step_time' AND run_id = ?"
        ((step_time,),) = opened.query(sql, [good.run_id]).rows
    assert found[name].values["step_time@ccl-bench"] == step_time
    assert "row_and_card_disagree" not in codes(found[name])
    failed = f"{bad.run.benchmark.name}-{bad.run.stack}-{bad.run_id}/run-0"
    assert (found[failed].state, found[failed].failure) == ("failed", "out_of_memory")


def test_our_metrics_stand_under_their_own_names_and_definitions(workspace: Path, runs: list[RunFolder]) -> None:
    run_cli("export", runs[0].run_id, "--as", "ccl-bench", "--output", "there")
    table = json.loads((workspace / "there/website/benchmark_data.json").read_text())
    assert {"ttft", "tpot", "mfu"}.isdisjoint(table["all_metrics"])
    assert set(table["rows"][0]["metrics"]) <= set(table["all_metrics"]) == set(table["metric_info"])
    assert "step_time@" in table["metric_info"]["avg_step_time"]["description"]
    assert table["metric_info"]["stackproof.step_time"]["higher_is_better"] is False


def test_a_failed_run_has_its_failure_on_the_card(workspace: Path, runs: list[RunFolder]) -> None:
    run_cli("export", runs[1].run_id, "--as", "ccl-bench", "--output", "there")
    (card,) = (workspace / "there/trace_collection").glob("*/*.yaml")
    (trial,) = yaml.safe_load(card.read_text())["runs"]
    assert (trial["status"], trial["error_msg"]) == ("error", "out_of_memory")


def test_what_was_changed_and_where_something_is_are_refused(workspace: Path, runs: list[RunFolder]) -> None:
    (workspace / "there").mkdir()
    (workspace / "there/mine.txt").write_text("mine")
    code, _, err = run_cli("export", runs[0].run_id, "--as", "ccl-bench", "--output", "there")
    assert (code, err.count("\n")) == (2, 1)
    assert "is there already" in err
    (runs[0].path / "card.yaml").write_text("version: 1\n")
    code, _, err = run_cli("export", runs[0].run_id, "--as", "ccl-bench", "--output", "elsewhere")
    assert (code, err.count("\n")) == (2, 1)
    assert "is not as it was sealed" in err
    assert not (workspace / "elsewhere").exists()
