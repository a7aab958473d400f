from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from ledger import status
from ledger.errors import GitError
from ledger.run import Outcome, Reason, State
from ledger.status import Kind, StatusRecord
from sitegen.review_text import LONGEST, code
from stackproof import cli
from tests import evidence_repository
from tests.evidence_repository import EvidenceRepository, make_batch, timed
from tests.factory import benchmark_text, write_benchmark

Ask = Callable[..., Result]
HOSTILE = (
    "killed @octocat #1 | <img src=x onerror=a> `rm` ``x`` [x](http://y) ![z](w)\n# hi\n| a | b |\x1b[31m\u202e --> \\"
)


@pytest.fixture
def ask() -> Ask:
    return lambda *arguments: CliRunner().invoke(cli, ["review", *arguments], standalone_mode=False)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvidenceRepository:
    made = evidence_repository.start(tmp_path / "workspace")
    monkeypatch.chdir(made.root)
    return made


def first_line(result: Result) -> str:
    return result.output.splitlines()[0]


def failed(detail: str) -> dict[str, Any]:
    outcome = Outcome(State.FAILED, Reason.OUT_OF_MEMORY, detail=detail, exit_code=1)
    return {"stack": "fast", "repeat": 9, "order": 99, "failed": Reason.OUT_OF_MEMORY, "outcome": outcome}


def test_a_branch_that_adds_nothing(ask: Ask, repository: EvidenceRepository) -> None:
    answer = ask("--base", "main")
    assert answer.return_value == 0
    expected = "no run added, nothing broken, verdict unchanged (slow-vs-fast: inconclusive, not ready)"
    assert first_line(answer) == f"**stackproof: {expected}**"


def test_runs_and_a_changed_verdict(ask: Ask, repository: EvidenceRepository) -> None:
    make_batch(repository.evidence, [*timed("fast", 3, 0.08), failed("it ran out")])
    repository.commit()
    answer = ask("--base", "main")
    assert answer.return_value == 0
    line = first_line(answer)
    assert line.startswith(
        "**stackproof: 4 runs added, all intact, verdict changed (slow-vs-fast: inconclusive, not ready"
    )
    assert "→ fast wins, " in line
    assert "| `tiny` | `fast` | 4 timed | 3 | 1 | `out_of_memory` |" in answer.output
    assert "`it ran out`" in answer.output
    found = json.loads(ask("--base", "main", "--format", "json").output)
    assert found["ok"]
    assert found["by_stack"] == [
        {"benchmark": "tiny", "stack": "fast", "roles": {"timed": 4}, "completed": 3, "failed": {"out_of_memory": 1}}
    ]
    assert found["verdicts"][0]["before"] == "inconclusive, not ready"


def test_before_is_the_merge_base_and_not_what_main_is_now(ask: Ask, repository: EvidenceRepository) -> None:
    repository.git("checkout", "--quiet", "main")
    make_batch(repository.evidence, timed("fast", 3, 0.08))
    repository.commit()
    repository.git("checkout", "--quiet", "work")
    assert "no run added, nothing broken, verdict unchanged" in first_line(ask("--base", "main"))


def test_a_changed_run_is_a_violation_and_named(ask: Ask, repository: EvidenceRepository) -> None:
    run = next(repository.evidence.glob("tiny/*/slow-*"))
    (run / "card.yaml").write_text("x")
    repository.commit()
    answer = ask("--base", "main")
    assert answer.return_value == 1
    assert first_line(answer).startswith("**stackproof: 1 violation, no run added, ")
    assert f"- `tiny/2026-11-30/{run.name}/card.yaml`: `was modified; " in answer.output


def test_an_added_run_that_is_not_as_sealed_is_a_violation(ask: Ask, repository: EvidenceRepository) -> None:
    run = make_batch(repository.evidence, timed("fast", 1))[0]
    (run / "logs/stdout.log").write_text("x")
    repository.commit()
    answer = ask("--base", "main")
    assert answer.return_value == 1
    assert f"- `tiny/2026-11-30/{run.name}/logs/stdout.log`: `is not what was sealed" in answer.output


def test_what_was_broken_before_is_not_held_against_the_branch(ask: Ask, repository: EvidenceRepository) -> None:
    (repository.evidence / "tiny" / "stray.txt").touch()
    repository.commit()
    repository.git("branch", "--force", "main")
    answer = ask("--base", "main")
    assert answer.return_value == 0
    assert "The base has 1 problem of its own already" in answer.output


def test_evidence_that_is_gone_altogether_is_a_violation(ask: Ask, repository: EvidenceRepository) -> None:
    shutil.rmtree(repository.evidence)
    repository.commit()
    answer = ask("--base", "main")
    assert answer.return_value == 1
    assert first_line(answer).startswith("**stackproof: 4 violations, ")
    assert answer.output.count("the run was deleted") == 3


def test_a_benchmark_file_that_cannot_be_read_is_a_violation(ask: Ask, repository: EvidenceRepository) -> None:
    (repository.root / "benchmarks/tiny.yaml").write_text(benchmark_text(question=3))
    answer = ask("--base", "main")
    assert answer.return_value == 1
    assert "`benchmarks/tiny.yaml" in answer.output
    assert "inconclusive, not ready → could not be judged" in first_line(answer)


