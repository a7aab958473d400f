"""Plans as they lie in the evidence: whole by their own digest, and listing the runs that name them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ledger.canonical import canonical_json, short_digest
from ledger.finding import Finding
from ledger.run import Run
from ledger.run_folder import RunFolder

FORMAT = 1

Plans = dict[tuple[str, str], set[tuple[str, int]]]
"""{(benchmark, batch): (trial_key, launch_order) of what it launched}."""


def check_plans(evidence: Path, paths: list[Path]) -> tuple[Plans, list[Finding]]:
    """What the plans at `paths` launched, and what is wrong with them."""
    plans: Plans = {}
    findings: list[Finding] = []
    for path in paths:
        benchmark, batch = path.parents[1].name, path.stem.removeprefix("plan-")
        try:
            data = path.read_bytes()
            content = json.loads(data)
            problem = _problem(content, data, batch, benchmark, path.parent.name)
            plans[benchmark, batch] = {(each["trial_key"], each["launch_order"]) for each in content["planned"]}
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            problem = f"does not hold a plan ({type(error).__name__}: {error})"
        if problem:
            place = path.relative_to(evidence).as_posix()
            findings.append(Finding("plan", place, None, problem, "restore it from git"))
            plans.setdefault((benchmark, batch), set())
    return plans, findings


def _problem(content: Any, data: bytes, batch: str, benchmark: str, date: str) -> str | None:
    if short_digest(content) != batch or data != canonical_json(content) + b"\n":
        return "is not what its name says: it was changed or renamed"
    if content["format"] != FORMAT:
        return f"has format {content['format']!r}, this version reads {FORMAT}"
    if content["benchmark"]["name"] != benchmark or content["created_at"][:10] != date:
        return "lies in the wrong folder: benchmark or date are not those of its path"
    return None


def check_against_runs(plans: Plans, runs: list[tuple[RunFolder, Run]]) -> Iterator[Finding]:
    """Plans that runs name and that are not there, and runs that their plan does not list.

    Without its plan nobody knows what else a batch should have launched.
    """
    without: dict[tuple[str, str], list[RunFolder]] = {}
    for folder, run in runs:
        key = run.benchmark.name, run.batch
        if key not in plans:
            without.setdefault(key, []).append(folder)
        elif plans[key] and (run.trial_key, run.launch_order) not in plans[key]:
            what = f"its plan, plan-{run.batch}.json, does not list it as launch {run.launch_order}"
            yield Finding("plan", folder.name, None, what, "restore both from git")
    for (benchmark, batch), folders in without.items():
        count = f"{len(folders)} run{'' if len(folders) == 1 else 's'} of its batch"
        what = f"is missing, and with it what else was planned; {count} can be seen, {folders[0].run_id} first"
        yield Finding(
            "plan", f"{benchmark}/{folders[0].path.parent.name}", f"plan-{batch}.json", what, "restore it from git"
        )
