from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import parquet, status
from ledger.canonical import canonical_json, file_digest
from ledger.errors import InputError
from ledger.run import Run
from ledger.seal import seal
from ledger.status import Kind, StatusRecord
from tests.evidence_repository import EvidenceRepository, make_batch, timed
from tests.factory import make_run
from tests.ledger.integrity.conftest import Ask


@pytest.fixture
def runs(repository: EvidenceRepository) -> list[Path]:
    return sorted(repository.evidence.glob("tiny/*/slow-*"))


def record(run: Path, kind: Kind, **more: object) -> StatusRecord:
    return StatusRecord(run.name[-16:], kind, status.now(), "tess", "because", **more)  # type: ignore[arg-type]


def test_whole_evidence_is_one_line_and_0(ask: Ask, runs: list[Path]) -> None:
    answer = ask("verify", "--recompute", "--secrets")
    assert answer.output.splitlines() == [
        "3 runs, 33 files, all as sealed, metrics derived again alike, no secret found"
    ]
    assert answer.return_value == 0


def test_each_problem_is_a_line_with_run_file_what_and_what_to_do(ask: Ask, runs: list[Path]) -> None:
    (runs[0] / "logs/stdout.log").write_text("other")
    (runs[1] / "extra").touch()
    answer = ask("verify")
    assert answer.return_value == 1
    changed, extra, summary = answer.output.splitlines()
    assert changed.startswith(f"tiny/2026-11-30/{runs[0].name}: logs/stdout.log: is not what was sealed")
    assert changed.endswith("; restore it from git")
    assert extra.startswith(f"tiny/2026-11-30/{runs[1].name}: extra: is an extra file")
    assert summary == "3 runs, 33 files: 2 problems"


def test_json_holds_the_same(ask: Ask, runs: list[Path]) -> None:
    (runs[0] / "card.yaml").unlink()
    found = json.loads(ask("verify", "--format", "json").output)
    assert (found["ok"], found["runs"]) == (False, 3)
    assert [(each["code"], each["file"]) for each in found["findings"]] == [("missing", "card.yaml")]


def test_runs_are_chosen_by_id_prefix_name_or_path(ask: Ask, runs: list[Path]) -> None:
    (runs[0] / "extra").touch()
    run_id = runs[1].name[-16:]
    for name in (run_id, run_id[:9], runs[1].name, str(runs[1]), f"tiny/2026-11-30/{runs[1].name}"):
        assert ask("verify", name).output == "1 run, 11 files, all as sealed\n"
    assert ask("verify", runs[0].name).return_value == 1
    (runs[1] / "run.json").unlink()
    assert "run.json: is missing" in ask("verify", str(runs[1])).output


@pytest.mark.parametrize("name", ["zzz", "", "evidence/tiny", "."])
def test_a_run_that_is_not_there_or_not_one_is_bad_input(ask: Ask, runs: list[Path], name: str) -> None:
    assert isinstance(ask("verify", name).exception, InputError)


@pytest.mark.parametrize(
    ("strange", "word"),
    [
        ("stray.txt", "stray file"),
        ("tiny/notes.md", "stray file"),
        ("tiny/2026-11-30/notes.md", "stray file"),
        ("tiny/2026-11-30/.DS_Store", "stray file"),
        ("tiny/2026-13-45/x", "not a day's folder"),
        ("tiny/2026-11-30/slow-1234/x", "not named <stack>-<id>"),
        ("Tiny/x", "not a benchmark's folder"),
        (".git/x", "not a benchmark's folder"),
        ("status/nonsense/x", "not the folder of a run's status records"),
        ("tiny/2026-11-30/plan-00.json", "stray file"),
    ],
)
def test_what_lies_between_the_runs_is_seen(ask: Ask, runs: list[Path], strange: str, word: str) -> None:
    path = runs[0].parents[2] / strange
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    answer = ask("verify")
    assert answer.return_value == 1
    assert word in answer.output


@pytest.mark.parametrize("place", ["gone", "tiny/gone", "tiny/2026-11-30/gone", "tiny/2026-11-30/slow-0000/deep"])
def test_a_run_moved_to_the_wrong_place_does_not_just_vanish(ask: Ask, runs: list[Path], place: str) -> None:
    target = runs[0].parents[2] / place
    target.parent.mkdir(parents=True, exist_ok=True)
    runs[0].rename(target)
    answer = ask("verify")
    assert answer.return_value == 1
    assert place.rsplit("/", maxsplit=1)[-1] in answer.output or "not named <stack>-<id>" in answer.output


def test_what_collectors_keep_while_they_work_is_no_evidence(ask: Ask, runs: list[Path]) -> None:
    evidence = runs[0].parents[2]
    for name in (".incoming/x/run", ".claims/x"):
        (evidence / name).mkdir(parents=True)
    for name in (".gitkeep", "README.md", ".lock"):
        (evidence / name).touch()
    assert ask("verify").return_value == 0


