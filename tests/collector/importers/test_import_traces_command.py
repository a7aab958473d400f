"""`stackproof import trace`: what it seals and says, what it refuses, and that it changes nothing twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from collector.importers.traces import TraceImporter
from ledger.run_folder import scan
from tests import imported as made
from tests.collector.conftest import run_cli

TO = ("--benchmark", "loaders", "--stack", "none", "--source", "Kineto samples")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = made.make_workspace(tmp_path / "workspace", made.declared("loaders", {"none": {}, "four": {}}))
    monkeypatch.chdir(here.root)
    return here.root


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return str(made.trace(tmp_path / "worker0.pt.trace.json.gz", made.loading(60, 10, 100)))


@pytest.mark.parametrize("form", ["trace", "auto"])
def test_a_launch_is_sealed_and_a_second_import_changes_nothing(root: Path, trace: str, form: str) -> None:
    code, out, err = run_cli("import", form, trace, *TO, "--licence", "BSD-3", "--commit", "1f00d5e")
    assert (code, err) == (0, "")
    first = out.splitlines()
    assert first[0] == (
        "none profiled 1: traces/rank-0.json.gz, imported from Kineto samples, commit 1f00d5e, licence BSD-3"
    )
    (folder,) = scan(root / "evidence")
    assert yaml.safe_load((folder.path / "card.yaml").read_text())["imported"]["source"].startswith("Kineto samples, ")
    code, out, _ = run_cli("import", form, trace, *TO)
    assert (code, out.splitlines()[1]) == (0, f"  was there already: {folder.path}")
    assert len(list(scan(root / "evidence"))) == 1
    assert run_cli("verify")[0] == 0
    assert run_cli("compare", "loaders")[0] == 0


def test_a_dry_run_reads_and_writes_nothing(root: Path, trace: str) -> None:
    code, out, _ = run_cli("import", "trace", trace, *TO, "--dry-run")
    assert code == 0
    assert out.splitlines()[-1] == "nothing written: this was a dry run"
    assert not (root / "evidence").exists()


def test_json_names_the_run(root: Path, trace: str, tmp_path: Path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text("workload: {hardware: {xpu_spec: {type: GPU, model: V100}}}\n")
    told = json.loads(run_cli("import", "trace", trace, *TO, "--card", str(card), "--format", "json")[1])
    (folder,) = scan(root / "evidence")
    assert (told["run"], told["path"], told["files"]) == (folder.run_id, folder.name, ["traces/rank-0.json.gz"])
    assert "V100" in (folder.path / "card.yaml").read_text()


def test_what_is_missing_or_does_not_belong_is_one_line(root: Path, trace: str, tmp_path: Path) -> None:
    card = tmp_path / "card.yaml"
    card.write_text("workload: [a]\n")
    for words, said in (
        (("import", "trace", trace), "error: --benchmark is missing"),
        (("import", "trace", trace, *TO[:4]), "error: --source is missing"),
        (("import", "trace", trace, *TO, "--work", "x.yaml"), "error: --work says nothing about trace"),
        (("import", "ccl-bench", trace, "--stack", "none"), "error: --stack says nothing about public results"),
        (("import", "trace", trace, *TO, "--card", str(card)), "error: the card's workload must be a mapping"),
        (("import", "trace", trace, *TO[:3], "other", *TO[4:]), "no stack 'other'"),
    ):
        code, out, err = run_cli(*words)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert said in err
    assert not list((root / "evidence").rglob("run.json")) if (root / "evidence").exists() else True


def test_other_json_is_not_taken_for_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"ph": 7, "results": [{"ts": 1}]}))
    assert TraceImporter().detect(path) is None
    trace = made.trace(tmp_path / "t.json", made.loading(60, 10, 100))
    assert TraceImporter().detect(trace) is not None
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(made.loading(60, 10, 100)))
    assert TraceImporter().detect(bare) is not None
