"""Traces made elsewhere become run folders like any other, labelled with their source, and claim nothing more."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from collector.importers.traces import Told, import_launch
from ledger import benchmark as benchmark_file
from ledger import catalog
from ledger.errors import InputError
from ledger.run import Role, State
from ledger.run_folder import RunFolder
from ledger.verify import verify_evidence
from ledger.workspace import Workspace
from tests import imported as made
from tests.ledger.traces.builder import annotation, op

FILES = made.declared("loaders", {"none": {"num_workers": 0}, "four": {"num_workers": 4}})


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    return made.make_workspace(tmp_path / "workspace", FILES)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return made.trace(tmp_path / "elsewhere/worker0.pt.trace.json.gz", made.loading(60, 10, 100))


def test_an_imported_launch_is_sealed_verifies_and_says_where_it_comes_from(here: Workspace, trace: Path) -> None:
    folder = RunFolder(made.imported(here, "loaders", "none", trace))
    run = folder.run
    assert (run.adapter, run.role, run.repeat, run.outcome.state) == ("imported", Role.PROFILED, 1, State.COMPLETED)
    assert run.settings == {"num_workers": 0}
    report = verify_evidence(here.evidence)
    assert (report.findings, report.warnings, len(report.checks)) == ((), (), 1)
    card = yaml.safe_load((folder.path / "card.yaml").read_text())
    assert card["imported"]["source"] == made.SOURCE
    assert card["imported"]["files"][0].startswith("worker0.pt.trace.json.gz sha256:")
    assert (folder.path / "traces/rank-0.json.gz").read_bytes() == trace.read_bytes()


def test_nothing_of_this_machine_is_said_of_a_launch_that_it_did_not_make(here: Workspace, trace: Path) -> None:
    folder = RunFolder(made.imported(here, "loaders", "none", trace))
    environment = folder.json("environment.json")
    assert (environment["hardware"], environment["packages"], folder.run.host) == ({}, {}, "not told")
    assert "pressure" not in environment
    assert yaml.safe_load((folder.path / "card.yaml").read_text())["workload"]["hardware"] == {}
    assert not any(name.startswith(("samples/", "logs/", "launch/run.sh")) for name in folder.digests)


def test_the_trace_gives_parts_and_never_a_timed_step(here: Workspace, trace: Path) -> None:
    made.imported(here, "loaders", "none", trace)
    with catalog.open(here.evidence) as opened:
        sql = "SELECT metric, value, missing_reason FROM metrics WHERE metric IN ('step_time', 'input_wait')"
        found = {row["metric"]: row for row in opened.query(sql).dicts()}
    assert found["input_wait"]["value"] == pytest.approx(60e-6)
    assert (found["step_time"]["value"], found["step_time"]["missing_reason"]) == (
        None,
        "the trial recorded no measured step",
    )


def test_what_is_told_is_on_the_card_and_in_the_run(here: Workspace, trace: Path) -> None:
    card = {"workload": {"hardware": {"xpu_spec": {"type": "GPU", "model": "V100", "total_count": 1}}}}
    started = datetime(2021, 6, 8, 12, tzinfo=UTC)
    folder = RunFolder(made.imported(here, "loaders", "none", trace, card=card, host="gpu-7", started=started))
    assert folder.run.started_at == "2021-06-08T12:00:00.000000Z"
    assert folder.run.ended_at == "2021-06-08T12:00:00.000340Z"
    assert folder.run.host == "gpu-7"
    assert "started_at" not in folder.run.absent
    assert (
        yaml.safe_load((folder.path / "card.yaml").read_text())["workload"]["hardware"]["xpu_spec"]["model"] == "V100"
    )


def test_a_clock_since_1970_tells_when_the_launch_was_made(here: Workspace, tmp_path: Path) -> None:
    at = datetime(2021, 6, 8, 8, 57, 3, tzinfo=UTC).timestamp() * 1e6
    path = made.trace(tmp_path / "t.json", [annotation("ProfilerStep#1", at, 100), op("aten::mm", at, 50)])
    assert RunFolder(made.imported(here, "loaders", "none", path)).run.date == "2021-06-08"


def test_without_such_a_clock_the_time_is_said_to_be_the_import_s(here: Workspace, trace: Path) -> None:
    run = RunFolder(made.imported(here, "loaders", "none", trace)).run
    assert run.absent["started_at"].startswith("the trace's clock does not tell")


def test_the_same_files_again_are_the_same_run_and_others_the_next_repeat(
    here: Workspace, trace: Path, tmp_path: Path
) -> None:
    first = made.imported(here, "loaders", "none", trace)
    assert made.imported(here, "loaders", "none", trace) == first
    other = made.trace(tmp_path / "second.json", made.loading(61, 10, 100))
    second = RunFolder(made.imported(here, "loaders", "none", other))
    assert (second.run.repeat, second.run.environment_digest) == (2, RunFolder(first).run.environment_digest)
    assert len(verify_evidence(here.evidence).checks) == 2
    assert not verify_evidence(here.evidence).findings


def test_a_secret_in_a_trace_is_taken_out_and_the_import_still_known_again(here: Workspace, tmp_path: Path) -> None:
    token = "hf_" + "abcdefghij" * 3 + "ABCD"
    path = made.trace(tmp_path / "t.json", [*made.loading(60, 10, 100), annotation(f"login {token}", 0, 1)])
    folder = RunFolder(made.imported(here, "loaders", "none", path))
    assert token not in (folder.path / "traces/rank-0.json").read_text()
    assert "traces/rank-0.json" in folder.run.redactions
    assert made.imported(here, "loaders", "none", path) == folder.path


def test_ranks_keep_their_numbers(here: Workspace, tmp_path: Path) -> None:
    paths = [made.trace(tmp_path / f"rank{rank}.json", made.loading(60 + rank, 10, 100)) for rank in (3, 1)]
    folder = RunFolder(made.imported(here, "loaders", "none", *paths))
    assert sorted(name for name in folder.digests if name.startswith("traces/")) == [
        "traces/rank-1.json",
        "traces/rank-3.json",
    ]


def test_what_cannot_be_imported_is_refused_in_one_line_and_leaves_nothing(here: Workspace, tmp_path: Path) -> None:
    trace = made.trace(tmp_path / "t.json", made.loading(60, 10, 100))
    copy = made.trace(tmp_path / "copy.json", made.loading(60, 10, 100))
    twin = made.trace(tmp_path / "rank0.json", made.loading(60, 10, 100))
    again = made.trace(tmp_path / "second/rank0.json", made.loading(60, 10, 100))
    empty, other = made.trace(tmp_path / "empty.json", []), tmp_path / "notes.txt"
    other.write_text("no trace")
    (tmp_path / "noise.json").write_text('{"a": 1}')
    file = benchmark_file.read(here.find_benchmark("loaders"))
    for paths, said in (
        ([], "no trace is named"),
        ([tmp_path / "gone.json"], "is not a file with one of these endings"),
        ([other], "is not a file with one of these endings"),
        ([tmp_path / "noise.json"], "not a profiler trace"),
        ([empty], "holds no timed event"),
        ([twin, again], "is of rank 0, as rank0.json is"),
        ([trace, copy], "holds the same bytes as t.json, and two ranks never record the same"),
    ):
        with pytest.raises(InputError, match=said):
            import_launch(here, file, "none", paths, Told(made.SOURCE))
    with pytest.raises(InputError, match="no stack 'nine'"):
        import_launch(here, file, "nine", [trace], Told(made.SOURCE))
    with pytest.raises(InputError, match="profiled steps, which are no timed launch"):
        import_launch(here, file, "none", [trace], Told(made.SOURCE), Role.TIMED)
    assert not here.evidence.exists() or not list(here.evidence.rglob("run.json"))


def test_results_from_elsewhere_are_no_launches_of_a_stack_that_is_launched_here(tmp_path: Path) -> None:
    file = made.declared("loaders", {"none": {}, "four": {}})
    file["stacks"]["none"] = {"adapter": "command", "settings": {"command": "true"}}
    here = made.make_workspace(tmp_path / "workspace", file)
    trace = made.trace(tmp_path / "t.json", made.loading(60, 10, 100))
    with pytest.raises(InputError, match=r"stacks\.none\.adapter: 'command' launches this stack"):
        made.imported(here, "loaders", "none", trace)


def test_what_was_imported_can_be_read_back(here: Workspace, trace: Path) -> None:
    folder = made.imported(here, "loaders", "none", trace)
    record = json.loads((folder / "launch/import.json").read_text())
    assert (record["format"], record["source"], record["files"][0]["as"]) == ("trace", made.SOURCE, "rank-0.json.gz")
