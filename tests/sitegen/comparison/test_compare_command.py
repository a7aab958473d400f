"""`stackproof compare` on sealed run folders, read through the real catalog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ledger import benchmark as benchmark_file
from ledger import catalog
from ledger.errors import InputError
from ledger.run import BenchmarkOrigin, Reason
from ledger.run_folder import RunFolder
from ledger.seal import seal
from ledger.workspace import Workspace
from sitegen.commands.compare import command
from sitegen.comparison import judge_all, judge_file
from sitegen.comparison.verdict import Decision
from tests.factory import BENCHMARK, make_run, write_benchmark


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mkdocs.yml").write_text("site_name: test\n")
    (tmp_path / "evidence").mkdir()
    write_benchmark(tmp_path / "benchmarks")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def seal_launches(workspace: Path, **changes) -> list[Path]:
    """Three blocks, A B B A A B; fast fails in the last."""
    folders = []
    order = 0
    for repeat in (1, 2, 3):
        for stack, step_time in [("slow", 0.1), ("fast", 0.06)][:: 1 if repeat % 2 else -1]:
            order += 1
            failed = Reason.OUT_OF_MEMORY if (stack, repeat) == ("fast", 3) else None
            time = step_time + repeat / 1000
            options = {"repeat": repeat, "order": order, "step_time": time, "failed": failed, "changes": changes}
            folders.append(make_run(workspace / "evidence", stack, **options))
    return folders


def seal_again(folder: Path, benchmark: str) -> None:
    """Seal the same run with another benchmark file instead, as an earlier version may have done."""
    found = RunFolder(folder).run
    evidence = folder.parents[2]
    prepared = evidence / ".incoming" / folder.name
    prepared.parent.mkdir(exist_ok=True)
    folder.rename(prepared)
    (prepared / "MANIFEST.sha256").unlink()
    (prepared / "benchmark.yaml").write_text(benchmark)
    seal(prepared, evidence, found)


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_text_names_verdict_failure_and_next_run(workspace: Path):
    seal_launches(workspace)
    result = compare("tiny")
    assert result.exit_code == 0, result.output
    assert "Verdict: inconclusive (not ready to decide on)" in result.output
    assert "- fast timed 3 failed: out_of_memory (it went wrong)" in result.output
    assert result.output.rstrip().endswith("stackproof collect tiny --retry-failed")


def test_json_holds_the_values_of_the_folders(workspace: Path):
    folders = seal_launches(workspace)
    verdict = json.loads(compare("tiny", "--format", "json", "--comparison", "slow-vs-fast").output)["verdicts"][0]
    assert [each["value"] for each in verdict["launches"]] == pytest.approx([0.101, 0.061, 0.062, 0.102, 0.103, None])
    assert set(verdict["evidence"]) == {folder.name[-16:] for folder in folders}
    assert verdict["effect"]["absent"] == "fewer than 3 launches a side"


def test_require_ready_exits_with_1_when_it_is_not(workspace: Path):
    assert compare("tiny", "--require-ready").exit_code == 1


def test_no_evidence_yet_still_says_what_to_run(workspace: Path):
    result = compare("tiny")
    assert result.exit_code == 0
    assert result.output.rstrip().endswith("stackproof collect tiny")


def test_a_benchmark_without_comparisons_is_one_clear_error(workspace: Path):
    write_benchmark(workspace / "benchmarks", comparisons=[])
    error = compare("tiny").exception
    assert isinstance(error, InputError)
    assert "comparisons: declares no comparison" in error.diagnostics()


def test_an_unknown_comparison_names_the_known_ones(workspace: Path):
    error = compare("tiny", "--comparison", "fast-vs-slow").exception
    assert isinstance(error, InputError)
    assert error.todo == "use one of: slow-vs-fast"


def test_a_missing_evidence_folder_is_an_input_error(workspace: Path):
    assert isinstance(compare("tiny", "--evidence", "nowhere").exception, InputError)


def test_evidence_of_one_short_form_is_judged_by_what_the_short_form_keeps(workspace: Path):
    again = {"adapter": "torch", "settings": {}}
    full = [*BENCHMARK["comparisons"], {"baseline": "slow", "candidate": "again", "threshold": "5%"}]
    short = {"stacks": {"again": None}, "comparisons": BENCHMARK["comparisons"]}
    changes = {"stacks": {**BENCHMARK["stacks"], "again": again}, "comparisons": full, "profiles": {"demo": short}}
    path = write_benchmark(workspace / "benchmarks", **changes)
    origin = BenchmarkOrigin("tiny", profile="demo")
    make_run(workspace / "evidence", changes=changes, benchmark=origin)
    with catalog.open(workspace / "evidence") as opened:
        verdicts = judge_file(opened, benchmark_file.read(path), workspace / "evidence")
    assert [(each.slug, each.declared.profile) for each in verdicts] == [("slow-vs-fast", "demo")]
    make_run(workspace / "evidence", repeat=2, changes=changes)
    with catalog.open(workspace / "evidence") as opened:
        verdicts = judge_file(opened, benchmark_file.read(path), workspace / "evidence")
    assert [each.slug for each in verdicts] == ["slow-vs-fast", "slow-vs-again"]


def test_a_threshold_changed_afterwards_does_not_count(workspace: Path):
    seal_launches(workspace)
    later = [{**BENCHMARK["comparisons"][0], "threshold": "1%"}]
    path = write_benchmark(workspace / "benchmarks", comparisons=later)
    with catalog.open(workspace / "evidence") as opened:
        verdict = judge_file(opened, benchmark_file.read(path), workspace / "evidence")[0]
    assert verdict.declared.threshold == 0.05
    assert "threshold_changed" in {note.code for note in verdict.downgrades}


@pytest.mark.parametrize(
    ("later", "code", "says"),
    [
        (
            {"envelope": {"limits": {"evaluation_loss": "<= 1.2"}, "objective": {"minimise": "step_time"}}},
            "envelope_changed",
            "the limit on evaluation_loss was <= 3 nats and is <= 1.20 nats now",
        ),
        (
            {"envelope": {"limits": {"evaluation_loss": "<= 30"}, "objective": {"minimise": "step_time"}}},
            "envelope_changed",
            "the limit on evaluation_loss was <= 3 nats and is <= 30 nats now",
        ),
        (
            {"envelope": {"limits": {"evaluation_loss": "<= 3.0001"}, "objective": {"minimise": "step_time"}}},
            "envelope_changed",
            "the limit on evaluation_loss was <= 3 and is <= 3.0001 now",
        ),
        (
            {"envelope": {"limits": {}, "objective": {"minimise": "step_time"}}},
            "envelope_changed",
            "the limit on evaluation_loss was <= 3 nats and is not declared now",
        ),
        (
            {
                "envelope": {
                    "limits": {"evaluation_loss": "<= 3.0", "peak_memory": "<= 50 MiB"},
                    "objective": {"minimise": "step_time"},
                }
            },
            "envelope_changed",
            "the limit on peak_memory was not declared and is <= 50.0 MiB now",
        ),
        (
            {"envelope": {**BENCHMARK["envelope"], "objective": {"maximise": "tokens_per_second"}}},
            "objective_changed",
            "the objective was minimise step_time and is maximise tokens_per_second now",
        ),
        (
            {"comparisons": [{"baseline": "fast", "candidate": "slow", "threshold": "5%"}]},
            "comparison_changed",
            "the comparison was fast against slow and is slow against fast now",
        ),
        (
            {"comparisons": [{**BENCHMARK["comparisons"][0], "intended": ["card.workload.model.precision"]}]},
            "fields_changed",
            "what may differ was not declared and is card.workload.model.precision now",
        ),
        (
            {"comparisons": [{**BENCHMARK["comparisons"][0], "held": ["setting.threads"]}]},
            "fields_changed",
            "what is held beside was not declared and is setting.threads now",
        ),
    ],
)
def test_what_was_changed_after_the_launches_changes_no_verdict(workspace: Path, later: dict, code: str, says: str):
    seal_launches(workspace)
    before = judge_all(Workspace(workspace, {}))[0]
    path = write_benchmark(workspace / "benchmarks", **later)
    with catalog.open(workspace / "evidence") as opened:
        verdict = judge_file(opened, benchmark_file.read(path), workspace / "evidence")[0]
    assert (verdict.decision, verdict.winner) == (before.decision, before.winner)
    assert (verdict.declared.limits, verdict.declared.objective) == (before.declared.limits, before.declared.objective)
    assert verdict.effect.metric == "step_time"
    (note,) = [note for note in verdict.downgrades if note.code.endswith("_changed")]
    assert (note.code, says in note.text) == (code, True), note.text
    assert [change.code for change in verdict.declared.changes] == [code]
    assert compare("tiny").output.count(code) == 1


def test_a_comparison_that_was_declared_after_its_launches_says_so(workspace: Path):
    seal_launches(workspace, comparisons=[])
    verdict = judge_all(Workspace(workspace, {}))[0]
    (note,) = [note for note in verdict.downgrades if note.code == "comparison_changed"]
    assert "this comparison was not declared and is threshold 5 % now" in note.text


def test_an_objective_against_its_metrics_direction_is_no_comparison(workspace: Path):
    """Today's reader refuses such a file; evidence of an earlier version may hold one."""
    envelope = "envelope:\n  limits: {}\n  objective: {maximise: step_time}\n"
    for folder in seal_launches(workspace):
        text = (folder / "benchmark.yaml").read_text()
        start, end = text.index("envelope:"), text.index("comparisons:")
        seal_again(folder, text[:start] + envelope + text[end:])
    verdict = judge_all(Workspace(workspace, {}))[0]
    assert (verdict.decision, verdict.winner) == (Decision.NOT_COMPARABLE, None)
    assert verdict.sentence == (
        "slow and fast cannot be compared: the objective asks for more step time, of which less is better."
    )
    assert "objective_wrong_way" in {note.code for note in verdict.readiness.reasons}
    assert "objective_changed" in {note.code for note in verdict.downgrades}


def test_a_sealed_declaration_that_cannot_be_read_is_never_ready(workspace: Path):
    for folder in seal_launches(workspace):
        seal_again(folder, "name: tiny\n")
    verdict = judge_all(Workspace(workspace, {}))[0]
    assert "declaration_unreadable" in {note.code for note in verdict.readiness.reasons}


def test_a_changed_byte_makes_a_verdict_not_ready(workspace: Path):
    folder = seal_launches(workspace)[0]
    (folder / "logs/stdout.log").write_text("step 2\n")
    verdict = judge_all(Workspace(workspace, {}))[0]
    broken = [note for note in verdict.readiness.reasons if note.code == "evidence_broken"]
    assert [note.evidence for note in broken] == [(folder.name[-16:],)]
    assert "logs/stdout.log" in broken[0].text
    assert verdict.readiness.next_run is None
    assert verdict.readiness.next_step == "run `stackproof verify`, and restore what it names from git"
