from __future__ import annotations

from pathlib import Path

import pytest

from ledger import status
from ledger.errors import InputError
from ledger.status import Kind
from tests.evidence_repository import EvidenceRepository, make_batch, timed
from tests.factory import write_benchmark
from tests.ledger.integrity.conftest import Ask


@pytest.fixture
def ids(repository: EvidenceRepository) -> list[str]:
    return sorted(path.name[-16:] for path in repository.evidence.glob("tiny/*/slow-*"))


@pytest.fixture(autouse=True)
def _identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("[user]\n name = Tess Ter\n email = tess@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")


def test_retract_adds_a_record_that_verifies_and_says_where(
    ask: Ask, repository: EvidenceRepository, ids: list[str]
) -> None:
    answer = ask("retract", ids[0][:8], "--why", "the machine\nwas  throttled")
    assert answer.return_value == 0
    (record,) = status.read(repository.evidence)
    assert (record.run_id, record.kind, record.who) == (ids[0], Kind.RETRACTED, "Tess Ter <tess@example.org>")
    assert record.why == "the machine was throttled"
    assert f"evidence/status/{ids[0]}/{record.file_name}" in answer.output
    assert "commit it" in answer.output
    assert ask("verify", "--base", "main").return_value == 0


def test_supersede_names_both_runs(ask: Ask, repository: EvidenceRepository, ids: list[str]) -> None:
    assert ask("supersede", ids[0], "--by", ids[1], "--why", "again", "--who", "Someone").return_value == 0
    (record,) = status.read(repository.evidence)
    assert (record.run_id, record.by, record.kind, record.who) == (ids[0], ids[1], Kind.SUPERSEDED, "Someone")
    assert ask("verify").return_value == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("retract", "zzzz", "--why", "x"),
        ("retract", "", "--why", "x"),
        ("retract", "{0}", "--why", " \n"),
        ("supersede", "{0}", "--by", "{0}", "--why", "x"),
        ("supersede", "{0}", "--by", "zzzz", "--why", "x"),
    ],
)
def test_bad_input_writes_nothing(
    ask: Ask, repository: EvidenceRepository, ids: list[str], arguments: tuple[str, ...]
) -> None:
    error = ask(*(each.format(*ids) for each in arguments)).exception
    assert isinstance(error, InputError)
    assert not (repository.evidence / "status").exists()


def test_a_run_is_not_superseded_by_one_that_is_out_of_use(
    ask: Ask, repository: EvidenceRepository, ids: list[str]
) -> None:
    ask("retract", ids[1], "--why", "x")
    assert "is retracted itself" in str(ask("supersede", ids[0], "--by", ids[1], "--why", "x").exception)


def test_a_run_is_not_superseded_by_another_benchmarks(
    ask: Ask, repository: EvidenceRepository, ids: list[str]
) -> None:
    write_benchmark(repository.root / "benchmarks", name="other")
    (other,) = make_batch(repository.evidence, [timed("slow", 1)[0] | {"changes": {"name": "other"}}])
    assert "another benchmark" in str(ask("supersede", ids[0], "--by", other.name[-16:], "--why", "x").exception)


def test_a_run_of_elsewhere_is_refused(ask: Ask, repository: EvidenceRepository, ids: list[str]) -> None:
    (other,) = make_batch(repository.root / "elsewhere", timed("slow", 1))
    assert "not a run of this workspace" in str(ask("retract", str(other), "--why", "x").exception)


def test_without_a_name_one_is_asked_for(
    ask: Ask, repository: EvidenceRepository, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    assert "--who" in str(ask("retract", ids[0], "--why", "x").exception)


def test_the_same_record_again_is_refused_and_another_reason_is_added(
    ask: Ask, repository: EvidenceRepository, ids: list[str]
) -> None:
    ask("retract", ids[0], "--why", "throttled")
    assert "is retracted already, for the same reason" in str(ask("retract", ids[0], "--why", "throttled").exception)
    assert len(status.read(repository.evidence)) == 1
    answer = ask("retract", ids[0], "--why", "wrong driver")
    assert f"note: {ids[0]} was retracted already; both records stand" in answer.stderr
    assert len(status.read(repository.evidence)) == 2


def test_superseding_a_run_that_is_out_of_use_says_so(ask: Ask, repository: EvidenceRepository, ids: list[str]) -> None:
    ask("retract", ids[0], "--why", "throttled")
    answer = ask("supersede", ids[0], "--by", ids[1], "--why", "again")
    assert f"note: {ids[0]} was retracted already; both records stand" in answer.stderr
    assert "for the same reason" in str(ask("supersede", ids[0], "--by", ids[1], "--why", "again").exception)


@pytest.mark.parametrize("option", ["--why", "--who"])
def test_bytes_that_are_no_text_are_refused(
    ask: Ask, repository: EvidenceRepository, ids: list[str], option: str
) -> None:
    arguments = {"--why": "x", "--who": "y", option: "\udcff\udcfe"}
    error = ask("retract", ids[0], *(word for pair in arguments.items() for word in pair)).exception
    assert isinstance(error, InputError)
    assert f"{option} is not UTF-8 text" in error.diagnostics()
    assert not (repository.evidence / "status").exists()
