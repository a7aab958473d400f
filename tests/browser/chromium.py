"""A small client for Chromium's DevTools protocol over a pipe: no driver, no port, nothing to install but Chromium."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
WRAPPER = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for number, end in zip((3, 4), ends):
    os.dup2(end, number)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads commands from descriptor 3 and writes answers to 4."""
PATIENCE_S = 30


class Chromium:
    """One browser with one page. Events since the last `open` are kept in `events`."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [program, *FLAGS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRAPPER, str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self.events = b"", 0, []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (found := self._next()).get("id") != number:
            self.events.append(found)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']['message']}")
        return dict(found["result"])

    def open(
        self, address: str, width: int = 1440, height: int = 900, *, scripts: bool = True, dark: bool = False
    ) -> None:
        """Load a page at a size and wait until it has loaded."""
        self.events.clear()
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media="", features=scheme)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)
        self.wait(lambda: self.of("Page.loadEventFired"))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        self.wait(lambda: self.evaluate(f"Boolean({expression})"))

    def wait(self, done: Callable[[], Any]) -> None:
        """Wait until `done`; TimeoutError after PATIENCE_S."""
        end = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > end:
                raise TimeoutError("the page did not get there")
            self.call("Browser.getVersion")
            time.sleep(0.05)

    def of(self, method: str) -> list[dict[str, Any]]:
        """The parameters of each event of one kind."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def click(self, x: float, y: float) -> None:
        """Move the mouse to a place on the screen and click there."""
        for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
            more = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, buttons=buttons, **more)
            time.sleep(0.1)

    def print_media(self) -> None:
        """Show the page as it prints."""
        self.call("Emulation.setEmulatedMedia", media="print", features=[])

    def screenshot(self, path: Path, width: int, height: int) -> None:
        """The top of the page as PNG."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """End the browser."""
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(timeout=PATIENCE_S)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], PATIENCE_S)
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("Chromium does not answer")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(line))
