"""`stackproof serve`: the site with live preview."""

from __future__ import annotations

import click

from ledger import workspace as workspaces
from sitegen import publishing


@click.command(epilog="Example: stackproof serve --address 127.0.0.1:8000")
@click.option("--address", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", help="Where to listen.")
@click.option("--open", "open_browser", is_flag=True, help="Open the site in a browser.")
def command(address: str, open_browser: bool) -> None:
    """Serve this workspace's site and build it again whenever a page, a benchmark file or the evidence changes."""
    publishing.serve(workspaces.find(), address, open_browser)
