"""`collect` from plan to commit, on stacks that are small scripts."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ledger import verify
from ledger.run import Reason, Role, State
from ledger.run_folder import RunFolder, scan
from tests.collector.conftest import git, write

Cli = Callable[..., tuple[int, str, str]]


def runs(workspace: Path) -> list[RunFolder]:
    return list(scan(workspace / "evidence"))


def only_failure(workspace: Path) -> RunFolder:
    failed = [each for each in runs(workspace) if each.run.outcome.state is State.FAILED]
    assert len(failed) == 1
    return failed[0]


def one_launch(workspace: Path, script: str, **changes: object) -> None:
    write(workspace, dict(changes), broken={"script": script, "stack": {"roles": ["timed"], "repeats": 1}})


def test_every_planned_trial_is_sealed_and_committed(workspace: Path, stackproof: Cli) -> None:
    code, out, err = stackproof("collect", "tiny")
    assert (code, "10 launched: 10 completed, 0 failed" in out) == (0, True), (out, err)
    counts = Counter((each.run.stack, each.run.role) for each in runs(workspace))
    each = {Role.WARMUP: 1, Role.TIMED: 3, Role.PROFILED: 1}
    assert counts == {(stack, role): n for stack in ("slow", "fast") for role, n in each.items()}
    assert git(workspace, "status", "--porcelain") == ""
    assert git(workspace, "rev-list", "--count", "HEAD") == "2"
    committed = git(workspace, "ls-tree", "-r", "--name-only", "HEAD", "evidence").splitlines()
    on_disk = [p for p in (workspace / "evidence").rglob("*") if p.is_file() and "/." not in str(p)]
    assert sorted(committed) == sorted(str(p.relative_to(workspace)) for p in on_disk)


def test_a_dry_run_tells_the_power_of_the_planned_launches_once_there_is_a_pilot(
    workspace: Path, stackproof: Cli
) -> None:
    assert (
        "power, slow against fast: not known before 3 launches of each" in stackproof("collect", "tiny", "--dry-run")[1]
    )
    stackproof("collect", "tiny")
    _, out, _ = stackproof("collect", "tiny", "--dry-run")
    assert "power, slow against fast: 3 launches a side find a difference of 10 % (twice the threshold)" in out
    assert "3 would find it in 80 %" in out
    assert "over 3 blocks" in out


def test_every_sealed_run_verifies(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny")
    assert [finding for each in runs(workspace) for finding in verify.verify_run(each)] == []


def test_launch_orders_alternate_and_are_recorded(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny")
    timed = sorted((r.run.launch_order, r.run.stack, r.run.repeat) for r in runs(workspace) if r.run.role is Role.TIMED)
    assert [(stack, repeat) for _, stack, repeat in timed] == [
        ("slow", 1), ("fast", 1), ("fast", 2), ("slow", 2), ("slow", 3), ("fast", 3),
    ]  # fmt: skip
    by_start = sorted(runs(workspace), key=lambda each: each.run.started_at)
    assert [each.run.launch_order for each in by_start] == list(range(1, 11))


def test_the_second_time_nothing_is_left_to_do(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny")
    before = git(workspace, "rev-parse", "HEAD")
    code, out, _ = stackproof("collect", "tiny")
    assert (code, out) == (0, "0 launched: 0 completed, 0 failed; 0 excluded, 10 sealed already\n")
    assert git(workspace, "rev-parse", "HEAD") == before


def test_only_what_is_missing_is_launched_again(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny")
    lost = next(each for each in runs(workspace) if each.run.role is Role.TIMED)
    for path in sorted(lost.path.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    lost.path.rmdir()
    code, out, _ = stackproof("collect", "tiny", "--no-commit")
    assert (code, out.split(":")[0]) == (0, "1 launched")
    again = [each for each in runs(workspace) if each.run.trial_key == lost.run.trial_key]
    assert len(again) == 1


def test_price_envelope_and_repeats_are_outside_a_trials_identity(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny")
    price = {"amount": 9, "currency": "EUR", "per": "node_hour", "source": "me", "as_of": "2026-11-02"}
    changes = {
        "repeats": {"initial": 4, "max": 9, "profiled": 1},
        "envelope": {"limits": {"evaluation_loss": "<= 1"}, "objective": {"maximise": "tokens_per_second"}},
    }
    write(workspace, changes, slow={"stack": {"price": price}}, fast={})
    code, out, _ = stackproof("collect", "tiny", "--dry-run")
    assert (code, "2 to launch, 0 excluded, 10 sealed already" in out) == (0, True), out


def test_other_settings_are_another_trial(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny", "--stack", "slow")
    write(workspace, slow={"script": "true\n" + "true\n"}, fast={})
    _, out, _ = stackproof("collect", "tiny", "--stack", "slow", "--dry-run")
    assert "5 to launch, 0 excluded, 0 sealed already" in out


def test_launches_of_each_kind_can_be_asked_for(workspace: Path, stackproof: Cli) -> None:
    _, out, _ = stackproof("collect", "tiny", "--dry-run", "--stack", "fast", "--repeats", "2", "--profiled", "4")
    roles = Counter(line.split()[2] for line in out.splitlines() if " fast " in line)
    assert roles == {"warmup": 1, "timed": 2, "profiled": 4}


def test_dry_run_launches_nothing_and_writes_nothing(workspace: Path, stackproof: Cli) -> None:
    code, out, _ = stackproof("collect", "tiny", "--dry-run")
    assert (code, "10 to launch" in out, "at most 3 min" in out) == (0, True, True), out
    assert list((workspace / "evidence").iterdir()) == []


@pytest.mark.parametrize(
    ("script", "reason", "detail"),
    [
        ("echo boom >&2; exit 3", Reason.CRASHED, "exit code 3: boom"),
        ("echo not enough memory >&2; exit 1", Reason.OUT_OF_MEMORY, "exit code 1: not enough memory"),
        ("kill -SEGV $$", Reason.CRASHED, "ended by SIGSEGV"),
        ("exec /no/such/program", Reason.LAUNCH_FAILED, "exit code 127"),
        ("true", Reason.NO_OUTPUT, "no summary.json"),
        ("echo '{\"step\": 0}' > $STACKPROOF_OUT/steps.jsonl", Reason.PARTIAL_OUTPUT, "no summary.json"),
        ("echo '{\"evaluation_loss\": 9}' > $STACKPROOF_OUT/summary.json", Reason.NOT_ACCEPTED, "acceptance rule"),
    ],
)  # fmt: skip
def test_failures_are_evidence(workspace: Path, stackproof: Cli, script: str, reason: Reason, detail: str) -> None:
    one_launch(workspace, script)
    code, out, _ = stackproof("collect", "tiny")
    assert (code, "1 launched: 0 completed, 1 failed" in out) == (0, True)
    outcome = only_failure(workspace).run.outcome
    assert (outcome.reason, detail in str(outcome.detail)) == (reason, True), outcome
    assert git(workspace, "status", "--porcelain", "evidence") == ""


def test_a_failed_trial_is_launched_again_only_when_asked(workspace: Path, stackproof: Cli) -> None:
    one_launch(workspace, "exit 1")
    stackproof("collect", "tiny")
    assert "0 launched" in stackproof("collect", "tiny")[1]
    assert "1 launched" in stackproof("collect", "tiny", "--retry-failed")[1]
    assert sorted(each.run.attempt for each in runs(workspace)) == [1, 2]


def test_a_trial_over_its_time_limit_is_ended(workspace: Path, stackproof: Cli) -> None:
    one_launch(workspace, "sleep 60", timeout="1 s")
    began = time.monotonic()
    stackproof("collect", "tiny")
    assert time.monotonic() - began < 15
    outcome = only_failure(workspace).run.outcome
    assert (outcome.reason, outcome.detail) == (Reason.TIMED_OUT, "still running after its limit of 1 s")


def test_a_trial_that_ignores_the_end_is_killed(workspace: Path, stackproof: Cli) -> None:
    one_launch(workspace, "trap '' TERM; while :; do sleep 0.1; done", timeout="1 s")
    stackproof("collect", "tiny")
    assert only_failure(workspace).run.outcome.reason is Reason.TIMED_OUT
    assert not [p for p in psutil.Process().children(recursive=True) if p.name() == "sh"]


def test_strays_in_a_session_of_their_own_do_not_outlive_the_trial(workspace: Path, stackproof: Cli) -> None:
    marker = f"86{os.getpid()}"
    one_launch(workspace, f"setsid sleep {marker} & sleep 0.2")
    stackproof("collect", "tiny")
    assert [p.pid for p in psutil.process_iter(["cmdline"]) if marker in (p.info["cmdline"] or [])] == []


def test_a_missing_prerequisite_excludes_the_stack_and_says_so(workspace: Path, stackproof: Cli) -> None:
    write(workspace, slow={}, gadget={"missing": True})
    code, out, _ = stackproof("collect", "tiny")
    assert code == 0
    assert "excluded: gadget (5 trials): no gizmo on this machine; install it with: apt-get install gizmo" in out
    plans = list((workspace / "evidence").rglob("plan-*.json"))
    content = json.loads(plans[0].read_bytes())
    assert (len(plans), len(content["planned"]), len(content["excluded"])) == (1, 5, 5)
    assert {each["install"] for each in content["excluded"]} == {"apt-get install gizmo"}
    assert "0 launched" in stackproof("collect", "tiny")[1]


def test_with_nothing_to_launch_at_all_the_command_stops(workspace: Path, stackproof: Cli) -> None:
    write(workspace, gadget={"missing": True})
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n")) == (2, 1)
    assert "no gizmo on this machine; run `apt-get install gizmo`" in err
    assert list((workspace / "evidence").rglob("plan-*.json")) == []


def test_secrets_do_not_reach_the_evidence(workspace: Path, stackproof: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "s3cr3t-value-123")
    one_launch(workspace, "echo the token is s3cr3t-value-123 >&2; exit 1")
    stackproof("collect", "tiny")
    failed = only_failure(workspace)
    text = b"".join(path.read_bytes() for path in failed.path.rglob("*") if path.is_file())
    assert b"s3cr3t-value-123" not in text
    assert b"the token is [redacted:MY_API_TOKEN]" in text
    assert "logs/stderr.log" in failed.run.redactions


def test_the_trial_sees_only_the_variables_that_are_passed_on(
    workspace: Path, stackproof: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMETHING_ELSE", "visible")
    one_launch(workspace, 'echo "else=${SOMETHING_ELSE:-none} out=$STACKPROOF_OUT" >&2; exit 1')
    stackproof("collect", "tiny")
    assert "else=none out=$STACKPROOF_OUT" in str(only_failure(workspace).run.outcome.detail)


def test_logs_name_places_by_what_they_stand_for(workspace: Path, stackproof: Cli) -> None:
    one_launch(workspace, 'echo "$STACKPROOF_WORKSPACE/x $0 $STACKPROOF_PYTHON" >&2; exit 1')
    stackproof("collect", "tiny")
    failed = only_failure(workspace)
    said = "$STACKPROOF_WORKSPACE/x $RUN/launch/run.sh $PYTHON_PREFIX/bin/"
    assert said in (failed.path / "logs/stderr.log").read_text()
    assert all(str(workspace).encode() not in p.read_bytes() for p in failed.path.rglob("*") if p.is_file())


def test_what_was_not_measured_is_absent_with_a_reason(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny", "--stack", "slow", "--repeats", "1")
    run = runs(workspace)[0]
    assert "power" in run.run.absent or run.json("environment.json")["hardware"]["devices"]
    rows = {row["metric"]: row for row in run.json("metrics.json")}
    assert (rows["peak_memory"]["value"], bool(rows["peak_memory"]["missing_reason"])) == (None, True)
