"""A collector that is killed at any system call of sealing leaves a whole run or none, and the next one goes on."""

import signal
from pathlib import Path

import pytest

from tests.faults import harness

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("name", harness.CALLS)
def test_killed_at_every_call(name: str, template: Path, calls: harness.Calls, tmp_path: Path) -> None:
    for number in calls.numbers(name):
        folder = tmp_path / str(number)
        bench = harness.prepare(folder, template)
        done = harness.inject(bench, f"{name}:signal=KILL:when={number}", folder / "trace.log")
        assert done.returncode in {-signal.SIGKILL, 128 + signal.SIGKILL}, f"{name} {number}: not killed\n{done.stderr}"
        if not bench.visible():
            again = harness.run(bench.command)
            assert again.returncode == 0, f"after a kill at {name} {number}: {again.stderr}"
        assert len(bench.visible()) == 1, f"after a kill at {name} {number}"


def test_the_kills_cover_what_changes_the_disk(calls: harness.Calls) -> None:
    renames = calls.during["rename"] + calls.during["renameat"] + calls.during["renameat2"]
    folders = calls.during["mkdir"] + calls.during["mkdirat"]
    assert renames == 1, "sealing is one rename"
    assert folders >= 2, "the benchmark's and the date's folder"
    assert calls.during["write"] >= 1, "the manifest"
    assert calls.during["fsync"] >= 12, "each file, each folder, the manifest, the parent"
