"""A workspace with a benchmark whose stacks are small scripts: everything is real but the training."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.stacks.interface import Adapter, Ending, Job, MissingPrerequisite, Observed, SettingsError, Trial
from collector.stacks.registry import ADAPTERS
from ledger import parquet
from ledger.benchmark import Benchmark
from ledger.run import Reason
from tests import factory

GOOD = """
row='"phase": "measured", "start_ns": 0, "duration_ns": 1000, "tokens": 32'
for step in 0 1 2 3; do
  echo "{\\"step\\": $step, $row}" >> "$STACKPROOF_OUT/steps.jsonl"
done
echo '{"evaluation_loss": 2.0}' > "$STACKPROOF_OUT/summary.json"
"""


class ScriptAdapter(Adapter):
    """Launches the shell script that stands in `settings.script`."""

    name = "script"
    workload_kinds = frozenset({"train"})
    requires = ("click",)

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        for key in settings:
            if key not in ("script", "missing"):
                raise SettingsError(key, "unknown setting", ("script", "missing"))
        return {"script": GOOD, "missing": False, **settings}

    def digests(self, job: Job) -> dict[str, str]:
        return {"model": "m", "dataset": "d", "adapter": "a"}

    def missing(self, job: Job) -> MissingPrerequisite | None:
        return (
            MissingPrerequisite("no gizmo on this machine", "apt-get install gizmo")
            if job.settings["missing"]
            else None
        )

    def write_launch(self, trial: Trial, folder: Path) -> None:
        (folder / "run.sh").write_text(f"set -u\n{trial.settings['script']}\n")

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:
        steps, summary = out / "steps.jsonl", out / "summary.json"
        if steps.is_file():
            rows = [json.loads(line) for line in steps.read_text().splitlines()]
            parquet.write(run / "samples/steps.parquet", rows, parquet.STEPS)
        if summary.is_file():
            (run / "samples/summary.json").write_bytes(summary.read_bytes())
        return Observed(summary.is_file(), "no summary.json", anything=steps.is_file())

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        return {"workload": {"model": {"phase": "training"}}}

    def failure_reason(self, ending: Ending) -> Reason | None:
        return Reason.OUT_OF_MEMORY if any("not enough memory" in line for line in ending.log_tail) else None


@pytest.fixture(autouse=True)
def script_adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(ADAPTERS, "script", ScriptAdapter())
    monkeypatch.setenv("STACKPROOF_MEASURING_LOCK", str(tmp_path / "measuring.lock"))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A committed workspace with the benchmark `tiny`; the current folder is inside of it."""
    root = tmp_path / "workspace"
    write(root, slow={}, fast={})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start")
    monkeypatch.chdir(root)
    return root


def write(root: Path, changes: dict[str, Any] | None = None, **stacks: dict[str, Any]) -> Path:
    """Write workspace files; each stack's keywords are its settings, or `stack={…}` for keys beside them."""
    (root / "evidence").mkdir(parents=True, exist_ok=True)
    (root / "mkdocs.yml").write_text("site_name: test\n")
    (root / ".gitattributes").write_text("evidence/** -text -diff\n")
    (root / ".gitignore").write_text("evidence/.incoming/\nevidence/.claims/\n.stackproof/\n*.json\n")
    declared = {
        name: {"adapter": "script", **settings.pop("stack", {}), "settings": settings}
        for name, settings in stacks.items()
    }
    names = list(stacks)
    comparisons = [{"baseline": names[0], "candidate": names[1], "threshold": "5%"}] if len(names) > 1 else []
    repeats = {"initial": 3, "max": 3, "profiled": 1}
    file = {"stacks": declared, "comparisons": comparisons, "repeats": repeats, "timeout": "20 s", **(changes or {})}
    return factory.write_benchmark(root / "benchmarks", **file)


def git(root: Path, *arguments: str) -> str:
    """git's output, stripped."""
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def stackproof() -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: (exit code, stdout, stderr)."""
    return run_cli


def run_cli(*arguments: str) -> tuple[int, str, str]:
    """As a shell would, but in this process, so that the script adapter is known."""
    import contextlib
    import io
    import sys

    import stackproof as front_door

    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["stackproof", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as exit_:
            front_door.main()
    finally:
        sys.argv = before
    return int(exit_.value.code or 0), out.getvalue(), err.getvalue()
