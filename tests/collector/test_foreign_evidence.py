"""What lies in the evidence and is not a whole run of this tool: named, never committed, and never counted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.run_folder import scan
from tests import factory
from tests.collector.conftest import git

Cli = Callable[..., tuple[int, str, str]]

JUNK = "evidence/tiny/2026-11-30/slow-0123456789abcdef"


def committed(workspace: Path) -> list[str]:
    return git(workspace, "ls-tree", "-r", "--name-only", "HEAD", "evidence").splitlines()


def test_a_folder_that_only_looks_like_a_run_is_named_and_not_committed(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny")
    (workspace / JUNK).mkdir(parents=True)
    (workspace / JUNK / "notes.txt").write_text("mine\n")
    (workspace / "evidence/tiny/2026-11-30/plan-junk.json").write_text("{}")
    head = git(workspace, "rev-parse", "HEAD")
    code, out, err = stackproof("collect", "tiny")
    assert (code, out.startswith("0 launched")) == (0, True)
    assert git(workspace, "rev-parse", "HEAD") == head
    lines = [line for line in err.splitlines() if "is not committed" in line]
    assert [line.split()[1] for line in lines] == [JUNK.removeprefix("evidence/"), "tiny/2026-11-30/plan-junk.json"]
    assert all(line.startswith("warning: ") for line in lines)


def test_a_run_that_was_changed_before_its_commit_is_not_committed(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny", "--no-commit")
    first = next(iter(scan(workspace / "evidence")))
    (first.path / "logs/stdout.log").write_text("changed\n")
    code, _, err = stackproof("collect", "tiny")
    assert (code, f"{first.name} is not committed: logs/stdout.log" in err) == (0, True), err
    assert git(workspace, "log", "-1", "--format=%s") == "Add evidence of tiny: 9 trials"
    assert [name for name in committed(workspace) if first.name in name] == []


@pytest.mark.parametrize("harm", ["no run.json", "changed", "another's"])
def test_a_broken_run_is_named_and_its_trial_launched_again(workspace: Path, stackproof: Cli, harm: str) -> None:
    stackproof("collect", "tiny")
    first, second, *_ = scan(workspace / "evidence")
    path = first.path / "run.json"
    if harm == "no run.json":
        path.unlink()
    elif harm == "changed":
        path.write_text(path.read_text().replace("timed", "timed ", 1).replace("warmup", "warmup ", 1) + " ")
    else:
        shutil.copyfile(second.path / "run.json", path)
    for more in (("--dry-run",), ()):
        code, out, err = stackproof("collect", "tiny", *more)
        said = "1 to launch, 0 excluded, 9 sealed already" if more else "1 launched: 1 completed, 0 failed"
        assert (code, any(line.startswith(said) for line in out.splitlines())) == (0, True), out
        lines = [line for line in err.splitlines() if "does not count" in line]
        assert len(lines) == 1
        assert lines[0].startswith(f"warning: {first.name} does not count, its trial is launched again: ")


def test_a_commit_says_what_it_adds(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny", "--no-commit")
    _, _, err = stackproof("collect", "tiny")
    assert "committed 10 trials as " in err
    assert git(workspace, "log", "-1", "--format=%s") == "Add evidence of tiny: 10 trials"


def test_a_run_of_another_benchmark_in_the_wrong_folder_is_not_committed(workspace: Path, stackproof: Cli) -> None:
    run = factory.make_run(workspace / "elsewhere", changes={"name": "other"})
    place = workspace / "evidence/tiny" / run.parent.name / run.name
    place.parent.mkdir(parents=True)
    shutil.copytree(run, place)
    _, _, err = stackproof("collect", "tiny")
    assert f"{run.name} is not committed" in err
    assert [name for name in committed(workspace) if run.name in name] == []
