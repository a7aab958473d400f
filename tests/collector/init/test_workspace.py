"""`stackproof init`: a workspace that works at once, in any folder, and never at the cost of what is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from collector import new_workspace
from ledger import workspace
from ledger.errors import InputError, StackproofError


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def stackproof(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stackproof", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which git knows no user."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.useConfigOnly")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")


@pytest.mark.usefixtures("nobody")
def test_a_new_folder_becomes_a_committed_workspace_without_an_identity(tmp_path: Path) -> None:
    folder = tmp_path / "deep/workspace"
    made = new_workspace.make(folder, "cpu-training")
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "rev-parse", "HEAD") == made.commit
    assert git(folder, "branch", "--show-current") == "main"
    assert sorted(git(folder, "ls-files").splitlines()) == sorted(made.files)
    found = workspace.find(folder / "benchmarks")
    assert [path.stem for path in found.benchmark_files()] == ["cpu-training"]
    assert found.evidence.is_dir()


def test_the_user_signs_where_git_knows_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "Ada")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "ada@localhost")
    new_workspace.make(tmp_path / "workspace")
    assert git(tmp_path / "workspace", "log", "--format=%an %ce") == "Ada ada@localhost"


def test_evidence_is_kept_byte_for_byte_by_git(tmp_path: Path) -> None:
    new_workspace.make(tmp_path)
    told = git(tmp_path, "check-attr", "text", "diff", "--", "evidence/bench/2026-11-30/stack-0/run.json")
    assert [line.rsplit(": ", 1)[1] for line in told.splitlines()] == ["unset", "unset"]
    for name in ("evidence/.incoming/x", "evidence/.claims/x", ".stackproof/cache", "site/index.html"):
        git(tmp_path, "check-ignore", name)
    ignored = subprocess.run(["git", "check-ignore", "evidence/bench/2026-11-30/stack-0/logs/stdout.log"], cwd=tmp_path)
    assert ignored.returncode == 1


def test_what_is_in_the_way_is_listed_and_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: mine\n")
    (tmp_path / "benchmarks").write_text("a file where a folder goes")
    (tmp_path / "docs").symlink_to("/nowhere")
    before = everything_in(tmp_path)
    with pytest.raises(InputError, match=r"in the way: benchmarks, docs, mkdocs\.yml"):
        new_workspace.make(tmp_path)
    assert everything_in(tmp_path) == before
    assert not (tmp_path / ".git").exists()


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = stackproof("init", tmp_path / "file")
    assert done.returncode == 2
    assert done.stderr == f"error: {tmp_path}/file: is not a folder; name another one\n"


def test_other_files_a_readme_and_pattern_lists_live_on(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "README.md").write_text("my project")
    (tmp_path / ".gitignore").write_text("*.log")
    made = new_workspace.make(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "README.md").read_text() == "my project"
    assert (tmp_path / ".gitignore").read_text().startswith("*.log\n.venv/\n")
    assert any("README.md" in note for note in made.notes)
    assert git(tmp_path, "status", "--porcelain").splitlines() == ["?? README.md", "?? notes.txt"]


def test_an_existing_repository_gets_files_and_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("pass\n")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    made = new_workspace.make(tmp_path / "inside")
    assert made.commit is None
    assert git(tmp_path, "rev-parse", "HEAD") == head
    assert not (tmp_path / "inside/.git").exists()
    assert git(tmp_path, "status", "--porcelain") == "?? inside/"
    (note,) = [note for note in made.notes if "git repository" in note]
    assert f"inside the git repository {tmp_path}: commits go there" in note
    assert "GitHub ignores the workflow" in note
    (note,) = [note for note in new_workspace.make(tmp_path).notes if "git repository" in note]
    assert "commit the new files yourself" in note


def test_a_folder_that_the_outer_repository_ignores_gets_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("scratch/\n")
    made = new_workspace.make(tmp_path / "scratch/workspace")
    assert made.commit
    assert Path(git(tmp_path / "scratch/workspace", "rev-parse", "--show-toplevel")).name == "workspace"


def test_a_second_init_changes_nothing(tmp_path: Path) -> None:
    first = new_workspace.make(tmp_path, "cpu-training")
    before = everything_in(tmp_path)
    second = new_workspace.make(tmp_path, "cpu-training")
    assert second.files == ()
    assert not [note for note in second.notes if "git repository" in note]
    assert second.commit is None
    assert git(tmp_path, "rev-parse", "HEAD") == first.commit
    assert {name: data for name, data in everything_in(tmp_path).items() if name in before} == before


def test_an_unknown_example_names_the_nearest(tmp_path: Path) -> None:
    done = stackproof("init", tmp_path / "workspace", "--example", "cpu-traning")
    assert done.returncode == 2
    assert done.stderr == "error: no example 'cpu-traning'; did you mean 'cpu-training'?\n"
    assert not (tmp_path / "workspace").exists()


def test_without_git_nothing_is_written(tmp_path: Path) -> None:
    done = stackproof("init", tmp_path / "workspace", PATH=str(tmp_path))
    assert done.returncode == 2
    assert "git is not installed; install git" in done.stderr
    assert not (tmp_path / "workspace").exists()


@pytest.mark.parametrize("name", ["cpu-training"])
def test_every_example_is_a_benchmark(name: str, tmp_path: Path) -> None:
    from ledger import benchmark

    assert name in new_workspace.examples()
    new_workspace.make(tmp_path, name)
    try:
        loaded = benchmark.read(tmp_path / f"benchmarks/{name}.yaml")
    except StackproofError as error:
        pytest.fail(error.diagnostics())
    assert loaded.benchmark.name == name


@pytest.mark.parametrize("example", [None, "cpu-training"])
def test_a_new_workspace_builds_at_once(example: str | None, tmp_path: Path) -> None:
    new_workspace.make(tmp_path / "workspace", example)
    command = [sys.executable, "-m", "stackproof", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path / "workspace", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "workspace/site/index.html").is_file()
    assert git(tmp_path / "workspace", "status", "--porcelain") == ""


def test_the_site_is_configured_as_this_repository_is() -> None:
    root = Path(new_workspace.__file__).parents[1] / "mkdocs.yml"
    ours, theirs = (yaml.safe_load(path.read_text()) for path in (root, new_workspace.TEMPLATE / "mkdocs.yml"))
    for key in ("theme", "plugins"):
        assert theirs[key] == ours[key], f"{key} differs from the repository's own mkdocs.yml"
    assert [name for name in theirs["hooks"] if not (new_workspace.TEMPLATE / name).is_file()] == []
