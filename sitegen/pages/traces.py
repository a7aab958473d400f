"""The traces on a run's page: the files, what is wrong with them, and a picture of one step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import urlsplit

from ledger import traces
from ledger.catalog.sealed_trace import SealedTrace
from ledger.durable import storage_errors
from ledger.errors import EvidenceError, InputError
from ledger.run_folder import RunFolder
from ledger.traces.breakdown import explain
from ledger.traces.derived import kept
from ledger.traces.integrity import DEFINITIONS
from ledger.workspace import CONFIG, Workspace
from sitegen import charts
from sitegen.charts.lanes import lanes_of
from sitegen.charts.timeline import Timeline, timeline
from sitegen.pages.published import Published
from sitegen.pages.snapshot import Row, Snapshot
from sitegen.templates import FOLDER

VIEWER = "trace_viewer"
"""The option of `extra.stackproof`: the address of a trace viewer that takes files by window message."""
VIEWABLE = (".json", ".json.gz")
"""Endings of what such a viewer reads."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_PICTURE = (*sorted(Path(charts.__file__).parent.glob("*.py")), FOLDER / "charts/timeline.svg.jinja")


@dataclass(frozen=True)
class TraceFile:
    """One trace of the run."""

    file: Published
    events: int | None
    """Events read; None when the file could not be read."""
    usable: bool
    """Whether the trace carries an explanation."""
    findings: tuple[Row, ...]
    """Rows of the catalog's trace_integrity that name something."""

    @property
    def viewable(self) -> bool:
        """Whether a trace viewer can be handed the file."""
        return self.file.bytes is not None and self.file.path.endswith(VIEWABLE)


@dataclass(frozen=True)
class Traces:
    """What the page shows."""

    files: tuple[TraceFile, ...]
    across: tuple[Row, ...]
    """Findings about the ranks together."""
    meanings: tuple[tuple[str, str], ...]
    """The code of each kind of finding on the page, and what it means."""
    picture: Timeline | None
    why_not: str | None
    """Why there is no picture."""


def viewer(workspace: Workspace) -> str | None:
    """The address of the trace viewer that the workspace names, if any. Raises InputError."""
    address = workspace.options.get(VIEWER)
    if address is None:
        return None
    try:
        parts = urlsplit(str(address))
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        usable = safe and parts.hostname and not parts.username and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise InputError(
            f"extra.stackproof.{VIEWER}: {address!r} is not an https address, nor http on this machine",
            where=str(workspace.root / CONFIG),
            todo="write it as https://ui.perfetto.dev",
        )
    return str(address)


def traces_of(folder: RunFolder, files: Iterable[Published], facts: Snapshot, cache: Path) -> Traces | None:
    """The traces of a run; None when it has none. `cache` is the folder of tables of traces."""
    rows = facts.of("trace_integrity", folder.run_id)
    found = tuple(
        _trace_file(file, [row for row in rows if row["file"] == file.path])
        for file in files
        if fnmatch(file.path, traces.PATTERN)
    )
    if not found:
        return None
    across = tuple(row for row in rows if row["file"] is None)
    picture, why_not = None, "no trace of this run carries an explanation"
    first = next((each.file for each in found if each.usable), None)
    if first is not None:
        picture, why_not = _picture(folder.run_id, first, cache), "the trace holds no step with work in it"
    return Traces(found, across, _meanings(rows), picture, None if picture else why_not)


def _meanings(rows: list[Row]) -> tuple[tuple[str, str], ...]:
    found = {row["code"] for row in rows}
    return tuple((code, meaning) for code, meaning in DEFINITIONS.items() if code in found)


def _trace_file(file: Published, rows: list[Row]) -> TraceFile:
    return TraceFile(
        file,
        next((row["events"] for row in rows), None),
        bool(rows) and all(row["usable"] for row in rows),
        tuple(row for row in rows if row["code"]),
    )


def _picture(run_id: str, file: Published, cache: Path) -> Timeline | None:
    """The step of median length of a trace, drawn now or before."""
    sealed = SealedTrace(run_id, file.path, file.sha256 or "", file.source)

    def make() -> dict[str, str] | None:
        try:
            trace = sealed.read(cache).trace()
        except (EvidenceError, InputError):
            return None
        lanes = lanes_of(trace, explain(trace))
        return asdict(timeline(lanes, trace.rank)) if lanes else None

    with storage_errors(cache):
        found = kept(cache / "pictures", [file.path, file.sha256], make, _PICTURE)
    return Timeline(**found) if found else None
