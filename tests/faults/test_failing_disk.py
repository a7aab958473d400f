"""A disk that fails, fills up or is read-only: one clear line, exit 2, nothing partial in sight."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.collector import conftest as scripted
from tests.faults import collect_once, harness

pytestmark = pytest.mark.faults

REFUSALS = [
    ("fsync", "EIO", "Input/output error"),
    ("write", "ENOSPC", "No space left on device"),
    ("mkdir", "ENOSPC", "No space left on device"),
    ("rename", "EIO", "Input/output error"),
    ("rename", "EROFS", "Read-only file system"),
    ("openat", "EACCES", "Permission denied"),
]


@pytest.mark.parametrize(("name", "code", "words"), REFUSALS)
def test_each_refused_call(
    name: str, code: str, words: str, template: Path, calls: harness.Calls, tmp_path: Path
) -> None:
    assert calls.numbers(name), f"sealing makes no {name} call"
    refused = 0
    for number in calls.numbers(name):
        folder = tmp_path / str(number)
        bench = harness.prepare(folder, template)
        done = harness.inject(bench, f"{name}:error={code}:when={number}", folder / "trace.log")
        said = one_clear_line(done, words)
        needless = done.returncode == 0 and bench.visible()  # such as mkdir of a folder that is there
        assert said or needless, f"{name} {number}: exit {done.returncode}\n{done.stderr}"
        refused += said
        if not bench.visible():
            assert harness.run(bench.command).returncode == 0
        assert len(bench.visible()) == 1
    assert refused


def test_a_full_disk_then_room_again(template: Path, tmp_path: Path) -> None:
    bench = mounted(tmp_path, template)
    done = in_mount_namespace(
        bench,
        f'dd if=/dev/zero of="{tmp_path}/small/filler" bs=1k 2>/dev/null || true',
        'seal 2> "$out/error"; echo "$?" > "$out/code"',
        'cp -r "$evidence" "$out/after-failure"',
        f'rm "{tmp_path}/small/filler"',
        "seal",
        'cp -r "$evidence" "$out/after-success"',
    )
    assert done.returncode == 0, done.stderr
    check_refusal(tmp_path, "No space left on device")
    assert len(harness.Bench(tmp_path / "after-success", bench.prepared).visible()) == 1


def test_a_read_only_disk(template: Path, tmp_path: Path) -> None:
    bench = mounted(tmp_path, template)
    done = in_mount_namespace(
        bench,
        f'mount -o remount,ro "{tmp_path}/small"',
        'seal 2> "$out/error"; echo "$?" > "$out/code"',
        'cp -r "$evidence" "$out/after-failure"',
    )
    assert done.returncode == 0, done.stderr
    check_refusal(tmp_path, "Read-only file system")


def test_a_dry_run_needs_no_disk_that_can_be_written(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    scripted.write(root, slow={})
    (root / "evidence/tiny").mkdir()
    line = f'mount --bind "{root}" "{root}"; mount -o remount,bind,ro "{root}"; cd "{root}"; '
    line += f'"{sys.executable}" "{collect_once.__file__}" tiny '
    done = harness.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc", line + "--dry-run"])
    assert (done.returncode, "5 to launch" in done.stdout) == (0, True), done.stderr
    done = harness.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-euc", line + "--no-commit"])
    assert (done.returncode, is_one_error(done.stderr, "evidence: cannot be read and written")) == (2, True)


def one_clear_line(done: subprocess.CompletedProcess[str], words: str) -> bool:
    return done.returncode == 2 and is_one_error(done.stderr, words)


def is_one_error(text: str, words: str) -> bool:
    lines = text.splitlines()
    return len(lines) == 1 and lines[0].startswith("error: ") and words in lines[0] and "; " in lines[0]


def check_refusal(folder: Path, words: str) -> None:
    error = (folder / "error").read_text()
    assert (folder / "code").read_text() == "2\n"
    assert is_one_error(error, words), error
    assert harness.Bench(folder / "after-failure", folder).visible() == []


def mounted(folder: Path, template: Path) -> harness.Bench:
    """A bench to be copied onto a 1 MiB file system at `small`."""
    (folder / "small").mkdir()
    harness.prepare(folder / "source", template)
    evidence = folder / "small/evidence"
    return harness.Bench(evidence, evidence / ".incoming/trial/run")


def in_mount_namespace(bench: harness.Bench, *lines: str) -> subprocess.CompletedProcess[str]:
    """Run shell lines where `small` is a tmpfs of 1 MiB that holds the bench; the mount ends with the shell."""
    small = bench.evidence.parent
    seal = " ".join(f'"{word}"' for word in bench.command)
    script = [
        "set -eu",
        f'out="{small.parent}"; evidence="{bench.evidence}"',
        f'mount -t tmpfs -o size=1m tmpfs "{small}"',
        f'cp -r "{small.parent}/source/evidence" "{small}"',
        f"seal() {{ if {seal}; then return 0; else return $?; fi; }}",
        *(line if "; echo" not in line else f"set +e; {line}; set -e" for line in lines),
    ]
    return harness.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", "\n".join(script)])