def test_a_linked_evidence_folder_is_found(ask: Ask, runs: list[Path], tmp_path: Path) -> None:
    evidence = runs[0].parents[2]
    evidence.rename(tmp_path / "elsewhere")
    evidence.symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in ask("verify").output


def test_plans_are_checked_and_missed(ask: Ask, runs: list[Path]) -> None:
    plan = next(runs[0].parent.glob("plan-*.json"))
    data = plan.read_bytes()
    for changed in (data + b" ", data.replace(b'"repeat":1', b'"repeat":9'), b"{}\n", b"[", b""):
        plan.write_bytes(changed)
        assert f"{plan.name}: " in ask("verify").output
    plan.write_bytes(data)
    assert ask("verify").return_value == 0
    renamed = plan.rename(plan.with_name(f"plan-{'0' * 16}.json"))
    assert "is not what its name says" in ask("verify").output
    renamed.unlink()
    answer = ask("verify").output
    assert f"{plan.name}: is missing" in answer
    assert "3 runs of its batch" in answer


def test_status_records_are_checked(ask: Ask, runs: list[Path]) -> None:
    evidence = runs[0].parents[2]
    path = status.write(evidence, record(runs[0], Kind.RETRACTED))
    assert ask("verify").return_value == 0
    data = path.read_bytes()
    for changed in (data.replace(b"because", b"anyhow!"), data + b"\n", data.replace(b"retracted", b"promoted"), b"x"):
        path.write_bytes(changed)
        answer = ask("verify")
        assert answer.return_value == 1
        assert path.relative_to(evidence).as_posix() in answer.output
    path.write_bytes(data)
    (evidence / "status" / runs[1].name[-16:]).mkdir()
    moved = path.rename(evidence / "status" / runs[1].name[-16:] / path.name)
    assert "is about another run" in ask("verify").output
    moved.unlink()
    status.write(evidence, StatusRecord("0" * 16, Kind.RETRACTED, status.now(), "tess", "because"))
    assert f"speaks of the run {'0' * 16}, which is not here" in ask("verify").output


def test_files_of_a_redacted_record_may_be_absent_and_no_others(ask: Ask, runs: list[Path]) -> None:
    evidence, log = runs[0].parents[2], runs[0] / "logs/stdout.log"
    status.write(evidence, record(runs[0], Kind.REDACTED, paths=(("logs/stdout.log", file_digest(log)),)))
    assert ask("verify").output == "3 runs, 33 files, all as sealed\n"
    log.unlink()
    answer = ask("verify", "--recompute")
    assert answer.return_value == 0
    assert "logs/stdout.log: redacted, as a status record says" in answer.output
    assert "32 files, all as sealed, 1 redacted" in answer.output
    assert ask("verify", runs[0].name).return_value == 0
    (runs[0] / "card.yaml").unlink()
    assert "card.yaml: is missing" in ask("verify").output
    log.write_text("something else")
    assert "logs/stdout.log: is not what was sealed" in ask("verify").output


def test_a_redaction_with_another_digest_allows_nothing(ask: Ask, runs: list[Path]) -> None:
    status.write(runs[0].parents[2], record(runs[0], Kind.REDACTED, paths=(("logs/stdout.log", "0" * 64),)))
    (runs[0] / "logs/stdout.log").unlink()
    assert "logs/stdout.log: is missing" in ask("verify").output


def test_a_trial_that_counts_twice_is_found_until_one_is_set_aside(
    ask: Ask, runs: list[Path], repository: EvidenceRepository
) -> None:
    again = timed("slow", 1)[0] | {"attempt": 2, "started": "2026-11-30T13:00:00.000000Z"}
    second = make_batch(repository.evidence, [again])[0]
    answer = ask("verify")
    assert answer.return_value == 1
    assert "counts a second time" in answer.output
    first = next(run for run in runs if json.loads((run / "run.json").read_text())["repeat"] == 1)
    status.write(repository.evidence, record(first, Kind.SUPERSEDED, by=second.name[-16:]))
    assert ask("verify").return_value == 0


def test_a_duplicate_of_an_attempt_and_a_retry_do_not_count_twice(ask: Ask, repository: EvidenceRepository) -> None:
    twice = timed("slow", 1)[0] | {"duplicate_of_attempt": True, "started": "2026-11-30T13:00:00.000000Z"}
    make_batch(repository.evidence, [twice])
    assert ask("verify").return_value == 0


def test_recompute_finds_a_sealed_value_that_its_definition_does_not_give(
    ask: Ask, repository: EvidenceRepository
) -> None:
    forged = _resealed(repository, lambda row: row.update(value=row["value"] * (1 + 1e-9)))
    assert ask("verify", forged.name).return_value == 0
    answer = ask("verify", forged.name, "--recompute")
    assert answer.return_value == 1
    assert "step_time@1: sealed 0.1" in answer.output


