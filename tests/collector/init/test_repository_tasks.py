"""Tasks made of a repository's own fixes: real commits, each tried without and with its fix."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from collector import repository_tasks
from collector.commands.init import command
from ledger import git as git_command
from ledger.benchmark import read as read_benchmark
from ledger.errors import InputError, StackproofError

CHECK = 'for each in {tests}; do sh "$each" || exit 1; done'


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgSign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def change(folder: Path, message: str, files: dict[str, str | None]) -> str:
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that greets, and its history: one usable fix, and others that are none."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    root = tmp_path / "greeter"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch", "main")
    start = {"greet": '#!/bin/sh\necho "helo"\n', "old": "x\n", ".gitattributes": "tests/* export-ignore\n"}
    change(root, "Start", {**start, "tests/runs.sh": "./greet > /dev/null\n"})
    (root / "hello").symlink_to("greet")
    change(root, "Add a link", {"notes": "n\n"})
    judge = 'test "$(./hello)" = hello && test ! -e old\n'
    fixed = {"greet": '#!/bin/sh\necho "hello"\n', "old": None, "tests/hello [1].sh": judge}
    change(root, "Fix the spelling: «hello»\n\nIt lacked a letter.\n\nSigned-off-by: Ada <ada@localhost>", fixed)
    change(root, "Fix what never was broken", {"greet": "#!/bin/sh\necho hello\n", "tests/more.sh": "./greet\n"})
    change(root, "Fix it without a test", {"greet": '#!/bin/sh\necho "hello"\n'})
    change(root, "A new feature", {"bye": "#!/bin/sh\necho bye\n", "tests/bye.sh": "./bye\n"})
    change(root, "Fix bye, in vain", {"bye": "#!/bin/sh\nexit 1\n", "tests/bye.sh": "test $(./bye) = BYE\n"})
    return root


def test_only_commits_that_change_tests_and_sources_are_looked_at(repository):
    found = [fix.subject for fix in repository_tasks.fixes(git_command.find(repository))]
    assert found == ["Fix bye, in vain", "Fix what never was broken", "Fix the spelling: «hello»"]


def test_a_task_is_the_repository_before_the_fix_and_its_tests_are_hidden(repository, tmp_path):
    said: list[str] = []
    mined = repository_tasks.mine(repository, tmp_path / "suite", 10, CHECK, said.append)
    (name,) = mined.tasks
    task = tmp_path / "suite" / name
    assert name.startswith("fix-the-spelling-hello-")
    assert (task / "files/greet").read_text() == '#!/bin/sh\necho "helo"\n'
    assert os.access(task / "files/greet", os.X_OK)
    assert (task / "files/hello").is_symlink()
    assert (task / "files/old").exists()
    assert (task / "files/tests/runs.sh").exists()
    assert not (task / "files/tests/hello [1].sh").exists()
    assert [path.name for path in (task / "hidden/tests").iterdir()] == ["hello [1].sh"]
    prompt = yaml.safe_load((task / "task.yaml").read_text())["prompt"]
    assert prompt.startswith("Fix the spelling: «hello»\n\nIt lacked a letter.\n")
    assert "Signed-off-by" not in prompt
    assert "its tests do not pass with the fix" in mined.left_out[0]
    assert "its tests pass without the fix" in mined.left_out[1]
    assert git(repository, "status", "--porcelain") == ""


def test_init_writes_a_benchmark_that_can_be_collected(repository, tmp_path):
    folder = tmp_path / "workspace"
    words = [str(folder), "--example", "repository-tasks", "--repository", str(repository), "--check", CHECK]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    file = read_benchmark(folder / "benchmarks/repository-tasks.yaml")
    suite = folder / "benchmarks" / file.benchmark.workload.suite.path
    assert [path.name.startswith("fix-the-spelling") for path in suite.iterdir()] == [True]
    assert next(suite.rglob("hello")).is_symlink()
    assert git(folder, "status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--repository", "none"], "no such folder"),
        (["--repository", "."], "not in a git repository"),
        (["--check", "make test"], "must hold {tests}"),
    ],
)
def test_what_cannot_be_used_is_told_before_anything_is_written(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    done = CliRunner().invoke(command, ["workspace", "--example", "repository-tasks", *words])
    assert isinstance(done.exception, StackproofError)
    assert said in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_repository_without_a_usable_fix_is_told(tmp_path, repository):
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "--quiet")
    with pytest.raises(InputError, match="has no commit yet"):
        repository_tasks.mine(bare, tmp_path / "suite", 1, CHECK, print)
    change(bare, "Start", {"a": "a"})
    with pytest.raises(InputError, match="0 fixes came with tests"):
        repository_tasks.mine(bare, tmp_path / "suite", 1, CHECK, print)
    with pytest.raises(InputError, match="3 fixes"):
        repository_tasks.mine(repository, tmp_path / "suite", 1, "exit 1 # {tests}", print)


def test_its_options_need_the_example(tmp_path):
    done = CliRunner().invoke(command, [str(tmp_path / "workspace"), "--most", "3"])
    assert "only with `--example repository-tasks`" in str(done.exception)
