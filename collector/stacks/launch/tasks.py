"""Gives each task of a suite to a harness and keeps what came of it. Standard library alone.

Usage: tasks.py TRIAL_JSON. Every attempt gets a fresh copy of the task's files to work in, and a time limit for the
harness and all that it starts. A task that is judged by a command gets its hidden files laid over a copy of the work
after the harness has ended. One JSON line an attempt goes to STACKPROOF_OUT/requests.jsonl as soon as it is known.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import processes

MOST_TEXT = 100_000
"""Characters of an answer, or of a patch, that are kept."""
TAIL = 2_000
"""Characters of a check's output that are kept."""
GRACE_S, SERVICE_GRACE_S = 2.0, 10.0
"""Seconds that a harness, and a service, have to end by themselves."""


def main() -> int:
    """Run the whole suite; the exit code is 0 when every task was attempted, whatever came of it."""
    config = json.loads(Path(sys.argv[1]).read_text())
    out = Path(os.environ["STACKPROOF_OUT"])
    workspace = Path(os.environ["STACKPROOF_WORKSPACE"])
    suite = workspace / config["suite"]
    if config.get("model"):
        config["variables"]["STACKPROOF_MODEL"] = str(workspace / config["model"])
    processes.adopt_strays()
    started = time.monotonic()
    with service(config, out) as address, (out / "requests.jsonl").open("w") as log:
        startup = time.monotonic() - started
        begin = time.monotonic_ns()
        for attempt in range(1, config["attempts"] + 1):
            for index, task in enumerate(config["tasks"]):
                row = one(config, suite, task, attempt, address, begin)
                row["request"] = index + (attempt - 1) * len(config["tasks"])
                log.write(json.dumps(row) + "\n")
                log.flush()
    summary = {"startup_s": startup} if config["service"] else {}
    (out / "summary.json").write_text(json.dumps(summary))
    return 0


def one(
    config: dict[str, Any], suite: Path, task: dict[str, Any], attempt: int, address: str | None, begin: int
) -> dict[str, Any]:
    """One attempt at one task, as a row of requests.jsonl."""
    with tempfile.TemporaryDirectory(prefix="task-") as scratch:
        place = prepare(Path(scratch), suite, task)
        row: dict[str, Any] = {"item": task["name"], "attempt": attempt, "phase": "measured"}
        if error := run_setup(task, place["work"]):
            return {**row, "error": error, "accepted": None}
        row["sent_ns"] = time.monotonic_ns() - begin
        ended = harness(config, task, place, address)
        row["ended_ns"] = time.monotonic_ns() - begin
        row |= usage(place["usage"])
        row["text"] = answer(task, place)
        if ended is not None:
            return {**row, "error": ended, "accepted": False, "why": ended}
        if task["check"]["kind"] == "command":
            row["accepted"], row["why"] = judge(task, suite, place)
        return row


def prepare(scratch: Path, suite: Path, task: dict[str, Any]) -> dict[str, Path]:
    """A place to work with the task's files, and beside it what the harness is told."""
    work, told = scratch / "work", scratch / "task"
    if "base" in task:
        shutil.copytree(suite / task["base"], work, symlinks=True)
    files = suite / task["name"] / "files"
    if files.is_dir():
        shutil.copytree(files, work, symlinks=True, dirs_exist_ok=True)
    work.mkdir(exist_ok=True)
    told.mkdir()
    (told / "prompt.txt").write_text(task["prompt"])
    shown = {name: task[name] for name in ("name", "prompt", "time_limit", "visible_check") if name in task}
    (told / "task.json").write_text(json.dumps(shown, indent=1))
    before = scratch / "before"
    shutil.copytree(work, before, symlinks=True)
    return {"scratch": scratch, "work": work, "told": told, "before": before, "answer": told / "answer.txt",
            "usage": told / "usage.json", "stdout": scratch / "stdout", "stderr": scratch / "stderr"}  # fmt: skip


def run_setup(task: dict[str, Any], work: Path) -> str | None:
    """Run the task's setup, unmeasured; what went wrong, or None."""
    if not task.get("setup"):
        return None
    code, output = shell(task["setup"], work, clean_environment(), task["setup_limit"])
    if code == 0:
        return None
    return f"setup failed: {last_line(output) or f'exit code {code}'}"


def harness(config: dict[str, Any], task: dict[str, Any], place: dict[str, Path], address: str | None) -> str | None:
    """Let the harness work; why its attempt failed, or None."""
    here = Path(sys.argv[1]).resolve().parent / "files"
    environment = {
        **clean_environment(),
        **config["variables"],
        "STACKPROOF_TASK": str(place["told"]),
        "STACKPROOF_WORK": str(place["work"]),
        "STACKPROOF_ANSWER": str(place["answer"]),
        "STACKPROOF_USAGE": str(place["usage"]),
        "STACKPROOF_HARNESS": str(here),
        "STACKPROOF_TIME_LIMIT": str(task["time_limit"]),
    }
    if address:
        environment |= {"STACKPROOF_SERVICE": address, "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none"}
    code, output = shell(config["harness"], place["work"], environment, task["time_limit"], place["stdout"])
    print(f"--- {task['name']}", flush=True)
    sys.stderr.write(output[-TAIL:])
    if code is None:
        return f"the harness was still at work after {task['time_limit']:g} s"
    return None if code == 0 else f"the harness failed: {last_line(output) or f'exit code {code}'}"


