from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import append_only, status
from ledger.canonical import file_digest
from ledger.errors import GitError
from ledger.status import Kind, StatusRecord
from tests import evidence_repository
from tests.evidence_repository import EvidenceRepository, make_batch, timed
from tests.ledger.integrity.conftest import Ask


@pytest.fixture
def run(repository: EvidenceRepository) -> Path:
    return sorted(repository.evidence.glob("tiny/*/slow-*"))[0]


def codes(repository: EvidenceRepository, base: str = "main") -> dict[str, str]:
    return {found.path: found.code for found in append_only.check(repository.evidence, base).findings}


def inside(run: Path, file: str) -> str:
    return f"tiny/2026-11-30/{run.name}/{file}" if file else f"tiny/2026-11-30/{run.name}"


BREAKS: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "modified": (lambda run: (run / "card.yaml").write_text("x"), "card.yaml", "modified"),
    "deleted": (lambda run: (run / "card.yaml").unlink(), "card.yaml", "deleted"),
    "run deleted": (shutil.rmtree, "", "deleted"),
    "run renamed": (lambda run: run.rename(run.with_name(f"slow-{'0' * 16}")), "", "renamed"),
    "file renamed": (lambda run: (run / "card.yaml").rename(run.parent.parent / "card.yaml"), "card.yaml", "renamed"),
    "added": (lambda run: (run / "notes.md").touch(), "notes.md", "added"),
    "hidden": (lambda run: (run / "logs/.x").touch(), "logs/.x", "added"),
    "link": (
        lambda run: ((run / "card.yaml").unlink(), (run / "card.yaml").symlink_to("run.json")),
        "card.yaml",
        "modified",
    ),
}


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("name", BREAKS)
def test_what_changes_evidence_of_the_base_is_a_violation(
    repository: EvidenceRepository, run: Path, name: str, committed: bool
) -> None:
    break_it, file, code = BREAKS[name]
    break_it(run)
    if committed:
        repository.commit()
    assert codes(repository) == {inside(run, file): code}


def test_a_committed_change_counts_though_the_files_on_disk_are_put_back(
    repository: EvidenceRepository, run: Path
) -> None:
    data = (run / "card.yaml").read_bytes()
    (run / "card.yaml").write_text("x")
    repository.commit()
    (run / "card.yaml").write_bytes(data)
    assert codes(repository) == {inside(run, "card.yaml"): "modified"}


def test_new_runs_plans_and_records_are_no_violation(ask: Ask, repository: EvidenceRepository, run: Path) -> None:
    make_batch(repository.evidence, timed("fast", 2))
    status.write(repository.evidence, StatusRecord(run.name[-16:], Kind.RETRACTED, status.now(), "tess", "because"))
    assert codes(repository) == {}
    repository.commit()
    assert codes(repository) == {}
    answer = ask("verify", "--base", "main")
    assert answer.output == "5 runs, 55 files, all as sealed, nothing of main changed\n"


def test_plans_and_status_records_are_append_only_too(repository: EvidenceRepository, run: Path) -> None:
    record = StatusRecord(run.name[-16:], Kind.RETRACTED, status.now(), "tess", "because")
    path = status.write(repository.evidence, record)
    repository.commit()
    repository.git("branch", "--force", "main")
    plan = next(run.parent.glob("plan-*.json"))
    plan.write_text("{}")
    path.unlink()
    assert codes(repository) == {
        plan.relative_to(repository.evidence).as_posix(): "modified",
        path.relative_to(repository.evidence).as_posix(): "deleted",
    }


def test_what_the_base_gained_meanwhile_is_not_deleted_by_the_branch(repository: EvidenceRepository) -> None:
    repository.git("checkout", "--quiet", "main")
    make_batch(repository.evidence, timed("fast", 2))
    repository.commit("more on main")
    repository.git("checkout", "--quiet", "work")
    assert not list(repository.evidence.glob("tiny/*/fast-*"))
    assert codes(repository) == {}


def test_modes_settings_of_git_and_index_flags_neither_accuse_nor_hide(
    repository: EvidenceRepository, run: Path
) -> None:
    (run / "launch/run.sh").chmod(0o755)
    repository.commit()
    assert codes(repository) == {}
    for key, value in (
        ("diff.renames", "copies"),
        ("core.quotePath", "true"),
        ("core.autocrlf", "true"),
        ("diff.external", "false"),
        ("diff.noprefix", "true"),
        ("core.fileMode", "false"),
    ):
        repository.git("config", key, value)
    assert codes(repository) == {}
    repository.git("update-index", "--assume-unchanged", str(run / "card.yaml"))
    (run / "card.yaml").write_text("x")
    assert codes(repository) == {inside(run, "card.yaml"): "modified"}


def test_an_object_that_git_replaces_hides_nothing(repository: EvidenceRepository, run: Path) -> None:
    old = repository.git("rev-parse", "main")
    (run / "card.yaml").write_text("x")
    new = repository.commit()
    repository.git("replace", old, new)
    assert codes(repository, old) == {inside(run, "card.yaml"): "modified"}


