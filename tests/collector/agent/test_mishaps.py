"""Remotes that go away or refuse, agents that are killed or asked to stop, and what people are told meanwhile."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.agent.remote import Backoff
from tests.collector.agent.conftest import Host, Office, benchmark
from tests.collector.agent.test_trust import refuse
from tests.collector.conftest import run_cli

Hosts = Callable[[str], Host]


def wait_for(what: Callable[[], object], seconds: float = 30) -> None:
    """Until `what` holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def finished(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and stderr of an agent that ends."""
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    return process.returncode, said


def test_a_refused_push_keeps_the_work_and_brings_it_later(office: Office, host: Hosts) -> None:
    refuse(office, yes=True)
    node = host("node-1")
    code, said = node.once()
    assert code == 1
    assert "no room" in said
    assert office.evidence() == []
    told = node.told()
    assert told["pending"]["files"] > 10
    assert told["last_error"]["what"].startswith(str(node.state.resolve()))
    refuse(office, yes=False)
    assert node.once()[0] == 0
    assert office.runs(node.branches[0]) == ["quick/one", "quick/two"]
    assert node.told()["counts"]["launched"] == 2
    assert node.told()["pending"]["files"] == 0


def test_a_remote_that_goes_away_and_comes_back(office: Office, host: Hosts) -> None:
    node = host("node-1")
    node.once()
    away = office.remote.with_name("away")
    office.remote.rename(away)
    code, said = node.once()
    assert code == 1
    assert "git fetch failed" in said
    away.rename(office.remote)
    office.push(benchmarks__more_yaml=benchmark("more", one="echo took 3"))
    assert node.once()[0] == 0
    assert "more/one" in office.runs(node.branches[0])


def test_an_agent_waits_longer_each_time_and_goes_on_when_the_remote_is_back(office: Office, host: Hosts) -> None:
    node = host("node-1")
    away = office.remote.with_name("away")
    office.remote.rename(away)
    process = node.start("--interval", "1 s")
    wait_for(lambda: (node.state / "state.json").exists() and node.told()["failures"] >= 2)
    assert node.told()["next_look"] is not None
    away.rename(office.remote)
    wait_for(lambda: node.branches)
    process.send_signal(signal.SIGTERM)
    assert finished(process)[0] == 0
    assert office.runs(node.branches[0]) == ["quick/one", "quick/two"]


def test_waits_double_up_to_a_cap_and_are_spread() -> None:
    backoff = Backoff(10, 300)
    waits = [backoff.failed() for _ in range(8)]
    for wait, longest in zip(waits, (10, 20, 40, 80, 160, 300, 300, 300), strict=True):
        assert longest / 2 <= wait <= longest
    backoff.worked()
    assert backoff.failed() <= 10


def test_a_kill_while_it_pushes_loses_nothing(office: Office, host: Hosts) -> None:
    """Committed, not pushed: the remote holds the push up, and the agent is killed meanwhile."""
    hook = office.remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {office.folder}/pushing\nsleep 1\nexit 1\n")
    hook.chmod(0o755)
    node = host("node-1")
    process = node.start("--once")
    wait_for((office.folder / "pushing").exists)
    process.kill()
    process.communicate(timeout=30)
    hook.unlink()
    time.sleep(1.2)  # the killed agent's git sees the refusal out
    assert office.evidence() == []
    code, said = node.once()
    assert code == 0, said
    assert office.runs(node.branches[0]) == ["quick/one", "quick/two"]
    assert node.told()["counts"]["completed"] == 2


def test_a_kill_while_a_trial_runs_seals_both_trials_at_the_next_start(office: Office, host: Hosts) -> None:
    """One trial is sealed and not committed, the other is in the middle, when the agent gets SIGKILL from it."""
    mark = office.folder / "killed"
    killing = f"echo took 2; test -e {mark} || {{ touch {mark}; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 20; }}"
    office.push(benchmarks__quick_yaml=benchmark("quick", one="echo took 1", two=killing))
    node = host("node-1")
    process = node.start("--once")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert office.evidence() == []
    code, said = node.once()
    assert code == 0, said
    assert office.runs(node.branches[0]) == ["quick/one", "quick/two"]
    assert "its collector died while it was launched" in said


def test_term_lets_the_running_trial_end_and_brings_it(office: Office, host: Hosts) -> None:
    mark = office.folder / "running"
    slow = f"touch {mark}; sleep 2; echo took 2"
    office.push(benchmarks__quick_yaml=benchmark("quick", one=slow, two="echo took 1"))
    node = host("node-1")
    process = node.start()
    wait_for(mark.exists)
    code, out, _ = run_cli("agent", "status", "--state", str(node.state), "--format", "json")
    assert code == 0
    assert json.loads(out)["running"] is True
    assert json.loads(out)["state"]["state"] == "running"
    process.send_signal(signal.SIGTERM)
    code, said = finished(process)
    assert code == 0, said
    assert office.runs(node.branches[0]) == ["quick/one"]
    assert node.told()["counts"]["completed"] == 1
    assert node.told()["state"] == "stopped"
    assert node.once()[0] == 0  # and the other trial is run at the next start
    assert office.runs(node.branches[0]) == ["quick/one", "quick/two"]


def test_a_second_term_ends_the_trial_as_cancelled(office: Office, host: Hosts) -> None:
    mark = office.folder / "running"
    office.push(benchmarks__quick_yaml=benchmark("quick", one=f"touch {mark}; sleep 25; echo took 2"))
    node = host("node-1")
    process = node.start()
    wait_for(mark.exists)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    begins = time.monotonic()
    process.send_signal(signal.SIGTERM)
    finished(process)
    assert time.monotonic() - begins < 20
    assert node.told()["counts"]["completed"] == 0


def test_term_while_it_waits_ends_it_at_once(office: Office, host: Hosts) -> None:
    node = host("node-1")
    process = node.start("--interval", "1 h")
    wait_for(lambda: (node.state / "state.json").exists() and node.told()["state"] == "idle")
    begins = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert finished(process)[0] == 0
    assert time.monotonic() - begins < 5
    code, out, _ = run_cli("agent", "status", "--state", str(node.state))
    assert code == 1
    assert "not running" in out


def test_a_second_agent_on_the_host_is_refused(office: Office, host: Hosts) -> None:
    node = host("node-1")
    process = node.start("--interval", "1 h")
    wait_for(lambda: (node.state / "state.json").exists() and node.told()["state"] == "idle")
    code, said = node.once()
    assert code == 2
    assert f"another agent runs on this host (process {process.pid})" in said
    elsewhere = Host(office, "node-1", node.monkeypatch, node.locks)
    elsewhere.office = Office(office.folder / "second")
    elsewhere.office.folder.mkdir()
    shutil.copytree(office.remote, elsewhere.office.remote)
    node.monkeypatch.setattr(Host, "variables", node.variables)
    assert elsewhere.once()[0] == 2  # another state folder does not help
    process.send_signal(signal.SIGTERM)
    finished(process)


def test_the_status_before_during_and_after(office: Office, host: Hosts) -> None:
    node = host("node-1")
    code, out, _ = run_cli("agent", "status", "--state", str(node.state))
    assert (code, "no agent has run" in out) == (1, True)
    node.once()
    code, out, _ = run_cli("agent", "status", "--state", str(node.state))
    assert code == 1
    assert max(map(len, out.splitlines())) <= 80
    for words in ("node-1", "2 launches in 1 batches", "quick", "complete: 2 trials sealed"):
        assert words in out


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 99}', b"\xff\xfe"])
def test_a_damaged_state_file_is_told_and_written_anew(office: Office, host: Hosts, content: bytes) -> None:
    node = host("node-1")
    node.state.mkdir()
    (node.state / "state.json").write_bytes(content)
    code, _, err = run_cli("agent", "status", "--state", str(node.state))
    assert (code, err.count("\n")) == (2, 1)
    assert node.once("--benchmark", "none")[0] == 0
    assert node.told()["format"] == 1


def test_a_state_folder_that_cannot_be_written(office: Office, host: Hosts) -> None:
    node = host("node-1")
    node.state.write_text("a file")
    code, said = node.once()
    assert code == 2
    assert "Traceback" not in said


def test_the_systemd_unit(office: Office, tmp_path: Path) -> None:
    words = (
        "agent",
        "--remote",
        "git@example.org:a b/100%.git",
        "--signers",
        "signers",
        "--state",
        str(tmp_path / "s t"),
    )
    code, out, _ = run_cli(*words, "install", "--print", "--user", "bench")
    assert code == 0
    assert "User=bench" in out
    assert "100%%.git" in out
    assert f'--state "{tmp_path}/s t"' in out or f"--state '{tmp_path}/s t'" in out
    unit = tmp_path / "stackproof-agent.service"
    unit.write_text(out.replace("User=bench", "User=root"))
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "stackproof-agent" not in done.stderr, done.stderr
