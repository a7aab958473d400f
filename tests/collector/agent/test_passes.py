"""What a pass of the agent brings to a real remote, and what it leaves alone."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collector.agent.conftest import Host, Office, benchmark
from tests.collector.conftest import git, run_cli

Hosts = Callable[[str], Host]


def test_the_first_pass_pushes_a_branch_of_the_host_and_leaves_main_alone(office: Office, host: Hosts) -> None:
    main = office.branches()["main"]
    node = host("node-1")
    code, said = node.once()
    assert code == 0, said
    assert office.branches()["main"] == main
    (branch,) = node.branches
    assert office.runs(branch) == ["quick/one", "quick/two"]
    # The branch is the protected branch's files with evidence added, and nothing else.
    changed = git(office.remote, "diff", "--name-only", "main", branch).splitlines()
    assert changed
    assert all(name.startswith("evidence/quick/") for name in changed)
    told = node.told()
    assert told["counts"]["completed"] == 2
    assert told["state"] == "stopped"
    assert told["pending"] == {"branches": [], "files": 0}
    assert told["benchmarks"]["quick"]["state"] == "complete"
    assert told["last_push"]["branch"] == branch


def test_the_second_pass_launches_nothing_and_pushes_nothing(office: Office, host: Hosts) -> None:
    node = host("node-1")
    node.once()
    before = office.branches()
    code, _ = node.once()
    assert code == 0
    assert office.branches() == before
    assert node.told()["counts"] == {
        "passes": 2,
        "batches": 1,
        "launched": 2,
        "completed": 2,
        "failed": 0,
        "pushes": 1,
    }


def test_a_new_benchmark_on_main_is_run_and_the_branch_only_goes_forward(office: Office, host: Hosts) -> None:
    node = host("node-1")
    node.once()
    before = office.branches()[node.branches[0]]
    office.push(benchmarks__more_yaml=benchmark("more", one="echo took 3"))
    assert node.once()[0] == 0
    (branch,) = node.branches
    assert office.runs(branch) == ["more/one", "quick/one", "quick/two"]
    git(office.remote, "merge-base", "--is-ancestor", before, branch)


def test_what_main_took_over_is_not_brought_again(office: Office, host: Hosts) -> None:
    node = host("node-1")
    node.once()
    git(office.desk, "fetch", "-q")
    git(office.desk, "merge", "-q", "--no-edit", f"origin/{node.branches[0]}")
    office.push(benchmarks__more_yaml=benchmark("more", one="echo took 3"))
    assert node.once()[0] == 0
    (branch,) = node.branches
    changed = git(office.remote, "diff", "--name-only", "main", branch).splitlines()
    assert all(name.startswith("evidence/more/") for name in changed)


def test_only_the_benchmarks_that_were_asked_for(office: Office, host: Hosts) -> None:
    office.push(benchmarks__more_yaml=benchmark("more", one="echo took 3"))
    node = host("node-1")
    node.once("--benchmark", "more")
    assert office.runs(node.branches[0]) == ["more/one"]


def test_a_broken_file_and_one_that_cannot_run_here_keep_no_other_from_running(office: Office, host: Hosts) -> None:
    lacking = benchmark("lacking", one="echo took 1").replace("adapter: command", "adapter: nothing-like-it")
    office.push(benchmarks__broken_yaml="name: broken\nstacks: 7\n", benchmarks__lacking_yaml=lacking)
    node = host("node-1")
    code, said = node.once()
    assert code == 1
    assert "broken.yaml" in said
    assert "Traceback" not in said
    assert office.runs(node.branches[0]) == ["quick/one", "quick/two"]
    told = node.told()["benchmarks"]
    assert {name: each["state"] for name, each in told.items()} == {
        "broken": "error",
        "lacking": "error",
        "quick": "complete",
    }


def test_a_failed_trial_is_evidence_and_is_not_tried_again(office: Office, host: Hosts) -> None:
    office.push(benchmarks__quick_yaml=benchmark("quick", one="echo took 1", bad="exit 3"))
    node = host("node-1")
    assert node.once()[0] == 0
    assert node.once()[0] == 0
    assert node.told()["counts"]["failed"] == 1
    assert office.runs(node.branches[0]) == ["quick/bad", "quick/one"]


def test_what_another_hosts_branch_holds_is_not_run_again(office: Office, host: Hosts) -> None:
    host("node-1").once()
    second = host("node-2")
    assert second.once()[0] == 0
    assert second.told()["counts"]["launched"] == 0
    assert second.branches == []


def test_two_agents_at_once_lose_nothing_and_one_run_of_each_trial_counts(office: Office, host: Hosts) -> None:
    pair = [host("node-1"), host("node-2")]
    for process in [each.start("--once") for each in pair]:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    for each in pair:  # now each sees what the other one brought
        assert each.once()[0] == 0
    git(office.desk, "fetch", "-q")
    for branch in office.evidence():
        git(office.desk, "merge", "-q", "--no-edit", f"origin/{branch}")
    done = run_in(office.desk, "verify")
    assert done[0] == 0, done
    code, out, _ = run_in(office.desk, "query", "--format", "json", COUNTED)
    assert code == 0
    assert [tuple(row.values()) for row in json.loads(out)] == [("one", 1), ("two", 1)]


COUNTED = """
    SELECT stack, count(*) FROM runs
    WHERE run_id NOT IN (SELECT run_id FROM status WHERE kind IN ('superseded', 'excluded')) GROUP BY stack ORDER BY 1