@pytest.mark.parametrize("committed", [False, True])
def test_a_redacted_record_lets_just_its_files_go(
    ask: Ask, repository: EvidenceRepository, run: Path, committed: bool
) -> None:
    log = run / "logs/stdout.log"
    paths = (("logs/stdout.log", file_digest(log)),)
    record = StatusRecord(run.name[-16:], Kind.REDACTED, status.now(), "tess", "a name", paths=paths)
    status.write(repository.evidence, record)
    log.unlink()
    (run / "logs/stderr.log").unlink()
    if committed:
        repository.commit()
    assert codes(repository) == {inside(run, "logs/stderr.log"): "deleted"}
    repository.git("checkout", "main", "--", str(run / "logs/stderr.log"))
    if committed:
        repository.commit()
    assert codes(repository) == {}
    assert ask("verify", "--base", "main").return_value == 0


def test_a_redacted_record_with_a_wrong_digest_lets_nothing_go(repository: EvidenceRepository, run: Path) -> None:
    paths = (("logs/stdout.log", "0" * 64),)
    record = StatusRecord(run.name[-16:], Kind.REDACTED, status.now(), "tess", "a name", paths=paths)
    status.write(repository.evidence, record)
    (run / "logs/stdout.log").unlink()
    assert codes(repository) == {inside(run, "logs/stdout.log"): "deleted"}


def test_a_moved_evidence_folder_is_a_violation(repository: EvidenceRepository) -> None:
    repository.evidence.rename(repository.root / "elsewhere")
    (repository.root / "mkdocs.yml").write_text("extra: {stackproof: {evidence: elsewhere}}\n")
    repository.commit()
    found = append_only.check(repository.root / "elsewhere", "main").findings
    assert [each.code for each in found] == ["moved"]


def test_a_link_in_place_of_the_evidence_folder_is_a_violation(repository: EvidenceRepository, run: Path) -> None:
    repository.evidence.rename(repository.root / "elsewhere")
    repository.evidence.symlink_to("elsewhere")
    repository.commit()
    assert codes(repository)[inside(run, "")] == "renamed" or codes(repository)[inside(run, "")] == "deleted"


def test_unusual_names_are_compared_exactly(repository: EvidenceRepository, run: Path) -> None:
    """Such a file is none that collect would seal; the base may hold it all the same."""
    odd = run.parent / 'ä "quoted"\ttab\nline'
    odd.write_text("x")
    repository.commit()
    repository.git("branch", "--force", "main")
    assert codes(repository) == {}
    odd.unlink()
    (found,) = append_only.check(repository.evidence, "main").findings
    assert found.code == "deleted"
    assert "\n" not in found.line()


@pytest.mark.parametrize("base", ["nowhere", "--all", "", "0" * 40])
def test_a_base_that_is_not_there_is_one_line(ask: Ask, repository: EvidenceRepository, base: str) -> None:
    error = ask("verify", f"--base={base}").exception
    assert isinstance(error, GitError)
    assert "no commit" in error.diagnostics()


def test_a_shallow_clone_says_how_to_fetch_the_rest(
    ask: Ask, repository: EvidenceRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.root / "x").touch()
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    (repository.root / "y").touch()
    repository.commit()
    url = f"file://{repository.root}"
    clone = ["git", "clone", "--quiet", "--depth", "1", "--no-single-branch", "--branch", "work", url, "clone"]
    subprocess.run(clone, cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path / "clone")
    error = ask("verify", "--base", "origin/main").exception
    assert isinstance(error, GitError)
    assert "git fetch --unshallow" in error.diagnostics()


def test_unrelated_histories_and_no_repository_are_one_line(
    ask: Ask, repository: EvidenceRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit()
    assert "no commit in common" in str(ask("verify", "--base", "main").exception)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "mkdocs.yml").touch()
    make_batch(tmp_path / "plain" / "evidence", timed("slow", 1))
    monkeypatch.chdir(tmp_path / "plain")
    assert "is not in a git repository" in str(ask("verify", "--base", "main").exception)


def test_a_workspace_below_the_repositorys_root_is_compared_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = EvidenceRepository(tmp_path / "outer")
    evidence_repository.start(outer.root / "first")
    shutil.rmtree(outer.root / "first" / ".git")
    outer.git("init", "--quiet", "--initial-branch", "main")
    (outer.root / "evidence").mkdir()
    (outer.root / "evidence" / "other.txt").touch()
    outer.commit()
    (outer.root / "evidence" / "other.txt").unlink()
    run = next((outer.root / "first/evidence").glob("tiny/*/slow-*"))
    (run / "card.yaml").unlink()
    found = append_only.check(outer.root / "first/evidence", "main").findings
    assert [each.path for each in found] == [inside(run, "card.yaml")]
