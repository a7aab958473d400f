"""The tasks adapter: a suite, harnesses, and every way in which an attempt can go wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from ledger import parquet
from ledger.run_folder import RunFolder, scan
from tests.collector.conftest import git

PYTHON = f"{sys.executable} -I -S"
TASKS: dict[str, dict[str, Any]] = {
    "capital": {"prompt": "Capital of France?", "check": {"kind": "contains_any", "expected": ["Paris"]}},
    "sum": {"prompt": "2 + 2?", "check": {"kind": "numeric", "expected": 4}},
    "file": {
        "prompt": "Write done into result.txt",
        "check": {"kind": "command", "command": "sh hidden-check.sh", "time_limit": "5 s"},
    },
}
HARNESS = r"""case "$(cat "$STACKPROOF_TASK/prompt.txt")" in
  Capital*) echo "It is Paris." ;;
  2*) echo "The answer is 5" > "$STACKPROOF_ANSWER" ;;
  Write*) echo done > result.txt; echo '{"input_tokens": 7, "output_tokens": 3}' > "$STACKPROOF_USAGE" ;;
esac"""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "workspace"
    for folder in ("evidence", "benchmarks/suite", "harness"):
        (root / folder).mkdir(parents=True)
    (root / "mkdocs.yml").write_text("site_name: test\n")
    for name, task in TASKS.items():
        write_task(root, name, task)
    write(root, "benchmarks/suite/file/files/start.txt", "start\n")
    write(root, "benchmarks/suite/file/hidden/hidden-check.sh", "test -e start.txt && grep -qx done result.txt\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("STACKPROOF_MEASURING_LOCK", str(tmp_path / "measuring.lock"))
    git(root, "init", "-q", "-b", "main")
    monkeypatch.chdir(root)
    return root


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def write_task(root: Path, name: str, task: dict[str, Any]) -> None:
    write(root, f"benchmarks/suite/{name}/task.yaml", yaml.safe_dump(task))


def collect(
    stackproof: Callable[..., tuple[int, str, str]], settings: dict[str, Any], *, code: int = 0, **workload: Any
) -> str:
    """Collect one stack with these settings; what was said."""
    text = {
        "name": "suite",
        "question": "Which harness solves more?",
        "workload": {"kind": "tasks", "suite": {"path": "suite"}, "time_limit": "5 s", **workload},
        "stacks": {"harness": {"adapter": "tasks", "settings": settings, "roles": ["timed"]}},
        "envelope": {"objective": {"maximise": "acceptance_rate"}},
        "repeats": {"initial": 1, "max": 1, "profiled": 0},
        "timeout": "60 s",
    }
    Path("benchmarks/suite.yaml").write_text(yaml.safe_dump(text, sort_keys=False))
    found, out, err = stackproof("collect", "suite", "--no-commit")
    assert found == code, out + err
    return out + err


def newest() -> RunFolder:
    (run,) = scan(Path("evidence"))
    return run


def attempts(run: RunFolder) -> dict[str, dict[str, Any]]:
    rows = parquet.read(run.path / "samples/requests.parquet").to_pylist()
    return {row["item"]: row for row in rows}


def test_every_attempt_is_judged_by_its_own_check(workspace, stackproof):
    collect(stackproof, {"harness": HARNESS})
    run = newest()
    rows = attempts(run)
    assert run.run.outcome.state == "completed"
    assert {item: row["accepted"] for item, row in rows.items()} == {"capital": True, "sum": False, "file": True}
    assert rows["sum"]["why"] == "expected 4, got 5"
    assert rows["capital"]["text"] == "It is Paris.\n"
    assert (rows["file"]["input_tokens"], rows["file"]["output_tokens"]) == (7, 3)
    assert "+done" in rows["file"]["text"]
    assert "hidden" not in rows["file"]["text"]
    assert all(row["ended_ns"] > row["sent_ns"] for row in rows.values())
    card = yaml.safe_load((run.path / "card.yaml").read_text())
    assert card["workload"]["data"]["tasks"] == 3


def test_expected_answers_do_not_reach_the_launch(workspace, stackproof):
    collect(stackproof, {"harness": "true"})
    launched = (newest().path / "launch/trial.json").read_text()
    assert "Paris" not in launched
    assert json.loads(launched)["tasks"][0]["check"] == {"kind": "contains_any"}


def test_several_attempts_start_from_the_same_place(workspace, stackproof):
    collect(
        stackproof,
        {"harness": "ls > list.txt; ls; echo x > left.txt"},
        attempts=3,
        suite={"path": "suite", "only": ["file"]},
    )
    rows = parquet.read(newest().path / "samples/requests.parquet").to_pylist()
    assert [row["attempt"] for row in rows] == [1, 2, 3]
    assert len({row["text"].split("\n", 1)[1].split("@@")[-1] for row in rows}) == 1


@pytest.mark.parametrize(
    ("harness", "said"),
    [
        ("sleep 60", "the harness was still at work after 0.5 s"),
        ("echo no luck >&2; exit 3", "the harness failed: no luck"),
        ("exit 3", "the harness failed: exit code 3"),
        ("kill -9 $$", "the harness failed: exit code -9"),
    ],
)
def test_an_attempt_that_fails_is_not_accepted_and_says_why(workspace, stackproof, harness, said):
    write_task(workspace, "capital", {**TASKS["capital"], "time_limit": "500 ms"})
    collect(stackproof, {"harness": harness}, suite={"path": "suite", "only": ["capital"]})
    row = attempts(newest())["capital"]
    assert (row["accepted"], row["error"], row["why"]) == (False, said, said)


def test_what_a_harness_leaves_running_is_ended(workspace, stackproof, tmp_path):
    stray = tmp_path / "stray"
    leave = f"(setsid sh -c 'sleep 60; touch {stray}' &) ; echo Paris"
    collect(stackproof, {"harness": leave}, suite={"path": "suite", "only": ["capital"]})
    assert attempts(newest())["capital"]["accepted"]
    left = [each.info["cmdline"] for each in psutil.process_iter(["cmdline"])]
    assert [words for words in left if words and str(stray) in words[-1]] == []


def test_tests_that_a_harness_changed_are_laid_over(workspace, stackproof):
    cheat = "echo 'exit 0' > hidden-check.sh; ln -s /etc elsewhere"
    collect(stackproof, {"harness": cheat}, suite={"path": "suite", "only": ["file"]})
    assert not attempts(newest())["file"]["accepted"]


def test_a_check_that_never_ends_and_a_setup_that_fails(workspace, stackproof):
    write(workspace, "benchmarks/suite/file/hidden/hidden-check.sh", "sleep 60\n")
    check = {"kind": "command", "command": "sh hidden-check.sh", "time_limit": "300 ms"}
    write_task(workspace, "file", {**TASKS["file"], "check": check})
    write_task(workspace, "sum", {**TASKS["sum"], "setup": "echo no compiler >&2; exit 1"})
    collect(stackproof, {"harness": "true"}, suite={"path": "suite", "only": ["file", "sum"]})
    rows = attempts(newest())
    assert rows["file"]["why"] == "the check was still running after 0.3 s"
    assert (rows["sum"]["error"], rows["sum"]["accepted"]) == ("setup failed: no compiler", None)


SERVER = """
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Paris")
http.server.HTTPServer(("127.0.0.1", int(os.environ["STACKPROOF_PORT"])), Answer).serve_forever()
"""


def test_a_service_is_started_once_and_is_gone_afterwards(workspace, stackproof):
    write(workspace, "harness/server.py", SERVER)
    ask = "import os, urllib.request; print(urllib.request.urlopen(os.environ['STACKPROOF_SERVICE']).read().decode())"
    settings = {
        "harness": f'{PYTHON} -c "{ask}"',
        "files": ["harness/server.py"],
        "service": {"command": f"{PYTHON} harness/server.py", "startup_limit": "20 s"},
    }
    collect(stackproof, settings, suite={"path": "suite", "only": ["capital"]}, attempts=2)
    run = newest()
    assert [row["accepted"] for row in parquet.read(run.path / "samples/requests.parquet").to_pylist()] == [True, True]
    assert run.json("samples/summary.json")["startup_s"] > 0
    assert "GET" in (run.path / "logs/service.log").read_text()


def test_a_harness_sees_the_secrets_that_are_named_and_no_others(workspace, stackproof, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "sk-secret-0123456789abcdef")
    monkeypatch.setenv("OTHER_KEY", "sk-other-0123456789abcdef")
    harness = 'test "$SERVICE_KEY" = sk-secret-0123456789abcdef && test -z "${OTHER_KEY:-}" && echo Paris'
    harness = harness.replace("sk-secret-0123456789abcdef", '"sk-secret""-0123456789abcdef"')
    collect(stackproof, {"harness": harness, "secrets": ["SERVICE_KEY"]}, suite={"path": "suite", "only": ["capital"]})
    run = newest()
    assert attempts(run)["capital"]["accepted"]
    assert not any(b"sk-secret-0" in path.read_bytes() for path in run.path.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ("sleep 60", "the service was not healthy after 0.5 s"),
        ("sh -c 'echo no model; exit 4'", "the service ended with exit code 4 before it was healthy"),
    ],
)
def test_a_service_that_never_gets_healthy_is_a_failed_trial(workspace, stackproof, service, said):
    collect(stackproof, {"harness": "true", "service": {"command": service, "startup_limit": "500 ms"}})
    outcome = newest().run.outcome
    assert (outcome.state, outcome.reason) == ("failed", "unhealthy")
    assert any(said in line for line in outcome.last_log_lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: write(root, "benchmarks/suite/sum/task.yaml", "prompt: x\n"), "check"),
        (lambda root: write_task(root, "sum", {**TASKS["sum"], "chek": 1}), "chek: unknown key"),
        (lambda root: write_task(root, "sum", {**TASKS["sum"], "prompt_file": "p.txt"}), "exactly one of prompt"),
        (lambda root: write_task(root, "sum", {**TASKS["sum"], "base": "none"}), "the suite has no folder 'none'"),
        (lambda root: write_task(root, "sum", {**TASKS["sum"], "base": "../.."}), "leads out of the suite"),
        (lambda root: write_task(root, "sum", {"prompt_file": "no.txt", "check": TASKS["sum"]["check"]}), "no.txt"),
        (lambda root: write_task(root, "sum", {**TASKS["sum"], "check": {"kind": "vibes"}}), "check.kind"),
        (lambda root: write_task(root, "sum", {**TASKS["sum"], "check": {"kind": "regex", "pattern": "("}}), "regular"),
        (lambda root: write_task(root, "A Task", TASKS["sum"]), "the task's name 'A Task' cannot be used"),
        (lambda root: write(root, "benchmarks/suite/sum/task.yaml", "prompt: [\n"), "task.yaml"),
    ],
)
def test_a_wrong_suite_is_told_before_anything_is_launched(workspace, stackproof, change, said):
    change(workspace)
    told = collect(stackproof, {"harness": "true"}, code=2)
    assert said in told
    assert len(told.strip().splitlines()) == 1
    assert list(scan(Path("evidence"))) == []


@pytest.mark.parametrize(
    ("settings", "workload", "said"),
    [
        ({"harness": "true"}, {"suite": {"path": "none"}}, "workload.suite.path: no such folder none"),
        ({"harness": "true"}, {"suite": {"path": "harness"}}, "holds no task"),
        ({"harness": "true"}, {"suite": {"path": "suite", "only": ["sums"]}}, "did you mean 'sum'"),
        ({"harness": "true", "files": ["harness/none.py"]}, {}, "harness/none.py is not there"),
        ({"harness": "true", "files": ["../out.py"]}, {}, "must be a path inside the workspace"),
        ({}, {}, "harness"),
        ({"harness": "true"}, {"model": {"path": "models/none"}}, "no such model models/none"),
    ],
)
def test_a_wrong_benchmark_is_told_before_anything_is_launched(workspace, stackproof, settings, workload, said):
    assert said in collect(stackproof, settings, code=2, **workload)
    assert list(scan(Path("evidence"))) == []


def test_a_changed_task_is_other_work(workspace, stackproof):
    collect(stackproof, {"harness": HARNESS})
    write(workspace, "benchmarks/suite/file/hidden/hidden-check.sh", "exit 0\n")
    collect(stackproof, {"harness": HARNESS})
    runs = list(scan(Path("evidence")))
    assert len({run.run.trial_key for run in runs}) == len(runs) == 2
