"""A `collect` that is killed at any moment leaves whole runs or none, and the next one completes the work."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ledger.run_folder import scan
from ledger.verify import verify_evidence
from tests.collector import conftest as scripted
from tests.faults import collect_once, harness

pytestmark = pytest.mark.faults

CALLS = {"mkdir": 2, "fsync": 2, "link": 1, "rename": 1, "unlink": 1, "rmdir": 1, "write": 12}
"""{system call: at every how many of them collect is killed}; those that change the disk, and some writes."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed workspace with one stack: one warm-up and one timed launch."""
    root = tmp_path_factory.mktemp("fresh")
    scripted.write(root, {"repeats": {"initial": 1, "max": 1, "profiled": 0}, "comparisons": []}, slow={})
    scripted.git(root, "init", "-q")
    scripted.git(root, "add", "-A")
    scripted.git(root, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start")
    return root


@pytest.fixture(scope="module")
def counted(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """How often an undisturbed collect makes each system call."""
    folder = tmp_path_factory.mktemp("undisturbed")
    root = copy(fresh, folder / "workspace")
    done = collect(root, *strace(folder / "trace.log"))
    assert done.returncode == 0, done.stderr
    check_complete(root)
    lines = (folder / "trace.log").read_text().splitlines()
    return Counter(match[1] for line in lines if (match := re.match(r"(\w+)\(", line)))


@pytest.mark.parametrize("name", CALLS)
def test_killed_and_called_again(name: str, fresh: Path, counted: Counter[str], tmp_path: Path) -> None:
    assert counted[name], f"collect makes no {name} call"
    killed = 0
    for number in range(1, counted[name] + 1, CALLS[name]):
        root = copy(fresh, tmp_path / str(number))
        done = collect(root, *strace(tmp_path / "log"), "-e", f"inject={name}:signal=KILL:when={number}")
        killed += done.returncode in {-signal.SIGKILL, 128 + signal.SIGKILL}
        harness.Bench(root / "evidence", root).visible()
        again = collect(root)
        assert again.returncode == 0, f"after a kill at {name} {number}: {again.stderr}"
        check_complete(root)
        shutil.rmtree(root)
    assert killed, "no collect was killed"


def copy(fresh: Path, root: Path) -> Path:
    shutil.copytree(fresh, root)
    return root


def strace(log: Path) -> list[str]:
    return ["strace", "-qq", "-o", str(log), "-e", f"trace={','.join(CALLS)}", "-e", "signal=none"]


def collect(root: Path, *wrapper: str) -> subprocess.CompletedProcess[str]:
    command = [*wrapper, sys.executable, collect_once.__file__, "tiny"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(harness.ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "STACKPROOF_MEASURING_LOCK": str(root.parent / "measuring.lock"),
    }
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)


def check_complete(root: Path) -> None:
    """Both trials are sealed once, committed, and nothing else is left."""
    evidence = root / "evidence"
    report = verify_evidence(evidence)
    assert report.findings == ()
    assert sorted(folder.run.role for folder in scan(evidence)) == ["timed", "warmup"]
    assert scripted.git(root, "status", "--porcelain") == ""
    held = scripted.git(root, "ls-tree", "-r", "--name-only", "HEAD", "evidence").splitlines()
    files = {path.relative_to(root).as_posix() for path in evidence.glob("[!.]*/**/*") if path.is_file()}
    assert set(held) == files
    assert [path for path in evidence.glob(".incoming/*") if path.is_dir()] == []
