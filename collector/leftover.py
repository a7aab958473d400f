"""What a benchmark's folder holds that git does not: whole runs and plans, and things that are neither."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collector import commit
from ledger import git, run_folder, verify
from ledger.plan_file import check_plans
from ledger.run_folder import RunFolder


@dataclass(frozen=True)
class Leftover:
    """Paths to commit, and a line for each that is left out."""

    runs: tuple[Path, ...]
    plans: tuple[Path, ...]
    left_out: tuple[str, ...]

    @property
    def paths(self) -> list[Path]:
        """All that is to be committed."""
        return [*self.runs, *self.plans]

    @property
    def title(self) -> str:
        """What is added, in words."""
        kind, count = ("trial", len(self.runs)) if self.runs else ("plan", len(self.plans))
        return f"{count} {kind}{'' if count == 1 else 's'}"


def find(repository: git.Repository, evidence: Path, benchmark: str) -> Leftover:
    """What HEAD lacks of a benchmark's evidence. Only what verifies is evidence."""
    below = evidence / benchmark
    if not below.is_dir():
        return Leftover((), (), ())
    folders = [each.path for each in run_folder.scan(evidence) if each.path.parts[-3] == benchmark]
    plans = [path for path in sorted(below.glob("*/plan-*.json")) if not path.parent.is_symlink()]
    new = set(commit.uncommitted(repository, [*folders, *plans]))
    found = {path: _run_problem(path) for path in folders if path in new}
    found |= {path: _plan_problem(evidence, path) for path in plans if path in new}
    return Leftover(
        tuple(path for path in folders if path in new and found[path] is None),
        tuple(path for path in plans if path in new and found[path] is None),
        tuple(
            f"{path.relative_to(evidence)} is not committed: {why}; run `stackproof verify`"
            for path, why in found.items()
            if why is not None
        ),
    )


def _run_problem(path: Path) -> str | None:
    findings = verify.verify_run(RunFolder(path))
    return f"{findings[0].file or path.name} {findings[0].what}" if findings else None


def _plan_problem(evidence: Path, path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return "it is not a plain file"
    findings = check_plans(evidence, [path])[1]
    return f"it {findings[0].what}" if findings else None