def test_changed_declarations_are_named_with_both_values(ask: Ask, repository: EvidenceRepository) -> None:
    envelope = {"limits": {"evaluation_loss": "<= 1.2"}, "objective": {"minimise": "step_time"}}
    comparisons = [{"baseline": "slow", "candidate": "fast", "threshold": "1%"}]
    write_benchmark(repository.root / "benchmarks", envelope=envelope, comparisons=comparisons, timeout="5 min")
    repository.commit()
    answer = ask("--base", "main")
    assert answer.return_value == 0
    assert "3 declared fields changed" in first_line(answer)
    judged = "| verdicts rest on it |"
    assert f"| `tiny` | `envelope.limits.evaluation_loss` | `<= 3.0` | `<= 1.2` {judged}" in answer.output
    assert f"| `tiny` | `comparisons.slow-vs-fast.threshold` | `5%` | `1%` {judged}" in answer.output
    assert "| `tiny` | `timeout` | `nothing` | `5 min` |  |" in answer.output
    said = json.loads(ask("--base", "main", "--format", "json").output)["declared"]
    assert [each["judged"] for each in said] == [True, True, False]


def test_a_moved_run_is_not_added(ask: Ask, repository: EvidenceRepository) -> None:
    run = next(repository.evidence.glob("tiny/*/slow-*"))
    moved = run.parent.parent / "2026-11-29" / run.name
    moved.parent.mkdir()
    run.rename(moved)
    repository.commit()
    answer = ask("--base", "main")
    assert answer.return_value == 1
    assert "no run added" in first_line(answer)


def test_a_new_workspace_has_no_verdict_before(ask: Ask, repository: EvidenceRepository) -> None:
    repository.git("checkout", "--quiet", "main")
    repository.git("rm", "-r", "--quiet", "--cached", "evidence", "benchmarks", "mkdocs.yml")
    repository.git("commit", "--quiet", "--amend", "--allow-empty", "--message", "nothing yet")
    repository.git("branch", "--force", "work")
    repository.git("checkout", "--quiet", "work")
    repository.commit()
    assert "3 runs added, all intact, verdict changed (slow-vs-fast: not declared → " in first_line(
        ask("--base", "main")
    )


def test_status_records_are_listed(ask: Ask, repository: EvidenceRepository) -> None:
    run = next(repository.evidence.glob("tiny/*/slow-*"))
    record = StatusRecord(run.name[-16:], Kind.RETRACTED, status.now(), "@mallory", "too | hot")
    status.write(repository.evidence, record)
    answer = ask("--base", "main")
    assert answer.return_value == 0
    assert "no run added, nothing broken, 1 status record added, " in first_line(answer)
    assert f"- `retracted` `{record.run_id}`: `too | hot` (`@mallory`)" in answer.output


def test_hostile_words_of_the_evidence_stay_words(ask: Ask, repository: EvidenceRepository) -> None:
    make_batch(repository.evidence, [failed(HOSTILE)])
    repository.commit()
    output = ask("--base", "main").output
    line = next(line for line in output.splitlines() if "octocat" in line)
    start, end = line.index("``` killed") if "``` killed" in line else line.index("```killed"), line.rindex("```")
    inside = line[start + 3 : end]
    assert "```" not in inside
    assert "octocat" not in line[:start] + line[end:]
    assert "<img" not in line[:start] + line[end:]
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert "\n# hi" not in output


@given(st.text())
def test_a_code_span_holds_whatever_it_is_given(text: str) -> None:
    """As CommonMark reads it: the span ends at the first run of as many backticks as it began with."""
    span = str(code(text, cell=True))
    fence = span[: len(span) - len(span.lstrip("`"))]
    body = span[len(fence) : -len(fence)]
    assert span.endswith(fence)
    runs = [len(run) for run in _backtick_runs(body)]
    assert len(fence) not in runs
    assert "\n" not in span
    assert "|" not in span
    assert len(span) < 2 * LONGEST + 10


@pytest.mark.parametrize("base", ["nowhere", ""])
def test_a_base_that_is_not_there_is_one_line(ask: Ask, repository: EvidenceRepository, base: str) -> None:
    assert isinstance(ask(f"--base={base}").exception, GitError)


def test_nothing_is_left_behind(
    ask: Ask, repository: EvidenceRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    before = repository.git("status", "--porcelain")
    ask("--base", "main")
    assert repository.git("status", "--porcelain") == before
    assert list((tmp_path / "tmp").iterdir()) == []


def test_filters_and_attributes_do_not_change_the_base(ask: Ask, repository: EvidenceRepository) -> None:
    """`git archive` or a checkout would apply them, and every run of the base would look broken."""
    (repository.root / ".gitattributes").write_text("* text eol=crlf export-subst\n*.yaml export-ignore\n")
    repository.git("add", ".gitattributes")
    repository.git("commit", "--quiet", "--message", "attributes")
    repository.git("branch", "--force", "main")
    answer = ask("--base", "main")
    assert answer.return_value == 0
    assert "nothing broken, verdict unchanged" in first_line(answer)


def _backtick_runs(text: str) -> list[str]:
    runs, current = [], ""
    for each in text + " ":
        if each == "`":
            current += each
        elif current:
            runs.append(current)
            current = ""
    return runs
