"""The button that hands a trace to a viewer by window message, with a page of our own as the viewer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.browser.test_site_from_disk import problems
from tests.sitegen.pages import made
from tests.sitegen.pages.test_traces import options

pytestmark = pytest.mark.browser

VIEWER = b"""<!doctype html><title>viewer</title><script>
  let pings = 0
  addEventListener("message", async ({ data, source, origin }) => {
    if (data === "PING" && ++pings > 1) source.postMessage("PONG", "*")
    if (!data.perfetto) return
    const { buffer, title, fileName } = data.perfetto
    await fetch("/got?" + new URLSearchParams({ title, fileName, origin }), { method: "POST", body: buffer })
  })
</script>"""


class Viewer(BaseHTTPRequestHandler):
    """Answers PING with PONG, the second time, and reports to /got what it was handed."""

    got: list[tuple[str, bytes]]

    def do_GET(self) -> None:
        self._answer(VIEWER)

    def do_POST(self) -> None:
        self.got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(handler: Any) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def viewer() -> Iterator[str]:
    Viewer.got = []
    with served(Viewer) as address:
        yield address


@pytest.fixture
def built(tmp_path: Path, viewer: str) -> Path:
    """A site that names the viewer, with one profiled run."""
    root = made.empty_workspace(tmp_path / "workspace")
    options(root, f"{viewer}/ui")
    made.profiled(root / "evidence", root, "slow", 1, 1, 80, 20)
    done = made.stackproof(root, "build", "--strict")
    assert done.returncode == 0, done.stderr
    return root / "site"


def run_page(site: Path) -> str:
    (page,) = site.glob("runs/*/index.html")
    return page.relative_to(site).as_posix()


def press(browser: Chromium) -> None:
    browser.wait_for("document.querySelector('.sp-viewer:not([hidden]) button')")
    x, y = browser.evaluate(
        "(() => { const button = document.querySelector('.sp-viewer button'); button.scrollIntoView({block: 'center'});"
        " const box = button.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] })()"
    )
    browser.click(x, y)


def test_a_click_hands_the_bytes_of_the_trace_over(browser: Chromium, built: Path) -> None:
    page = run_page(built)
    with served(partial(Files, directory=str(built))) as address:
        browser.open(f"{address}/{page}")
        asked = [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]
        assert asked
        assert all(each.startswith(address) for each in asked), "nothing is asked of the viewer before the click"
        assert Viewer.got == []
        press(browser)
        browser.wait(lambda: Viewer.got)
        browser.wait_for("document.querySelector('.sp-viewer [role=status]').textContent === 'Handed over.'")
    ((path, body),) = Viewer.got
    assert body == (built / page).with_name("files").joinpath("traces/rank-0.json.gz").read_bytes()
    assert "fileName=rank-0.json.gz" in path
    assert "title=slow%2C+profiled+launch+1" in path


def test_from_disk_the_page_offers_the_download(browser: Chromium, built: Path) -> None:
    browser.open((built / run_page(built)).as_uri())
    press(browser)
    status = "document.querySelector('.sp-viewer [role=status]')"
    browser.wait_for(f"{status}.textContent.includes('opened from disk')")
    assert browser.evaluate(f"{status}.querySelector('a').getAttribute('href')") == "files/traces/rank-0.json.gz"
    assert problems(browser) == []
    assert Viewer.got == []


def test_a_trace_that_cannot_be_fetched_is_said_so(browser: Chromium, built: Path) -> None:
    (built / run_page(built)).with_name("files").joinpath("traces/rank-0.json.gz").unlink()
    with served(partial(Files, directory=str(built))) as address:
        browser.open(f"{address}/{run_page(built)}")
        press(browser)
        browser.wait_for("document.querySelector('.sp-viewer [role=status]').textContent.includes('404')")
    assert Viewer.got == []


def test_without_scripts_or_configuration_there_is_no_button(browser: Chromium, built: Path, site: Path) -> None:
    browser.open((built / run_page(built)).as_uri(), scripts=False)
    assert browser.evaluate("document.querySelector('.sp-viewer button').checkVisibility()") is False
    pages = [page for page in site.glob("runs/*/index.html") if 'id="traces"' in page.read_text()]
    assert len(pages) == 6
    for page in pages:
        assert "sp-viewer" not in page.read_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_timeline_stays_inside_the_page(browser: Chromium, built: Path, width: int) -> None:
    browser.open((built / run_page(built)).as_uri(), width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.querySelectorAll('#timeline path > title').length") > 0
    height = browser.evaluate("document.querySelector('#timeline path.sp-lane-gemm').getBoundingClientRect().height")
    assert height > 8
