"""Whether run.json is consistent: with the folder's path, with the manifest, and in itself."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ledger.errors import EvidenceError
from ledger.run import Role, Run
from ledger.run_folder import RunFolder

_SHORT = r"[0-9a-f]{16}"
_LONG = r"[0-9a-f]{64}"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
_OBJECT = r"[0-9a-f]{40}|[0-9a-f]{64}"
_PATTERNS = {
    "trial_key": _SHORT,
    "batch": _SHORT,
    "workload_digest": _LONG,
    "environment_digest": _LONG,
    "started_at": _TIME,
    "ended_at": _TIME,
    "stack": r"[a-z0-9][a-z0-9-]*",
    "adapter": r".+",
    "host": r".+",
}
_COUNTS = ("repeat", "attempt", "launch_order")


def run_problems(folder: RunFolder, run: Run, digests: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(code, what) of each problem; `identity` where the path says something else than run.json."""
    in_path = {
        "benchmark": (folder.path.parents[1].name, run.benchmark.name),
        "date": (folder.path.parent.name, run.date),
        "stack": (folder.path.name[:-17], run.stack),
    }
    for word, (path, inside) in in_path.items():
        if path != inside:
            yield "identity", f"says the {word} is {inside}, the folder's path says {path}: the folder was renamed"
    yield from (("run", problem) for problem in _shape_problems(run))
    for name in run.redactions:
        if name not in digests:
            yield "run", f"lists {name!r} as redacted, which was not sealed"
    yield from (("run", problem) for problem in _blob_problems(folder, run))


def _shape_problems(run: Run) -> Iterator[str]:
    data: dict[str, Any] = asdict(run)
    for name, pattern in _PATTERNS.items():
        if not isinstance(data[name], str) or not re.fullmatch(pattern, data[name]):
            yield f"{name} is malformed: {data[name]!r}"
    for name in _COUNTS:
        if isinstance(data[name], bool) or not isinstance(data[name], int) or data[name] < 1:
            yield f"{name} must be a count from 1, got {data[name]!r}"
    if not isinstance(run.duplicate_of_attempt, bool) or not isinstance(run.accepted, bool | None):
        yield "duplicate_of_attempt and accepted must be true or false"
    if (run.arm is not None) is not (run.role is Role.INTERVENTION):
        yield "arm must say which launch of an intervention it is, and stands in no run of another role"
    elif run.arm and not (isinstance(run.arm.intervention, str) and isinstance(run.arm.changed, bool)):
        yield f"arm is malformed: {data['arm']!r}"
    yield from _tuning_problems(run)
    if not isinstance(run.settings, dict) or not isinstance(run.absent, dict) or not all(run.absent.values()):
        yield "settings and absent must be mappings, and what is absent has its reason"
    for name, value in (("commit", run.benchmark.commit), ("blob", run.benchmark.blob)):
        if value is not None and not re.fullmatch(_OBJECT, str(value)):
            yield f"benchmark.{name} is no git object: {value!r}"


def _tuning_problems(run: Run) -> Iterator[str]:
    step, tuned = run.search, run.tuned
    if (step is not None) is not (run.role is Role.SEARCH):
        yield "search must say what chose the settings of a search trial, and stands in no run of another role"
    elif step and not (
        all(isinstance(text, str) for text in (step.method, step.space, step.chosen_by, *step.after))
        and isinstance(step.number, int)
        and isinstance(step.parameters, dict)
    ):
        yield f"search is malformed: {asdict(step)!r}"
    if run.role is Role.TRANSFER and tuned is None:
        yield "tuned must say whose settings a transfer trial has"
    if tuned and not (isinstance(tuned.stack, str) and re.fullmatch(_PATTERNS["trial_key"], str(tuned.run_id))):
        yield f"tuned is malformed: {asdict(tuned)!r}"


def _blob_problems(folder: RunFolder, run: Run) -> Iterator[str]:
    """benchmark.yaml beside it is the file that git names by benchmark.blob."""
    blob = run.benchmark.blob
    if blob is None or not (folder.path / "benchmark.yaml").is_file():
        return
    try:
        data = folder.bytes("benchmark.yaml")
    except EvidenceError:
        return
    if git_blob_id(data, len(blob)) != blob:
        yield f"benchmark.blob is {blob}, which is not the sealed benchmark.yaml"


def git_blob_id(data: bytes, hex_digits: int = 40) -> str:
    """git's name for a file of these bytes, with sha1 (40 hex digits) or sha256 (64)."""
    algorithm = hashlib.sha1(usedforsecurity=False) if hex_digits == 40 else hashlib.sha256()
    algorithm.update(b"blob %d\0" % len(data))
    algorithm.update(data)
    return algorithm.hexdigest()
