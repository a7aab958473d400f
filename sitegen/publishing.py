"""MkDocs, called from Python: the same build as `mkdocs build`, with our errors and exit codes."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger.errors import InputError, StackproofError
from ledger.workspace import CONFIG, Workspace
from sitegen.pages import write


@dataclass(frozen=True)
class Published:
    """Where the result is, and what a strict build must not publish."""

    place: Path
    warnings: tuple[str, ...]


def pages(workspace: Workspace) -> Published:
    """Write the pages only, for another builder. Raises StackproofError."""
    target = workspace.local / "pages"
    site = write(workspace, target)
    return Published(target, tuple(map(str, site.findings)))


def build(workspace: Workspace, site_dir: Path | None = None) -> Published:
    """Build the site. Raises InputError on a configuration or evidence that cannot be used."""
    from mkdocs.commands.build import build as mkdocs_build  # noqa: PLC0415 (MkDocs is slow to import)

    with _listening() as heard, _our_errors(workspace, heard):
        config = _configuration(workspace, site_dir)
        config.plugins.on_startup(command="build", dirty=False)
        try:
            mkdocs_build(config)
        finally:
            config.plugins.on_shutdown()
    return Published(Path(config.site_dir), tuple(heard.warnings))


def serve(workspace: Workspace, address: str, open_browser: bool) -> None:
    """Serve the site until it is interrupted. Raises InputError when the address cannot be used."""
    from mkdocs.commands.serve import serve as mkdocs_serve  # noqa: PLC0415 (MkDocs is slow to import)

    _check_address(address)
    with _listening() as heard, _our_errors(workspace, heard):
        _configuration(workspace, None)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with _our_errors(workspace, _Heard()):
        os.environ["NO_MKDOCS_2_WARNING"] = "true"
        mkdocs_serve(str(workspace.root / CONFIG), open_in_browser=open_browser, dev_addr=address)


def _configuration(workspace: Workspace, site_dir: Path | None) -> Any:
    from mkdocs.config import load_config  # noqa: PLC0415 (MkDocs is slow to import)

    # Absolute, but links as they are: the hook looks where they lead.
    changes = {"site_dir": str(site_dir.absolute())} if site_dir else {}
    config = load_config(str(workspace.root / CONFIG), **changes)
    _check_hook(config)
    return config


def _check_hook(config: Any) -> None:
    hooks = [method.__code__.co_filename for method in config.plugins.events["config"] if hasattr(method, "__code__")]
    if not any(Path(name).name == "hook.py" and Path(name).parent.name == "sitegen" for name in hooks):
        raise InputError(
            "does not name the hook that writes the pages",
            where=config.config_file_path,
            todo="add `hooks: [stackproof_hook.py]` and that file, as `stackproof init` writes them",
        )


def _check_address(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"{address!r} is not HOST:PORT", where="--address", todo="write it as 127.0.0.1:8000")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {address} ({error})", where="--address", todo="name a free port"
            ) from None


class _Heard(logging.Handler):
    """What MkDocs and its plugins complain about, as lines."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.warnings: list[str] = []
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message."""
        kept = self.errors if record.levelno >= logging.ERROR else self.warnings
        kept.append(" ".join(record.getMessage().split()))


@contextmanager
def _listening() -> Iterator[_Heard]:
    """Keep MkDocs' warnings and errors, and print none."""
    handler = _Heard()
    logger = logging.getLogger("mkdocs")
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


@contextmanager
def _our_errors(workspace: Workspace, heard: _Heard) -> Iterator[None]:
    """Turn what MkDocs raises into our errors; one that our hook raised inside MkDocs comes out as it was."""
    from mkdocs.exceptions import (  # noqa: PLC0415 (MkDocs is slow to import)
        Abort,
        BuildError,
        ConfigurationError,
    )

    try:
        yield
    except (Abort, ConfigurationError, BuildError) as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, StackproofError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, StackproofError):
            raise cause from None
        what = heard.errors[0] if heard.errors else " ".join(str(error).split()) or "MkDocs stopped"
        raise InputError(what, where=str(workspace.root / CONFIG), todo="correct the file") from None
