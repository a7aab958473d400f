"""A collector that dies: what it launched becomes evidence, nothing partial is seen, and the next one goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ledger import verify
from ledger.run import Reason
from ledger.run_folder import scan
from tests.collector.conftest import git, write

Cli = Callable[..., tuple[int, str, str]]

COLLECT = """
import sys
from collector.stacks.registry import ADAPTERS
from tests.collector.conftest import ScriptAdapter
import stackproof
ADAPTERS["script"] = ScriptAdapter()
sys.argv = ["stackproof", *sys.argv[1:]]
stackproof.main()
"""


def start_collector(workspace: Path) -> subprocess.Popen[str]:
    here = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", COLLECT, "collect", "tiny"],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(here)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def hang(workspace: Path, marker: str) -> None:
    stack = {"roles": ["timed"], "repeats": 1}
    write(workspace, {"timeout": "10 min"}, slow={"script": f"touch {marker}; sleep 300", "stack": stack})


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "launched"


def test_a_killed_collectors_trial_falls_with_it_and_is_sealed_by_the_next(
    workspace: Path, stackproof: Cli, marker: Path
) -> None:
    hang(workspace, str(marker))
    collector = start_collector(workspace)
    wait_for(marker.exists)
    family = psutil.Process(collector.pid).children(recursive=True)
    collector.kill()
    collector.communicate()
    psutil.wait_procs(family, timeout=15)
    assert [process for process in family if process.is_running()] == []
    assert list(scan(workspace / "evidence")) == []

    code, out, err = stackproof("collect", "tiny")
    assert (code, "its collector died while it was launched" in err) == (0, True), err
    assert out.startswith("0 launched") is True
    (run,) = scan(workspace / "evidence")
    assert run.run.outcome.reason is Reason.PARTIAL_OUTPUT
    assert verify.verify_run(run) == []
    assert git(workspace, "status", "--porcelain", "evidence") == ""
    assert [path.name for path in (workspace / "evidence/.incoming").iterdir()] == []


def test_an_interrupted_trial_is_sealed_as_cancelled_and_launched_again(
    workspace: Path, stackproof: Cli, marker: Path
) -> None:
    hang(workspace, str(marker))
    collector = start_collector(workspace)
    wait_for(marker.exists)
    collector.send_signal(signal.SIGINT)
    out, err = collector.communicate(timeout=30)
    assert (collector.returncode, "interrupted: run the same command again" in out) == (130, True), err
    (run,) = scan(workspace / "evidence")
    assert run.run.outcome.reason is Reason.CANCELLED
    assert git(workspace, "status", "--porcelain", "evidence") == ""
    assert "1 to launch" in stackproof("collect", "tiny", "--dry-run")[1]


def test_leftovers_from_before_a_launch_are_removed(workspace: Path, stackproof: Cli) -> None:
    left = workspace / "evidence/.incoming/0123456789abcdef-1-99"
    (left / "run").mkdir(parents=True)
    (left / "run/card.yaml").write_text("half")
    code, _, err = stackproof("collect", "tiny", "--stack", "slow", "--repeats", "1")
    assert (code, "its collector died before the launch" in err, left.exists()) == (0, True, False)


def test_a_living_collectors_workbench_is_left_alone(workspace: Path, stackproof: Cli, marker: Path) -> None:
    hang(workspace, str(marker))
    collector = start_collector(workspace)
    wait_for(marker.exists)
    write(workspace, {"name": "other"}, slow={"stack": {"roles": ["warmup"]}})
    (bench,) = [path for path in (workspace / "evidence/.incoming").iterdir() if path.is_dir()]
    code, out, _ = stackproof("collect", "other", "--dry-run")
    assert (code, bench.exists()) == (0, True), out
    collector.send_signal(signal.SIGINT)
    collector.communicate(timeout=30)


def test_two_collectors_share_the_work(workspace: Path) -> None:
    collectors = [start_collector(workspace) for _ in range(3)]
    outs = [collector.communicate(timeout=120) for collector in collectors]
    assert [collector.returncode for collector in collectors] == [0, 0, 0], outs
    keys = [each.run.trial_key for each in scan(workspace / "evidence")]
    assert (len(keys), len(set(keys))) == (10, 10), outs
    assert git(workspace, "status", "--porcelain", "evidence") == ""
