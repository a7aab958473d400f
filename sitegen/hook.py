"""The MkDocs hook: `mkdocs build` and `mkdocs serve` write the pages first, then build them as they would any others.

A workspace's mkdocs.yml names this file, or a file of its own that imports these functions. Everything that the pages
need (style sheets, scripts, the search shim for file://) comes from the installed package.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority

from ledger import workspace as workspaces
from ledger.errors import StackproofError
from sitegen import site_folder
from sitegen.pages import ASSETS_PATH, write

PAGES = "pages"
"""Below the workspace's local folder: what can be made again."""

_HAND_WRITTEN = "stackproof_docs_dir"
_log = logging.getLogger("mkdocs.hooks.stackproof")


@event_priority(100)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write the pages of the workspace that holds mkdocs.yml, and build from those."""
    workspace = workspaces.find(Path(config.config_file_path).parent)
    target = workspace.local / PAGES
    docs = Path(config.extra.setdefault(_HAND_WRITTEN, config.docs_dir))
    try:
        site_folder.check(workspace, docs, Path(config.site_dir))  # MkDocs empties it after this
        site = write(workspace, target, docs, config.site_name)
        site_folder.mark(Path(config.site_dir))  # now, so that a build which is broken off can be done again
    except StackproofError as error:
        raise PluginError(error.diagnostics()) from error
    for finding in site.findings:
        _log.warning("%s", finding)
    config.docs_dir = str(target)
    if config.nav is None:
        config.nav = site.navigation
    config.site_url = config.site_url or _pages_address()
    _dress(config)
    return config


def on_serve(server: Any, config: MkDocsConfig, builder: Any) -> Any:  # noqa: ARG001 (MkDocs names it)
    """Watch what people write (pages, benchmark files, evidence), not what is made from it."""
    workspace = workspaces.find(Path(config.config_file_path).parent)
    server.unwatch(config.docs_dir)
    for folder in (Path(config.extra[_HAND_WRITTEN]), workspace.benchmarks, workspace.evidence):
        if folder.is_dir():
            server.watch(str(folder))
    return server


def _pages_address() -> str:
    """Where GitHub Pages publishes what a GitHub workflow builds; else nothing.

    A page for unknown addresses (404.html) cannot know how deep it is asked for, so its links need the site's address.
    """
    owner, _, name = os.environ.get("GITHUB_REPOSITORY", "").partition("/")
    here = os.environ.get("GITHUB_ACTIONS") == "true" and os.environ.get("GITHUB_SERVER_URL") == "https://github.com"
    if not (here and owner and name):
        return ""
    top = f"https://{owner.lower()}.github.io/"
    return top if f"https://{name.lower()}/" == top else f"{top}{name}/"


def _dress(config: MkDocsConfig) -> None:
    """Add the site's own style and scripts, and what makes a build work from disk."""
    config.use_directory_urls = False
    for item in (f"{ASSETS_PATH}/stackproof.css",):
        if item not in config.extra_css:
            config.extra_css.append(item)
    for item in (f"{ASSETS_PATH}/figures.js", f"{ASSETS_PATH}/tables.js"):
        if item not in config.extra_javascript:
            config.extra_javascript.append(item)
    shim = f"{ASSETS_PATH}/iframe-worker.js"
    others = [item for item in config.extra.get("polyfills", []) if "iframe-worker" not in item]
    config.extra["polyfills"] = [*others, shim]
