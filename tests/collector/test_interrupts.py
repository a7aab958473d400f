"""Ctrl-C and SIGTERM at any moment: nothing more is launched, what completed is sealed so, the exit is 130."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ledger.run import Reason, State
from ledger.run_folder import scan
from ledger.verify import verify_evidence
from tests.collector.conftest import GOOD, git, write
from tests.collector.test_recovery import start_collector, wait_for

Cli = Callable[..., tuple[int, str, str]]

SLEEP_S = 0.15
MOMENTS = [0.0, 0.05, 0.1, 0.14, 0.16, 0.18, 0.2, 0.23, 0.26, 0.3, 0.35, 0.4]
"""Seconds after a launch began: while it runs, as it ends, while it is sealed, and at the beginning of the next."""


def prepare(workspace: Path, marker: Path, script: str = f"sleep {SLEEP_S}") -> None:
    """Four launches of one stack; each leaves a line in `marker`."""
    script = f"date +%s.%N >> {marker}; {script}\n{GOOD}"
    write(workspace, {"repeats": {"initial": 3, "max": 3, "profiled": 0}}, slow={"script": script})


def launched(marker: Path) -> list[float]:
    return [float(line) for line in marker.read_text().split()] if marker.exists() else []


def end(collector: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, float]:
    """Send a signal; returns the exit code, stderr, and when it was sent."""
    sent = time.time()
    collector.send_signal(number)
    _, err = collector.communicate(timeout=60)
    return collector.returncode, err, sent


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_of_a_launch(
    workspace: Path, stackproof: Cli, tmp_path: Path, moment: float, number: signal.Signals
) -> None:
    marker = tmp_path / "launched"
    prepare(workspace, marker)
    collector = start_collector(workspace)
    wait_for(lambda: bool(launched(marker)))
    time.sleep(moment)
    code, err, sent = end(collector, number)
    assert code == 130, err
    assert "Traceback" not in err
    starts = launched(marker)
    assert [each for each in starts if each > sent + 0.1] == [], "launched after the interrupt"
    runs = sorted((folder.run for folder in scan(workspace / "evidence")), key=lambda run: run.launch_order)
    assert len(runs) - len(starts) in {0, 1}, "one may have been cancelled before its script began"
    assert all(run.outcome.state is State.COMPLETED for run in runs[:-1])
    assert {run.outcome.reason for run in runs} <= {None, Reason.CANCELLED}
    assert git(workspace, "status", "--porcelain", "evidence") == ""

    code, _, err = stackproof("collect", "tiny")
    assert code == 0, err
    assert verify_evidence(workspace / "evidence").findings == ()
    outcomes = Counter(folder.run.outcome.state for folder in scan(workspace / "evidence"))
    assert outcomes[State.COMPLETED] == 4


def test_a_second_signal_ends_it_at_once_and_the_trial_counts_as_cancelled(
    workspace: Path, stackproof: Cli, tmp_path: Path
) -> None:
    marker, told = tmp_path / "launched", tmp_path / "told"
    prepare(workspace, marker, f"[ -e {told} ] || {{ trap 'touch {told}' TERM; while :; do sleep 0.1; done; }}")
    collector = start_collector(workspace)
    wait_for(lambda: bool(launched(marker)))
    collector.send_signal(signal.SIGINT)
    wait_for(told.exists)
    family = psutil.Process(collector.pid).children(recursive=True)
    began = time.monotonic()
    assert end(collector, signal.SIGINT)[0] == 130
    assert time.monotonic() - began < 4
    assert psutil.wait_procs(family, timeout=15)[1] == []

    code, _, err = stackproof("collect", "tiny")
    assert (code, "its collector died while it was launched" in err) == (0, True), err
    outcomes = Counter(folder.run.outcome.reason for folder in scan(workspace / "evidence"))
    assert outcomes == {Reason.CANCELLED: 1, None: 4}


def test_waiting_for_another_collector_can_be_broken_off(workspace: Path, tmp_path: Path) -> None:
    from filelock import FileLock

    prepare(workspace, tmp_path / "launched")
    with FileLock(tmp_path / "measuring.lock"):
        collector = start_collector(workspace)
        assert collector.stderr is not None
        assert "waiting for another launch" in collector.stderr.readline()
        assert end(collector, signal.SIGTERM)[0] == 130
    assert launched(tmp_path / "launched") == []


def test_signals_that_the_process_was_started_to_ignore_stay_ignored(workspace: Path, tmp_path: Path) -> None:
    marker = tmp_path / "launched"
    prepare(workspace, marker)
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        collector = start_collector(workspace)
    finally:
        signal.signal(signal.SIGHUP, old)
    wait_for(lambda: bool(launched(marker)))
    assert end(collector, signal.SIGHUP)[0] == 0
    assert len(launched(marker)) == 4
