"""What the fault tests share: a folder ready to seal, strace that injects faults, and the question "is all whole?"."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ledger import manifest, run_folder
from ledger.plan_file import check_plans
from tests.factory import make_run
from tests.faults import seal_once

ROOT = Path(__file__).parents[2]
DRIVER = Path(seal_once.__file__)
CALLS = ("openat", "mkdir", "mkdirat", "write", "fsync", "close", "rename", "renameat", "renameat2")
"""System calls at which sealing is cut off; those that change the disk, and those between them."""

_MARKS = ("access", "faccessat", "faccessat2")


@dataclass(frozen=True)
class Bench:
    """An evidence folder with one prepared run in `.incoming`."""

    evidence: Path
    prepared: Path

    @property
    def command(self) -> list[str]:
        """Seals the prepared run in a process of its own."""
        return [sys.executable, str(DRIVER), str(self.prepared), str(self.evidence)]

    def visible(self) -> list[run_folder.RunFolder]:
        """The runs that a reader sees; fails when one is not whole, or when something else is in sight."""
        runs = list(run_folder.scan(self.evidence))
        for run in runs:
            assert manifest.digest_folder(run.path) == run.digests, f"{run.name} is not whole"
            assert manifest.run_id(run.bytes(manifest.NAME)) == run.run_id
        inside = {path for run in runs for path in run.path.rglob("*")}
        plans = set(self.evidence.glob("[!.]*/*/plan-*.json"))
        assert check_plans(self.evidence, sorted(plans))[1] == [], "a plan file is not whole"
        seen = {path for path in self.evidence.glob("[!.]*/**/[!.]*") if path.is_file()} - plans
        assert seen <= inside, f"in sight without a run: {sorted(seen - inside)}"
        return runs


@dataclass(frozen=True)
class Calls:
    """How often a process made each system call before sealing began, and while it sealed."""

    before: Counter[str]
    during: Counter[str]

    def numbers(self, name: str) -> range:
        """The calls of that name while sealing, counted as strace counts them."""
        first = self.before[name] + 1
        return range(first, first + self.during[name])


def prepare(folder: Path, template: Path) -> Bench:
    """A bench in `folder` from the sealed run `template`, as it was before it was sealed."""
    evidence = folder / "evidence"
    prepared = evidence / ".incoming/trial/run"
    shutil.copytree(template, prepared)
    (prepared / manifest.NAME).unlink()
    return Bench(evidence, prepared)


def make_template(folder: Path) -> Path:
    """One sealed run to prepare benches from."""
    return make_run(folder / "evidence")


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run to the end, with the tree importable and no byte code written."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def inject(bench: Bench, fault: str, log: Path) -> subprocess.CompletedProcess[str]:
    """Seal with one fault (strace's words: `fsync:error=EIO:when=3`)."""
    return run([*_strace(log), "-e", f"inject={fault}", *bench.command])


def count_calls(bench: Bench, log: Path) -> Calls:
    """Seal without a fault, and count."""
    done = run([*_strace(log), *bench.command])
    assert done.returncode == 0, done.stderr
    counts = (Counter[str](), Counter[str](), Counter[str]())
    stage = 0
    for line in log.read_text().splitlines():
        name = re.match(r"(?:\d+ +)?(\w+)\(", line)
        stage += seal_once.BEGIN in line or seal_once.END in line
        if name:
            counts[stage][name[1]] += 1
    assert stage == 2, "sealing's begin and end are not in the trace"
    return Calls(*counts[:2])


def _strace(log: Path) -> list[str]:
    names = ",".join(f"?{name}" for name in (*CALLS, *_MARKS))
    return ["strace", "-qq", "-o", str(log), "-e", f"trace={names}", "-e", "signal=none"]
