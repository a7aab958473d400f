"""One evidence folder with a run of every kind, and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ledger import parquet, status
from ledger.canonical import canonical_json, short_digest
from ledger.run import Reason
from ledger.seal import seal
from stackproof import cli
from tests.factory import make_run

Ask = Callable[..., Result]


@pytest.fixture
def ask() -> Ask:
    """Run `stackproof` with arguments."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), standalone_mode=False)

    return run


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """Two stacks with timed, warm-up and profiled launches; one failed, one retracted, one excluded by its plan."""
    folder = tmp_path / "evidence"
    for repeat in (1, 2, 3):
        make_run(folder, "slow", repeat=repeat, order=2 * repeat - 1, step_time=0.1 + repeat / 1000)
        make_run(folder, "fast", repeat=repeat, order=2 * repeat, step_time=0.05)
    make_run(folder, "slow", role="warmup", step_time=0.2)
    make_run(folder, "slow", repeat=4, failed=Reason.OUT_OF_MEMORY, order=7)
    retracted = make_run(folder, "fast", repeat=4, order=8)
    retract(folder, retracted)
    write_plan(folder)
    return folder


def retract(evidence: Path, run: Path) -> None:
    """Add a record that retracts `run`."""
    record = status.StatusRecord(
        run.name[-16:], status.Kind.RETRACTED, "2026-11-30T13:00:00.000000Z", "a reviewer", "wrong driver"
    )
    status.write(evidence, record)


def write_plan(evidence: Path) -> str:
    """A plan that excludes one trial and still misses another; returns its batch."""
    trial = {"stack": "fast", "role": "profiled"}
    plan = {
        "format": 1,
        "benchmark": {"name": "tiny", "commit": None, "blob": None, "profile": None},
        "created_at": "2026-11-30T11:00:00.000000Z",
        "host": "testhost",
        "workload_digest": "w" * 64,
        "planned": [{**trial, "trial_key": "1" * 16, "repeat": 1, "launch_order": 1}],
        "excluded": [
            {**trial, "trial_key": "2" * 16, "repeat": 2, "reason": "no C++ compiler", "install": "apt install g++"}
        ],
        "settled": [],
    }
    batch = short_digest(plan)
    path = evidence / "tiny/2026-11-30" / f"plan-{batch}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(canonical_json(plan) + b"\n")
    return batch


def reseal(evidence: Path, run: Path, change: Callable[[Path], None]) -> Path:
    """A run folder whose content `change` alters before it is sealed: whole, and whatever `change` made of it."""
    from ledger.run_folder import RunFolder

    prepared = evidence / ".incoming" / f"again-{run.name}"
    prepared.parent.mkdir(exist_ok=True)
    original = RunFolder(run).run
    run.rename(prepared)
    change(prepared)
    return seal(prepared, evidence, original)


def edit_json(name: str, edit: Callable[[dict], None]) -> Callable[[Path], None]:  # type: ignore[type-arg]
    """A change for `reseal`: edit one JSON file's data."""

    def change(folder: Path) -> None:
        data = json.loads((folder / name).read_text())
        edit(data)
        (folder / name).write_text(json.dumps(data))

    return change


def write_telemetry(folder: Path) -> None:
    """A change for `reseal`: one sample without a power sensor."""
    row: dict[str, object] = {"elapsed_ns": 5, "device": "host", "utilisation": 0.5, "memory_bytes": 1000}
    parquet.write(folder / "samples/telemetry.parquet", [row], parquet.TELEMETRY)
