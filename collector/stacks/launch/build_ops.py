"""Builds DeepSpeed's extensions ahead of a launch: `python build_ops.py CACHE OPERATOR...`; prints their folder.

Building takes minutes, and DeepSpeed would do it inside a rank while the others wait. The folder is named after all
that the binaries depend on. Who builds holds a kernel lock, which dies with its process; the lock files of PyTorch do
not: a killed build leaves one on which every later launch would wait for ever, so one that no process holds is removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path

OPERATORS = {"cpu_adam": "CPUAdamBuilder", "deepspeed_shm_comm": "ShareMemCommBuilder"}
"""{an extension's name: DeepSpeed's builder of it}."""


def main() -> None:
    """Build what is missing."""
    folder, wanted = Path(sys.argv[1]) / tag(), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "building").open("w") as building:
        fcntl.flock(building, fcntl.LOCK_EX)
        clear_stale_locks(folder)
        missing = [name for name in wanted if not (folder / name / f"{name}.so").is_file()]
        if missing:
            build(folder, missing)
    print(folder)


def tag() -> str:
    """Versions, and the processor's abilities: extensions are compiled for just this one."""
    versions = "-".join(f"{name}{importlib.metadata.version(name)}" for name in ("deepspeed", "torch"))
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return f"{versions}-{python}-{platform.machine()}-{processor()}".replace("+", "_")


def processor() -> str:
    """A short digest of what the processor can do."""
    text = ""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        text = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def clear_stale_locks(folder: Path) -> None:
    """Remove PyTorch's lock files that no living process has open; whoever builds or loads keeps its own open."""
    for lock in folder.glob("*/lock"):
        if not is_open(lock):
            lock.unlink(missing_ok=True)
            print(f"removed {lock}: a build that was killed left it", file=sys.stderr)


def is_open(path: Path) -> bool:
    """Whether some process has the file open, as far as this user may see; where nothing can be seen, it has."""
    with contextlib.suppress(OSError):
        wanted = path.stat()
        for entry in Path("/proc").glob("[0-9]*/fd/*"):
            with contextlib.suppress(OSError):
                found = entry.stat()
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    return True
    return not Path("/proc/self/fd").is_dir()


def build(folder: Path, names: list[str]) -> None:
    """Let DeepSpeed build and load each; its words go to standard error, since our output is the folder's name."""
    os.environ["TORCH_EXTENSIONS_DIR"] = str(folder)
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        from deepspeed.accelerator import get_accelerator  # noqa: PLC0415 (slow, and only a build needs it)

        for name in names:
            print(f"building {name} (some minutes, once) …", file=sys.stderr, flush=True)
            get_accelerator().create_op_builder(OPERATORS[name]).load()
    finally:
        sys.stdout.flush()
        os.dup2(own, 1)


if __name__ == "__main__":
    main()
