"""What the agent tells of itself: one small JSON file, always whole, that any program may read."""

from __future__ import annotations

import enum
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector.environment import boot_id, host_name
from ledger.durable import fsync_path, storage_errors
from ledger.errors import InputError

FORMAT = 1
NAME = "state.json"
COUNTS = ("passes", "batches", "launched", "completed", "failed", "pushes")


class Doing(enum.StrEnum):
    """What the agent does: a closed list."""

    STARTING = "starting"
    FETCHING = "fetching"
    PLANNING = "planning"
    RUNNING = "running"
    PUSHING = "pushing"
    IDLE = "idle"
    AWAY = "remote_away"
    REFUSED = "refused"
    BLOCKED = "blocked"
    STOPPED = "stopped"


def now() -> str:
    """The time as the file writes it: RFC 3339 in UTC, whole seconds."""
    return shown(datetime.now(UTC))


def shown(at: datetime) -> str:
    """A time as the file writes it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class StateFile:
    """The file of the agent that runs. Counts, the last error and the last push outlive a restart."""

    def __init__(self, folder: Path, **about: str) -> None:
        self.path = folder / NAME
        try:
            before = read(folder) or {}
        except InputError:
            before = {}  # damaged: what it told is lost, and is no reason not to start
        kept = {key: before.get(key) for key in ("last_error", "last_push", "main", "rewritten")}
        counts = before.get("counts") if isinstance(before.get("counts"), dict) else {}
        self._data: dict[str, Any] = {
            "format": FORMAT,
            "host": host_name(),
            "pid": os.getpid(),
            "boot_id": boot_id(),
            "started": now(),
            **about,
            "state": Doing.STARTING,
            "since": now(),
            "runs": None,
            "next_due": None,
            "next_look": None,
            "failures": 0,
            "pending": {"branches": [], "files": 0},
            "benchmarks": {},
            **kept,
            "counts": {name: int((counts or {}).get(name, 0)) for name in COUNTS},
        }
        self._write()

    def __getitem__(self, key: str) -> Any:
        """One value."""
        return self._data[key]

    def tell(self, doing: Doing | None = None, **values: Any) -> None:
        """Change values, and what the agent does, and write all of it."""
        if doing is not None and doing != self._data["state"]:
            values |= {"state": doing, "since": now()}
        self._data |= values
        self._write()

    def count(self, **more: int) -> None:
        """Add to counts."""
        self._data["counts"] |= {name: self._data["counts"][name] + add for name, add in more.items()}
        self._write()

    def error(self, what: str) -> None:
        """Note what went wrong last."""
        self.tell(last_error={"at": now(), "what": what})

    def benchmark(self, name: str, state: str, what: str | None = None, due: str | None = None) -> None:
        """What became of a benchmark in this pass."""
        self._data["benchmarks"][name] = {"state": state, "what": what, "next_due": due}
        self._write()

    def _write(self) -> None:
        self._data["at"] = now()
        aside = self.path.with_name(f".{NAME}.{os.getpid()}")
        with storage_errors(self.path):
            with aside.open("w", encoding="utf-8") as file:
                json.dump(self._data, file, indent=1, sort_keys=True)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            aside.replace(self.path)
            fsync_path(self.path.parent)


def read(folder: Path) -> dict[str, Any] | None:
    """What the last agent on this state folder told; None before the first one. Raises InputError."""
    path = folder / NAME
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise InputError(
            f"cannot be read ({said})", where=str(path), todo="start the agent, it writes it anew"
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"is not a state of format {FORMAT}", where=str(path), todo="start the agent of this version")
    return data
