"""Starts a server, drives a load against it, and stops it. Standard library alone; the load is drive.py's.

Usage: serve.py TRIAL_JSON. What the server's metrics said before and after, how long it took to start, and that it is
gone at the end, goes to STACKPROOF_OUT/summary.json; its log to server.log there.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import processes

GRACE_S = 30.0
POLL_S = 0.2
MOST_METRICS = 16 * 2**20
"""Bytes of metrics that are kept."""


def main() -> int:
    """One launch; the exit code is 0 when every phase was driven to its end."""
    path = Path(sys.argv[1]).resolve()
    config = json.loads(path.read_text())
    out = Path(os.environ["STACKPROOF_OUT"])
    summary: dict[str, Any] = {}
    processes.adopt_strays()
    if config["server"] is None:
        drive(config, path, out, config["address"], None, summary)
    else:
        served(config, path, out, summary)
    (out / "summary.json").write_text(json.dumps(summary))
    return 0


def served(config: dict[str, Any], path: Path, out: Path, summary: dict[str, Any]) -> None:
    """With a server of our own."""
    wanted = config["server"]
    port = free_port(wanted.get("port"))
    address = f"http://127.0.0.1:{port}"
    log = out / "server.log"
    server = start(wanted, port, path.parent, out, log)
    try:
        summary["startup_s"] = processes.wait_until_healthy(
            server, address + wanted["health"], wanted["startup_limit"], log, "server"
        )
        drive(config, path, out, f"{address}/v1", server, summary)
        summary["peak_memory_bytes"] = peak_memory()
    finally:
        processes.end(server, GRACE_S)
    with socket.socket() as probe:
        summary["stopped"] = probe.connect_ex(("127.0.0.1", port)) != 0
    if not summary["stopped"]:
        sys.exit(f"something still listens on port {port} after the server was stopped")


def free_port(wanted: int | None) -> int:
    """The wanted port, or one that nobody uses now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted or 0))
        except OSError:
            sys.exit(f"port {wanted} is taken: address already in use")
        return int(probe.getsockname()[1])


def start(wanted: dict[str, Any], port: int, here: Path, out: Path, log: Path) -> subprocess.Popen[bytes]:
    """The server's process, in a session of its own."""
    python = os.environ.get("STACKPROOF_PYTHON", sys.executable)
    places = {
        "{port}": str(port),
        "{python}": python,
        "{bin}": str(Path(python).parent),
        "{here}": str(here),
        "{out}": str(out),
        "{workspace}": os.environ["STACKPROOF_WORKSPACE"],
    }
    command = [filled(word, places) for word in wanted["command"]]
    variables = {name: filled(value, places) for name, value in wanted["variables"].items()}
    with log.open("wb") as file:
        try:
            return subprocess.Popen(
                command,
                cwd=out,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        except OSError as error:
            sys.exit(f"the server cannot be started: {error.strerror}: {command[0]}")


def filled(text: str, places: dict[str, str]) -> str:
    """Text with the launch's places in it."""
    for name, value in places.items():
        text = text.replace(name, value)
    return text


def drive(
    config: dict[str, Any],
    path: Path,
    out: Path,
    address: str,
    server: subprocess.Popen[bytes] | None,
    summary: dict[str, Any],
) -> None:
    """Every phase in its turn; the server's metrics before and after."""
    origin = address.removesuffix("/v1")
    keep_metrics(origin, config, out / "metrics_before.prom")
    for index, phase in enumerate(config["phases"]):
        profiled = phase["phase"] == "profiled"
        if profiled:
            post(f"{origin}{config['server']['start_profile']}", out)
        begin = time.monotonic()
        drive_phase(path, address, index, server, out)
        if profiled:
            post(f"{origin}{config['server']['stop_profile']}", out)
        summary.setdefault("phases_s", []).append(round(time.monotonic() - begin, 3))
    keep_metrics(origin, config, out / "metrics_after.prom")


def drive_phase(path: Path, address: str, index: int, server: subprocess.Popen[bytes] | None, out: Path) -> None:
    """One phase by the client; ends this launch when the server or the client dies."""
    python = os.environ.get("STACKPROOF_CLIENT_PYTHON", sys.executable)
    client = subprocess.Popen([python, str(path.parent / "drive.py"), str(path), address, str(index)])
    while client.poll() is None and (server is None or server.poll() is None):
        with suppress(subprocess.TimeoutExpired):
            client.wait(POLL_S)
    if server is not None and server.poll() is not None:
        client.kill()
        client.wait()
        processes.give_up(out / "server.log", f"the server ended with exit code {server.returncode} under load")
    if client.returncode:
        sys.exit(f"the client ended with exit code {client.returncode}")


def keep_metrics(origin: str, config: dict[str, Any], path: Path) -> None:
    """What the server says of itself (Prometheus text), where it says anything."""
    if config["metrics_path"] is None:
        return
    url = origin + config["metrics_path"]
    with suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=10) as answered:  # noqa: S310
        path.write_bytes(answered.read(MOST_METRICS))


def post(url: str, out: Path) -> None:
    """Tell the server to start or stop its profiler."""
    request = urllib.request.Request(url, data=b"", method="POST")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=300) as answered:  # noqa: S310
            answered.read()
    except (OSError, urllib.error.URLError) as error:
        processes.give_up(out / "server.log", f"the profiler does not answer: {error}")


def peak_memory() -> int | None:
    """Bytes of the largest resident sets of the server's processes, added up, as the kernel counted them."""
    total = 0
    for pid in processes.descendants():
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    total += int(line.split()[1]) * 1024
    return total or None


if __name__ == "__main__":
    sys.exit(main())