def test_recompute_forgives_the_last_bits_and_knows_its_definitions(ask: Ask, repository: EvidenceRepository) -> None:
    near = _resealed(repository, lambda row: row.update(value=row["value"] * (1 + 3e-16)))
    assert ask("verify", near.name, "--recompute").return_value == 0
    unknown = _resealed(repository, lambda row: row.update(definition="step_time@99", version=99))
    assert "step_time@99 is not a definition" in ask("verify", unknown.name, "--recompute").output
    inputs = _resealed(repository, lambda row: row.update(inputs={"samples/steps.parquet": "0" * 64}))
    assert "other inputs" in ask("verify", inputs.name, "--recompute").output


def test_recompute_finds_samples_that_were_swapped_before_sealing(ask: Ask, repository: EvidenceRepository) -> None:
    run = make_run(repository.root / "scratch", "fast")
    table = parquet.read(run / "samples/steps.parquet").to_pylist()
    parquet.write(
        run / "samples/steps.parquet", [{**row, "duration_ns": row["duration_ns"] // 2} for row in table], parquet.STEPS
    )
    forged = _seal_again(run, repository)
    assert "step_time@1: sealed 0.1, its definition gives 0.05" in ask("verify", forged.name, "--recompute").output


def test_secrets_are_found_anywhere_and_not_printed(
    ask: Ask, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "boom-boom-boom")
    token = "hf_" + "aB3d" * 8
    (runs[0] / "logs/stderr.log").write_text(f"one\n{token}\nboom-boom-boom\n")
    answer = ask("verify", "--secrets")
    assert answer.return_value == 1
    assert "logs/stderr.log: line 2 holds a secret (huggingface_token)" in answer.output
    assert "line 3 holds a secret (MY_API_TOKEN)" in answer.output
    assert token not in answer.output
    assert "boom-boom" not in answer.output


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "kept"])
def test_an_evidence_folder_that_holds_nothing_is_bad_input(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "mkdocs.yml").touch()
    evidence = tmp_path / "evidence"
    if kind == "file":
        evidence.touch()
    elif kind != "missing":
        evidence.mkdir()
    if kind == "kept":
        (evidence / ".gitkeep").touch()
    monkeypatch.chdir(tmp_path)
    error = ask("verify").exception
    assert isinstance(error, InputError)
    assert "\n" not in error.diagnostics()
    assert str(evidence) in error.diagnostics()


def _resealed(repository: EvidenceRepository, change: Callable[[dict[str, Any]], None]) -> Path:
    """A run whose metrics.json was changed before it was sealed."""
    run = make_run(repository.root / "scratch", "fast")
    rows = json.loads((run / "metrics.json").read_text())
    change(next(row for row in rows if row["metric"] == "step_time"))
    (run / "metrics.json").write_text(json.dumps(rows))
    return _seal_again(run, repository)


def _seal_again(run: Path, repository: EvidenceRepository) -> Path:
    (run / "MANIFEST.sha256").unlink()
    content = Run.from_json(json.loads((run / "run.json").read_text()), "here")
    sealed = seal(run, repository.evidence, content)
    shutil.rmtree(repository.root / "scratch")
    return sealed


def test_records_are_canonical_json(runs: list[Path]) -> None:
    path = status.write(runs[0].parents[2], record(runs[0], Kind.RETRACTED))
    assert path.read_bytes() == canonical_json(json.loads(path.read_bytes())) + b"\n"
    assert [each.kind for each in status.read(runs[0].parents[2])] == [Kind.RETRACTED]


def test_a_run_that_is_gone_while_its_plan_is_there_is_a_warning(ask: Ask, runs: list[Path]) -> None:
    """The plan alone cannot tell a removed run from a batch that was interrupted or runs now."""
    shutil.rmtree(min(runs, key=lambda run: json.loads((run / "run.json").read_text())["launch_order"]))
    answer = ask("verify")
    assert answer.return_value == 0
    warning = next(line for line in answer.output.splitlines() if line.startswith("warning: "))
    assert "plan-" in warning
    assert "1 of its 3 launches have no run, the first is launch 2" in warning
    assert "an interruption alone does not account for it" in warning
    found = json.loads(ask("verify", "--format", "json").stdout)
    assert (found["ok"], [each["code"] for each in found["warnings"]]) == (True, ["plan_unfinished"])


def test_links_and_folders_in_the_place_of_evidence_are_not_just_to_be_taken_out(
    ask: Ask, repository: EvidenceRepository, runs: list[Path]
) -> None:
    plan = next(repository.evidence.rglob("plan-*.json"))
    for place in (plan, runs[0]):
        away = repository.root / f"away-{place.name}"
        place.rename(away)
        place.symlink_to(away)
    lines = [line for line in ask("verify").stdout.splitlines() if "symbolic link" in line]
    assert len(lines) == 2
    assert all("restore from git what stood there" in line for line in lines)
    plan.unlink()
    plan.mkdir()
    assert "was replaced by a folder: the plan is missing; restore the file from git" in ask("verify").stdout
