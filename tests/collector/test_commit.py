"""Committing evidence beside a user's own work in the repository, and beside other collectors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from collector import commit
from ledger import git as git_module
from ledger.errors import GitError
from tests import factory
from tests.collector.conftest import git

Cli = Callable[..., tuple[int, str, str]]


def test_what_the_user_staged_stays_staged_and_uncommitted(workspace: Path) -> None:
    (workspace / "mine.txt").write_text("staged\n")
    git(workspace, "add", "mine.txt")
    (workspace / "mkdocs.yml").write_text("site_name: changed\n")
    run = factory.make_run(workspace / "evidence")
    made = commit.commit(commit.repository(workspace), [run], "Add evidence\n")
    assert git(workspace, "rev-parse", "HEAD") == made
    assert git(workspace, "status", "--porcelain") == "A  mine.txt\n M mkdocs.yml"
    touched = git(workspace, "show", "--name-only", "--format=", "HEAD").splitlines()
    assert {"/".join(name.split("/")[:4]) for name in touched} == {run.relative_to(workspace).as_posix()}


def test_no_identity_is_needed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMAIL", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.delenv(name, raising=False)
    commit.commit(commit.repository(workspace), [factory.make_run(workspace / "evidence")], "Add evidence\n")
    assert git(workspace, "log", "-1", "--format=%an <%ae>") == "stackproof <stackproof@localhost>"


def test_the_users_identity_is_used_where_there_is_one(workspace: Path) -> None:
    git(workspace, "config", "user.name", "Ada")
    git(workspace, "config", "user.email", "ada@example.org")
    commit.commit(commit.repository(workspace), [factory.make_run(workspace / "evidence")], "Add evidence\n")
    assert git(workspace, "log", "-1", "--format=%an %ae %cn") == "Ada ada@example.org Ada"


def test_the_first_commit_of_a_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    run = factory.make_run(tmp_path / "evidence")
    assert commit.commit(commit.repository(tmp_path), [run], "Add evidence\n")
    assert git(tmp_path, "rev-list", "--count", "HEAD") == "1"
    assert git(tmp_path, "status", "--porcelain") == ""


def test_committing_again_commits_nothing(workspace: Path) -> None:
    run = factory.make_run(workspace / "evidence")
    found = commit.repository(workspace)
    assert commit.commit(found, [run], "Add evidence\n")
    assert commit.commit(found, [run], "Add evidence\n") is None


def test_ignored_files_are_committed_and_bytes_are_kept(workspace: Path) -> None:
    run = factory.make_run(workspace / "evidence")  # *.json is ignored in this workspace
    git(workspace, "config", "core.autocrlf", "true")
    commit.commit(commit.repository(workspace), [run], "Add evidence\n")
    for path in (path for path in run.rglob("*") if path.is_file()):
        name = path.relative_to(workspace).as_posix()
        kept = subprocess.run(["git", "show", f"HEAD:{name}"], cwd=workspace, check=True, capture_output=True).stdout
        assert kept == path.read_bytes()


def test_an_earlier_commit_that_failed_is_made_up_for(workspace: Path, stackproof: Cli) -> None:
    stackproof("collect", "tiny", "--no-commit")
    assert git(workspace, "rev-list", "--count", "HEAD") == "1"
    code, out, _ = stackproof("collect", "tiny")
    assert (code, out.startswith("0 launched")) == (0, True)
    assert git(workspace, "status", "--porcelain") == ""
    assert git(workspace, "rev-list", "--count", "HEAD") == "2"


@pytest.mark.parametrize(
    ("marker", "operation"), [("MERGE_HEAD", "merge"), ("rebase-merge", "rebase"), ("CHERRY_PICK_HEAD", "cherry-pick")]
)
def test_another_operation_in_progress_stops_before_any_launch(
    workspace: Path, stackproof: Cli, marker: str, operation: str
) -> None:
    (workspace / ".git" / marker).write_text(git(workspace, "rev-parse", "HEAD") + "\n")
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n")) == (2, 1)
    assert f"a {operation} is in progress; finish or abort the {operation}, or use --no-commit" in err
    assert not list((workspace / "evidence").glob("tiny"))
    assert stackproof("collect", "tiny", "--no-commit")[0] == 0


def test_a_lock_of_gits_that_stays_stops_before_any_launch_and_is_named(
    workspace: Path, stackproof: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = workspace / ".git/index.lock"
    lock.touch()
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n")) == (2, 1)
    assert f"another git command holds {lock}; wait for its end, or remove that file" in err
    assert not list((workspace / "evidence").glob("tiny"))
    assert stackproof("collect", "tiny", "--no-commit")[0] == 0


def test_a_lock_that_goes_away_is_waited_for(workspace: Path) -> None:
    lock = workspace / ".git/index.lock"
    lock.touch()
    holder = subprocess.Popen(["sh", "-c", f"sleep 1; rm {lock}"])
    assert commit.commit(git_of(workspace), [factory.make_run(workspace / "evidence")], "Add evidence\n")
    assert holder.wait() == 0


def git_of(workspace: Path) -> git_module.Repository:
    return git_module.find(workspace)


def test_a_commit_that_git_refuses_says_what_git_says(workspace: Path) -> None:
    (workspace / ".git/refs/heads/main.lock").touch()
    run = factory.make_run(workspace / "evidence")
    with pytest.raises(GitError, match=r"HEAD cannot be moved: git update-ref failed .*main\.lock"):
        commit.commit(git_of(workspace), [run], "Add evidence\n")


def test_without_git_the_advice_is_to_install_it(
    workspace: Path, stackproof: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = stackproof("collect", "tiny")
    assert (code, err) == (2, "error: git is not installed; install git (sudo apt-get install git)\n")


def test_no_repository_stops_before_any_launch(
    tmp_path: Path, stackproof: Cli, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (workspace / ".git").rename(tmp_path / "elsewhere")
    code, _, err = stackproof("collect", "tiny")
    assert (code, err.count("\n"), "is not in a git repository" in err, "git init" in err) == (2, 1, True, True)


def test_a_folder_that_is_no_work_tree_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(GitError, match="is not in a git repository"):
        commit.repository(tmp_path)


WRITER = """
import sys
from pathlib import Path
from collector import commit
from tests import factory
root, me = Path(sys.argv[1]), int(sys.argv[2])
for repeat in range(1, 9):
    run = factory.make_run(root / "evidence", repeat=100 * me + repeat)
    commit.commit(commit.repository(root), [run], f"Add evidence {me}-{repeat}\\n")
"""


def test_four_writers_at_once_lose_nothing(workspace: Path) -> None:
    here = Path(__file__).parents[2]
    command = [sys.executable, "-c", WRITER, str(workspace)]
    writers = [subprocess.Popen([*command, str(number)], cwd=here) for number in range(4)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0, 0]
    assert git(workspace, "rev-list", "--count", "HEAD") == "33"
    assert git(workspace, "status", "--porcelain") == ""
    committed = git(workspace, "ls-tree", "-r", "--name-only", "HEAD", "evidence").splitlines()
    assert len({name.split("/")[3] for name in committed}) == 32
