"""A small workspace with known numbers: five timed and three profiled launches a side, one of them failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ledger.run import Reason
from tests.factory import make_run, write_benchmark
from tests.ledger.traces.builder import annotation, op, write

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "collector/workspace_template"
SLOW = (0.100, 0.108, 0.102, 0.106, 0.104)
FAST = (0.070, 0.076, 0.073, 0.071)


def empty_workspace(root: Path) -> Path:
    """A workspace as `init` writes one, without benchmark and evidence."""
    for name in ("mkdocs.yml", "stackproof_hook.py", "docs/index.md"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((TEMPLATE / name).read_bytes())
    (root / "benchmarks").mkdir()
    (root / "evidence").mkdir()
    return root


def workspace(root: Path, **changes: Any) -> Path:
    """A workspace with evidence; the fourth launch of `fast` ran out of memory."""
    empty_workspace(root)
    write_benchmark(root / "benchmarks", **changes)
    evidence = root / "evidence"
    for repeat, seconds in enumerate(SLOW, 1):
        launch(evidence, "slow", repeat, 2 * repeat - 1, seconds)
    for repeat, seconds in zip((1, 2, 3, 5), FAST, strict=True):
        launch(evidence, "fast", repeat, 2 * repeat, seconds)
    launch(evidence, "fast", 4, 8, 0.1, failed=Reason.OUT_OF_MEMORY)
    for repeat in (1, 2, 3):
        profiled(evidence, root, "slow", repeat, 10 + 2 * repeat, 80_000 + 500 * repeat, 24_000)
        profiled(evidence, root, "fast", repeat, 11 + 2 * repeat, 50_000 + 500 * repeat, 23_000)
    return root


def small_workspace(root: Path) -> Path:
    """A workspace with one run a side."""
    empty_workspace(root)
    write_benchmark(root / "benchmarks")
    launch(root / "evidence", "slow", 1, 1, 0.1)
    launch(root / "evidence", "fast", 1, 2, 0.07)
    return root


def launch(evidence: Path, stack: str, repeat: int, order: int, seconds: float, **more: Any) -> Path:
    """One timed launch."""
    started = f"2026-11-30T12:{order:02}:00.000000Z"
    return make_run(evidence, stack, repeat=repeat, order=order, step_time=seconds, started=started, **more)


def profiled(evidence: Path, scratch: Path, stack: str, repeat: int, order: int, busy: int, gap: int) -> Path:
    """One profiled launch: `busy` microseconds of matrix product and `gap` of idleness a step."""
    events = []
    for number in range(4):
        at = 1000.0 + (busy + gap) * number
        events += [annotation(f"ProfilerStep#{number}", at, busy + gap), op("aten::mm", at + gap / 2, busy)]
    trace = write(scratch / "trace.json.gz", events)
    data = trace.read_bytes()
    trace.unlink()
    started = f"2026-11-30T13:{order:02}:00.000000Z"
    return make_run(
        evidence, stack, role="profiled", repeat=repeat, order=order, step_time=0.1, started=started, trace=data
    )


def stackproof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in `folder`."""
    return subprocess.run([sys.executable, "-m", "stackproof", *arguments], cwd=folder, capture_output=True, text=True)


def mkdocs(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run MkDocs in `folder`."""
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # the theme's notice about its own future
    command = [sys.executable, "-m", "mkdocs", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=quiet)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """{path: (content, modification time)} of every file below `folder`, but for what Python keeps of its imports."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "__pycache__")
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
