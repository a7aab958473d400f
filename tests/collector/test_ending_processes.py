"""A process has ended when all its threads have: until then its files and ports are open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from collector import supervisor
from collector.stacks.launch import processes

HEADLESS = """
import ctypes, socket, threading, time
port = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=time.sleep, args=(60,)).start()
print(port.getsockname()[1], flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""
ASKS = """
import os, pathlib, socket, subprocess, sys, time
sys.path.insert(0, {folder!r})
import {module} as asked
child = subprocess.Popen([sys.executable, "-c", {headless!r}], stdout=subprocess.PIPE, start_new_session=True)
port = int(child.stdout.readline())
while pathlib.Path(f"/proc/{{child.pid}}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
    time.sleep(0.01)
assert {found} == {{child.pid}}
{end}
assert {found} == set()
assert socket.socket().connect_ex(("127.0.0.1", port)) != 0
"""


@pytest.mark.parametrize(
    ("module", "found", "end"),
    [
        (processes, "asked.descendants()", "asked.end(child, 5)"),
        (supervisor, "asked._descendants(os.getpid())", "asked._end_all()"),
    ],
)
def test_a_process_without_its_first_thread_lives(module: ModuleType, found: str, end: str) -> None:
    path = Path(str(module.__file__))
    script = ASKS.format(folder=str(path.parent), module=path.stem, headless=HEADLESS, found=found, end=end)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