def answer(task: dict[str, Any], place: dict[str, Path]) -> str:
    """What the harness answered: its answer file, else its output; for a task judged by a command, its changes."""
    if task["check"]["kind"] == "command":
        return patch(place["before"], place["work"])
    for path in (place["answer"], place["stdout"]):
        if path.is_file():
            return path.read_text(errors="replace")[:MOST_TEXT]
    return ""


def patch(before: Path, after: Path) -> str:
    """The difference between two folders, as `diff -ruN` writes it, with relative names."""
    command = [
        "diff",
        "-ruN",
        "--exclude=__pycache__",
        "--exclude=.git",
        before.name,
        str(after.relative_to(before.parent)),
    ]
    done = subprocess.run(command, cwd=before.parent, capture_output=True, check=False)
    return done.stdout.decode(errors="replace")[:MOST_TEXT]


def judge(task: dict[str, Any], suite: Path, place: dict[str, Path]) -> tuple[bool, str | None]:
    """Run the task's check in a copy of the work with the hidden files laid over it."""
    copy = place["scratch"] / "judged"
    shutil.copytree(place["work"], copy, symlinks=True)
    hidden = suite / task["name"] / "hidden"
    if hidden.is_dir():
        lay_over(hidden, copy)
    code, output = shell(task["check"]["command"], copy, clean_environment(), task["check"]["time_limit"])
    if code == 0:
        return True, None
    if code is None:
        return False, f"the check was still running after {task['check']['time_limit']:g} s"
    return False, f"the check failed (exit code {code}): {output[-TAIL:].strip()}"


def lay_over(hidden: Path, copy: Path) -> None:
    """Put the hidden files in place of whatever stands there: a link that leads out is replaced, not followed."""
    for source in sorted(path for path in hidden.rglob("*") if path.is_file()):
        target = copy / source.relative_to(hidden)
        for parent in reversed(target.relative_to(copy).parents[:-1]):
            if (copy / parent).is_symlink() or (copy / parent).is_file():
                (copy / parent).unlink()
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        elif target.is_dir():
            shutil.rmtree(target)
        shutil.copyfile(source, target)


def usage(path: Path) -> dict[str, int]:
    """What the harness says that it used: whole numbers of tokens and turns."""
    try:
        found = json.loads(path.read_text())
        names = ("input_tokens", "cached_tokens", "output_tokens")
        return {name: found[name] for name in names if type(found.get(name)) is int and found[name] >= 0}
    except (OSError, ValueError, AttributeError):
        return {}


def clean_environment() -> dict[str, str]:
    """The launch's own environment, without the places that only the launch itself knows."""
    return {name: value for name, value in os.environ.items() if name not in {"STACKPROOF_OUT", "STACKPROOF_WORKSPACE"}}


def shell(
    command: str, folder: Path, environment: dict[str, str], limit_s: float, stdout: Path | None = None
) -> tuple[int | None, str]:
    """Run a line of shell in a session of its own; (exit code, or None at the limit; what it wrote).

    What it wrote is stderr and stdout, or stderr alone where `stdout` names a file. Nothing that it started is left.
    """
    log = folder.parent / "log"
    with log.open("wb") as file, (stdout or Path(os.devnull)).open("wb") as apart:
        process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=apart if stdout else file,
            stderr=file,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        processes.end(process, GRACE_S, SERVICE)
    return code, log.read_text(errors="replace")


SERVICE: set[int] = set()
"""Processes of the service, which stay while harnesses come and go."""


@contextmanager
def service(config: dict[str, Any], out: Path) -> Iterator[str | None]:
    """The service that harnesses talk to, where there is one: started once, waited for, and ended."""
    wanted = config["service"]
    if not wanted:
        yield None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    environment = {**clean_environment(), **config["variables"], "STACKPROOF_PORT": str(port)}
    with (out / "service.log").open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {wanted['command']}"],
            cwd=Path(sys.argv[1]).resolve().parent / "files",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    SERVICE.add(process.pid)
    try:
        url, log_path = f"{address}{wanted['health']}", out / "service.log"
        processes.wait_until_healthy(process, url, wanted["startup_limit"], log_path, "service")
        yield address
    finally:
        SERVICE.clear()
        processes.end(process, SERVICE_GRACE_S)


def last_line(text: str) -> str:
    """The last line that says something."""
    return next((line.strip()[:300] for line in reversed(text.splitlines()) if line.strip()), "")


if __name__ == "__main__":
    sys.exit(main())
