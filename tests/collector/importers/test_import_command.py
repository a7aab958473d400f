"""`stackproof import`: what it takes, what it says, what it refuses, and that it changes nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import catalog, public
from ledger.errors import EvidenceError
from tests.collector.conftest import run_cli
from tests.collector.importers.made import CARD, HISTORY, refused, row, table, write_card, write_table


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "ccl-bench"
    write_card(root, "one", CARD)
    write_table(root, row("one", {"avg_step_time": 1.5, "mfu": 2454.0}))
    return root


def files(workspace: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(workspace)): path.read_bytes() for path in workspace.glob("public/**/*") if path.is_file()
    }


def test_an_import_is_one_file_and_a_second_changes_nothing(workspace: Path, checkout: Path) -> None:
    code, out, err = run_cli("import", "auto", str(checkout), "--commit", "1f00d5e", "--licence", "MIT")
    assert (code, err) == (0, "")
    assert "public, not verified here: 1 rows (1 completed) from 2 files" in out
    before = files(workspace)
    (name,) = before
    assert name.startswith("public/ccl-bench/")
    collection = public.read(workspace / name)
    assert (collection.origin.commit, collection.origin.licence) == ("1f00d5e", "MIT")
    code, out, _ = run_cli("import", "ccl-bench", str(checkout), "--commit", "1f00d5e", "--licence", "MIT")
    assert code == 0
    assert "was there already" in out
    assert files(workspace) == before


def test_a_dry_run_says_what_would_be_taken_and_writes_nothing(workspace: Path, checkout: Path) -> None:
    code, out, _ = run_cli("import", "auto", str(checkout), "--dry-run")
    assert code == 0
    assert "mfu@ccl-bench                             0 values, 1 missing [share]; not ours" in out
    assert "nothing written" in out
    assert files(workspace) == {}


def test_a_dry_run_needs_no_workspace(tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_cli("import", "auto", str(checkout), "--dry-run")[0] == 0
    assert "is not in a stackproof workspace" in run_cli("import", "auto", str(checkout))[2]


def test_json_says_all(workspace: Path, checkout: Path) -> None:
    _, out, _ = run_cli("import", "auto", str(checkout), "--format", "json")
    (told,) = json.loads(out)
    assert (told["source"], told["rows"], told["new"], told["label"]) == ("ccl-bench", 1, True, public.LABEL)
    assert told["metrics"]["mfu@ccl-bench"]["missing"] == {"2454 % cannot be true: its inputs are wrong": 1}


def test_imported_rows_answer_queries_without_any_run(workspace: Path, checkout: Path) -> None:
    run_cli("import", "auto", str(checkout))
    with catalog.open(workspace / "evidence") as opened:
        assert opened.problems == ()
        (found,) = opened.query("SELECT source, row_id, label, model, device, devices FROM shortlist").rows
        assert found == ("ccl-bench", "one", public.LABEL, "llama-3.1-8b", "A100", 8)
        values = opened.query("SELECT metric, value, missing_reason FROM shortlist_metrics ORDER BY metric").rows
    assert values == [
        ("mfu@ccl-bench", None, "2454 % cannot be true: its inputs are wrong"),
        ("step_time@ccl-bench", 1.5, None),
    ]
    code, out, err = run_cli("query", "--saved", "shortlist", "--format", "csv")
    assert (code, err) == (0, "")
    assert "ccl-bench,one,completed,llama-3.1-8b,A100,8,torchtitan" in out


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _rename(path: Path) -> None:
    path.rename(path.with_name("0" * 16 + ".json"))


def _move(path: Path) -> None:
    other = path.parents[1] / "elsewhere"
    other.mkdir()
    path.rename(other / path.name)


def _edit(path: Path) -> None:
    path.write_text(path.read_text().replace("1.5", "1.4"))


def _other(path: Path) -> None:
    path.write_text("[1, 2]")


@pytest.mark.parametrize("harm", [_truncate, _rename, _move, _edit, _other])
def test_a_broken_collection_is_left_out_and_named(
    workspace: Path, checkout: Path, harm: Callable[[Path], None]
) -> None:
    run_cli("import", "auto", str(checkout))
    (path,) = workspace.glob("public/*/*.json")
    harm(path)
    (broken,) = workspace.glob("public/*/*.json")
    with catalog.open(workspace / "evidence") as opened:
        (problem,) = opened.problems
        assert problem.startswith(f"public/{broken.relative_to(workspace / 'public')} is left out:")
        assert opened.query("SELECT * FROM shortlist").rows == []
    with pytest.raises(EvidenceError):
        public.read(broken)


def test_a_changed_collection_is_not_written_over(workspace: Path, checkout: Path) -> None:
    run_cli("import", "auto", str(checkout))
    (path,) = workspace.glob("public/*/*.json")
    _edit(path)
    code, _, err = run_cli("import", "auto", str(checkout))
    assert code == 2
    assert "is there already, with another content than its name says" in err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{}", "is of no known format"),
        ("a.txt", "hello", "is of no known format"),
        ("a.json", json.dumps(table(row("one", {"mfu": 1.0})))[:-40], "ends in the middle"),
        ("a.csv", HISTORY + '0,0,"{""tp"": 4}","{""avg', "is no whole CSV file"),
        ("a.csv", HISTORY + "0,0,{},{},1\n", "has 5 columns where the header has 9"),
        ("a.csv", HISTORY + "0,0,[],{},1,success,,1,\n", "is no JSON object"),
        ("a.csv", HISTORY + '0,0,"{""tp""",{},1,success,,1,\n', "is not JSON"),
        ("a.csv", HISTORY, "holds no result"),
        ("a.yaml", "version: 1\nworkload:\n  model: {\nModel-executor: {}\n", "is not valid YAML"),
        ("a.yaml", "version: 7\nworkload: {model: {}}\nModel-executor: {}\n", "holds no result"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_taken(workspace: Path, name: str, text: str, said: str) -> None:
    (workspace / name).write_text(text)
    assert said in refused("auto", name)


def test_one_bad_path_takes_nothing_of_the_others(workspace: Path, checkout: Path) -> None:
    (workspace / "bad.json").write_text("{")
    assert "bad.json" in refused("ccl-bench", str(checkout), "bad.json")
    assert "no such file or folder" in refused("auto", str(checkout), "nowhere")
    assert "no format 'ccl-bnch'; did you mean 'ccl-bench'?" in refused("ccl-bnch", str(checkout))


def test_bytes_that_are_no_text(workspace: Path) -> None:
    (workspace / "website").mkdir()
    (workspace / "website" / "benchmark_data.json").write_bytes(b'{"rows": "\xff\xfe"}')
    assert "is not UTF-8 text" in refused("ccl-bench", ".")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("work_per_step: []", "work_per_step"),
        ("work_per_step: [{rows: one, source: s}]", "must give samples or tokens"),
        ("work_per_step: [{rows: two, samples: 3, source: s}]", "no row is named like 'two'"),
        ("work_per_step: [{rows: one, samples: many, source: s}]", "work_per_step.0.samples"),
        ("work: []", "work"),
    ],
)
def test_a_work_file_that_cannot_be_used(workspace: Path, checkout: Path, text: str, said: str) -> None:
    (workspace / "work.yaml").write_text(text)
    assert said in refused("auto", str(checkout), "--work", "work.yaml")


def test_a_work_file_is_part_of_the_origin(workspace: Path, checkout: Path) -> None:
    (workspace / "work.yaml").write_text("work_per_step:\n  - {rows: 'on?', tokens: 4096, source: its script}\n")
    assert run_cli("import", "auto", str(checkout), "--work", "work.yaml")[0] == 0
    (path,) = workspace.glob("public/*/*.json")
    found = public.read(path)
    assert found.rows[0].workload["tokens_per_step"] == 4096
    assert found.origin.files[-1].name == "work.yaml"
