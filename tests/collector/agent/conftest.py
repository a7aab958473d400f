"""A real bare remote with a protected branch, people who push to it, and agents on hosts of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.collector.conftest import git, run_cli

ROOT = Path(__file__).parents[3]
METRIC = {
    "unit": "s",
    "direction": "lower",
    "definition": "A time that the script prints.",
    "extract": {"regex": "took ([0-9.]+)"},
}


def benchmark(name: str, schedule: dict[str, str] | None = None, **commands: str) -> str:
    """A benchmark file whose stacks are one shell command each, launched once."""
    stacks = {
        stack: {"adapter": "command", "settings": {"command": line}, "roles": ["timed"]}
        for stack, line in (commands or {"one": "echo took 1.5", "two": "echo took 2.5"}).items()
    }
    data: dict[str, Any] = {
        "name": name,
        "question": "Which command is quicker?",
        "workload": {"kind": "command", "task": "print a number", "metrics": {"wait": METRIC}},
        "stacks": stacks,
        "envelope": {"objective": {"minimise": "wait"}},
        "repeats": {"initial": 1, "max": 1, "profiled": 0},
        "timeout": "30 s",
    }
    return yaml.safe_dump(data | ({"schedule": schedule} if schedule else {}), sort_keys=False)


@dataclass
class Office:
    """The remote and the clone in which people work."""

    folder: Path

    @property
    def remote(self) -> Path:
        """The bare repository."""
        return self.folder / "remote.git"

    @property
    def desk(self) -> Path:
        """Somebody's clone."""
        return self.folder / "desk"

    def push(self, *options: str, message: str = "work", **files: str | None) -> str:
        """Commit files (name with `__` for `/`, None removes) to main and push; the commit."""
        for name, text in files.items():
            path = self.desk / name.replace("__", "/").replace("_yaml", ".yaml")
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        git(self.desk, "add", "-A")
        git(self.desk, *options, "commit", "-qm", message)
        git(self.desk, "push", "-q", "--force", "origin", "HEAD:main")
        return git(self.desk, "rev-parse", "HEAD")

    def branches(self) -> dict[str, str]:
        """{branch: commit} of the remote."""
        listed = git(self.remote, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
        return dict(line.split() for line in listed.splitlines())

    def runs(self, branch: str) -> list[str]:
        """`benchmark/stack` of each run on a branch of the remote, sorted."""
        names = git(self.remote, "ls-tree", "-r", "--name-only", branch, "evidence").splitlines()
        found = [name.split("/") for name in names if name.endswith("/run.json")]
        return sorted(f"{parts[1]}/{parts[3].rsplit('-', 1)[0]}" for parts in found)

    def evidence(self) -> list[str]:
        """The agents' branches on the remote."""
        return [name for name in self.branches() if name.startswith("evidence/")]


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    """A remote with a workspace and the benchmark `quick` on its main branch."""
    for name, value in {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "STACKPROOF_MEASURING_LOCK": str(tmp_path / "measuring.lock"),
    }.items():
        monkeypatch.setenv(name, value)
    found = Office(tmp_path)
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(tmp_path, "init", "-q", "-b", "main", "desk")
    git(found.desk, "remote", "add", "origin", str(found.remote))
    (found.desk / "evidence").mkdir()
    (found.desk / "evidence/.gitkeep").touch()
    (found.desk / "mkdocs.yml").write_text("site_name: test\n")
    (found.desk / ".gitignore").write_text("evidence/.incoming/\nevidence/.claims/\n.stackproof/\n")
    (found.desk / ".gitattributes").write_text("evidence/** -text -diff\n")
    found.push(message="start", benchmarks__quick_yaml=benchmark("quick"))
    return found


@dataclass
class Host:
    """One benchmark host: its name, its state folder, its lock."""

    office: Office
    name: str
    monkeypatch: pytest.MonkeyPatch
    locks: Path

    @property
    def state(self) -> Path:
        """The agent's state folder."""
        return self.office.folder / f"state-{self.name}"

    @property
    def variables(self) -> dict[str, str]:
        """What makes this process that host."""
        return {"STACKPROOF_HOST": self.name, "STACKPROOF_AGENT_LOCK": f"{self.locks}/lock-{self.name}"}

    def once(self, *words: str, trust: str | None = "--trust-unsigned") -> tuple[int, str]:
        """One pass in this process: (exit code, what it said)."""
        for name, value in self.variables.items():
            self.monkeypatch.setenv(name, value)
        asked = [*([trust] if trust else []), *words]
        code, out, err = run_cli(
            "agent", "--remote", str(self.office.remote), "--state", str(self.state), "--once", *asked
        )
        assert out == ""
        return code, err

    def start(self, *words: str) -> subprocess.Popen[str]:
        """An agent in a process of its own."""
        command = [sys.executable, "-m", "stackproof", "agent", "--remote", str(self.office.remote)]
        command += ["--state", str(self.state), "--trust-unsigned", *words]
        environment = {**os.environ, **self.variables, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def told(self) -> dict[str, Any]:
        """The state file."""
        return dict(json.loads((self.state / "state.json").read_bytes()))

    @property
    def branches(self) -> list[str]:
        """This host's branches on the remote."""
        return [name for name in self.office.evidence() if name.startswith(f"evidence/{self.name}/")]


@pytest.fixture
def host(office: Office, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Host]:
    """Hosts by name."""
    return lambda name: Host(office, name, monkeypatch, office.folder)