"""


def run_in(folder: Path, *words: str) -> tuple[int, str, str]:
    """The command line in another folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return run_cli(*words)


def test_main_that_was_rewritten_is_followed_and_nothing_is_lost(office: Office, host: Hosts) -> None:
    node = host("node-1")
    node.once()
    git(office.desk, "checkout", "-q", "--orphan", "anew")
    office.push(message="anew", benchmarks__more_yaml=benchmark("more", one="echo took 3"))
    code, said = node.once()
    assert code == 0
    assert "was rewritten" in said
    assert node.told()["rewritten"]["is"] == office.branches()["main"]
    brought = {run for branch in node.branches for run in office.runs(branch)}
    assert brought == {"quick/one", "quick/two", "more/one"}


def test_a_workspace_below_the_repositorys_root(office: Office, host: Hosts) -> None:
    for name in ("mkdocs.yml", "benchmarks", "evidence"):
        (office.desk / "team").mkdir(exist_ok=True)
        (office.desk / name).rename(office.desk / "team" / name)
    office.push(message="move")
    node = host("node-1")
    code, said = node.once("--folder", "team")
    assert code == 0, said
    names = git(office.remote, "diff", "--name-only", "main", node.branches[0]).splitlines()
    assert names
    assert all(name.startswith("team/evidence/quick/") for name in names)


def test_a_schedule_launches_again_what_is_old_and_says_which_run_counts(office: Office, host: Hosts) -> None:
    office.push(benchmarks__quick_yaml=benchmark("quick", {"every": "1 s"}))
    node = host("node-1")
    node.once()
    time.sleep(1)
    code, said = node.once()
    assert code == 0
    assert "2 due again" in said
    assert len(office.runs(node.branches[0])) == 4
    git(office.desk, "fetch", "-q")
    git(office.desk, "merge", "-q", "--no-edit", f"origin/{node.branches[0]}")
    assert run_in(office.desk, "verify")[0] == 0
    counted = json.loads(run_in(office.desk, "query", "--format", "json", COUNTED)[1])
    assert [tuple(row.values()) for row in counted] == [("one", 1), ("two", 1)]
    assert node.told()["benchmarks"]["quick"]["next_due"]


def test_what_is_not_old_yet_waits(office: Office, host: Hosts) -> None:
    office.push(benchmarks__quick_yaml=benchmark("quick", {"stale_after": "30 days"}))
    node = host("node-1")
    node.once()
    node.once()
    assert node.told()["counts"]["launched"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("agent", "--trust-unsigned"), "no remote to work for"),
        (("agent", "--remote", "x"), "nobody is trusted yet"),
        (("agent", "--remote", "x", "--trust-unsigned", "--signers", "y"), "exclude each other"),
        (("agent", "--remote", "x", "--signers", "/nonexistent"), "cannot be read"),
        (("agent", "--remote", "x", "--trust-unsigned", "--interval", "soon"), "duration"),
        (("agent", "--remote", "x", "--trust-unsigned", "--interval", "2 days"), "from 1 s to 1 day"),
        (("agent", "--remote", "x", "--trust-unsigned", "--folder", "../y"), "leaves the repository"),
        (("agent", "--remote", "--upload-pack=x", "--trust-unsigned"), "is no address"),
        (("agent", "install"), "add --print"),
        (("agent", "install", "--print"), "no remote to work for"),
        (("agent", "--remote", "x", "install", "--print"), "nobody is trusted yet"),
        (("agent", "stauts"), "status"),
    ],
)
def test_wrong_usage_is_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKPROOF_AGENT_STATE", str(tmp_path / "state"))
    code, _, err = run_cli(*words)
    assert (code, err.count("\n")) == (2, 1), err
    assert said in err


def test_a_remote_that_is_none_is_told_and_ends_a_single_pass_with_1(
    office: Office, host: Hosts, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    node = host("node-1")
    node.office = Office(tmp_path / "nowhere")
    (tmp_path / "nowhere").mkdir()
    code, said = node.once()
    assert code == 1
    assert "git fetch failed" in said
    assert node.told()["last_error"]["what"]
    assert "Traceback" not in said


def test_a_branch_or_a_workspace_that_is_not_there(office: Office, host: Hosts) -> None:
    node = host("node-1")
    code, said = node.once("--branch", "trunk")
    assert code == 1
    assert "trunk" in said
    code, said = node.once("--folder", "elsewhere")
    assert code == 1
    assert "name the workspace's folder with --folder" in said


def test_a_state_folder_of_another_remote_is_refused(office: Office, host: Hosts, tmp_path: Path) -> None:
    node = host("node-1")
    node.once()
    (tmp_path / "other").mkdir()
    subprocess.run(["git", "clone", "-q", "--bare", str(office.remote), str(tmp_path / "other/remote.git")], check=True)
    node.office = Office(tmp_path / "other")
    state = tmp_path / "state-node-1"
    state.rename(tmp_path / "other/state-node-1")
    code, said = node.once()
    assert code == 2
    assert "is the clone of another remote" in said
