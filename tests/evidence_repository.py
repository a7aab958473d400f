"""A workspace in a real git repository whose runs have a plan, for tests of integrity and review."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.canonical import canonical_json, short_digest
from tests.factory import make_run, write_benchmark

IDENTITY = ("-c", "user.name=Tess Ter", "-c", "user.email=tess@example.org", "-c", "commit.gpgSign=false")


def make_batch(evidence: Path, specs: list[dict[str, Any]]) -> list[Path]:
    """Seal runs, one for each set of `make_run` arguments, beside the plan that lists them."""
    scratch = evidence.parent / f".scratch-{evidence.name}"
    sketches = [json.loads((make_run(scratch, **spec) / "run.json").read_text()) for spec in specs]
    wanted = ("trial_key", "stack", "role", "repeat", "launch_order")
    plan = {
        "format": 1,
        "benchmark": sketches[0]["benchmark"],
        "created_at": sketches[0]["started_at"],
        "host": "testhost",
        "workload_digest": sketches[0]["workload_digest"],
        "planned": [{name: each[name] for name in wanted} for each in sketches],
        "excluded": [],
        "settled": [],
    }
    subprocess.run(["rm", "-r", str(scratch)], check=True)
    runs = [make_run(evidence, **spec, batch=short_digest(plan)) for spec in specs]
    (runs[0].parent / f"plan-{short_digest(plan)}.json").write_bytes(canonical_json(plan) + b"\n")
    (evidence / ".incoming").rmdir()
    return runs


@dataclass(frozen=True)
class EvidenceRepository:
    """A workspace that is a git repository."""

    root: Path

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *IDENTITY, *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str = "more") -> str:
        self.git("add", "--all", "--force", ".")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")


def start(root: Path, stack: str = "slow", count: int = 3) -> EvidenceRepository:
    """A workspace with a benchmark file and `count` timed runs of one stack, committed on `main`; now on `work`."""
    root.mkdir(parents=True, exist_ok=True)
    repository = EvidenceRepository(root)
    (root / "mkdocs.yml").write_text("site_name: test\n")
    write_benchmark(root / "benchmarks")
    make_batch(repository.evidence, timed(stack, count))
    repository.git("init", "--quiet", "--initial-branch", "main")
    repository.commit("start")
    repository.git("checkout", "--quiet", "-b", "work")
    return repository


def timed(stack: str, count: int, step_time: float = 0.1) -> list[dict[str, Any]]:
    """Arguments of `count` timed runs, whose step times differ a little."""
    return [
        {"stack": stack, "repeat": number, "order": 2 * number, "step_time": step_time * (1 + number / 100)}
        for number in range(1, count + 1)
    ]
