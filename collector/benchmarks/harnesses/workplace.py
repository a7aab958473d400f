"""What the harnesses share: the task that they were given, the file that it names, and its visible check."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


def task() -> dict[str, Any]:
    """The task as the launch tells it: name, prompt, time limit, visible check."""
    return dict(json.loads((Path(os.environ["STACKPROOF_TASK"]) / "task.json").read_text()))


def answer(text: str) -> None:
    """Say what was done; for a task that a command judges, the changes count and not these words."""
    Path(os.environ["STACKPROOF_ANSWER"]).write_text(text)


def named_file(prompt: str) -> Path:
    """The first Python file of the prompt that is there and is no test."""
    for name in re.findall(r"[\w./-]+\.py", prompt):
        if Path(name).is_file() and not Path(name).name.startswith("test_"):
            return Path(name)
    sys.exit("the prompt names no Python file that is there")


def check(command: str, limit_s: float) -> tuple[bool, str]:
    """(whether the visible check passes, what it wrote); one that is still running at the limit does not pass."""
    process = subprocess.Popen(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return False, f"{output}\nthe tests were still running after {limit_s:g} s"
    return process.returncode == 0, output
