"""What is said about a run after it was sealed: one record a file beside the evidence, added only.

`status/<run_id>/<utc>-<digest>.json` holds the canonical JSON of one record and a line end; the digest is that of the
record, so that a name, too, gives a changed record away.
"""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ledger import manifest
from ledger.canonical import SHORT, canonical_json, short_digest
from ledger.durable import INCOMING, fsync_path, storage_errors, write_new
from ledger.errors import EvidenceError

FORMAT = 1
FOLDER = "status"

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_RUN_ID = re.compile(rf"[0-9a-f]{{{SHORT}}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_KEYS = {"format", "run_id", "kind", "at", "who", "why"}


class Kind(enum.StrEnum):
    """What a record says: a closed list."""

    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    REDACTED = "redacted"
    EXCLUDED = "excluded"


SETS_ASIDE = frozenset({Kind.SUPERSEDED, Kind.RETRACTED, Kind.EXCLUDED})
"""Kinds after which a run no longer counts."""


@dataclass(frozen=True)
class StatusRecord:
    """One record. `at` is RFC 3339 in UTC with microseconds."""

    run_id: str
    kind: Kind
    at: str
    who: str
    why: str
    by: str | None = None
    """superseded: the id of the run that takes its place."""
    paths: tuple[tuple[str, str], ...] = ()
    """redacted: (path, sha256) of the files that may be absent."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data; keys that do not apply are left out."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "run_id": self.run_id,
            "kind": self.kind.value,
            "at": self.at,
            "who": self.who,
            "why": self.why,
        }
        if self.by is not None:
            data["by"] = self.by
        return {**data, "paths": dict(self.paths)} if self.paths else data

    @property
    def file_name(self) -> str:
        """`<utc>-<digest>.json`."""
        utc = self.at.replace("-", "").replace(":", "")
        return f"{utc}-{short_digest(self.to_json())}.json"


def now() -> str:
    """The time of a record that is written now."""
    return datetime.now(UTC).strftime(_TIME)


def write(evidence: Path, record: StatusRecord) -> Path:
    """Add a record beside the evidence; returns its path. Raises StorageError."""
    folder = evidence / FOLDER / record.run_id
    path = folder / record.file_name
    with storage_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        fsync_path(folder.parent)
        write_new(path, canonical_json(record.to_json()) + b"\n", beside=evidence / INCOMING)
    return path


def paths(evidence: Path) -> list[Path]:
    """Every record's file, sorted: by run, then by time."""
    return sorted((evidence / FOLDER).glob("*/*.json"))


def read(evidence: Path) -> list[StatusRecord]:
    """Every record, by run and time. Raises EvidenceError on a broken one."""
    return [_read(path) for path in paths(evidence)]


def read_of(evidence: Path, run_id: str) -> list[StatusRecord]:
    """The records about one run, by time. Raises EvidenceError on a broken one."""
    return [_read(path) for path in sorted((evidence / FOLDER / run_id).glob("*.json"))]


def redacted_paths(records: list[StatusRecord]) -> dict[str, str]:
    """{path: sha256} of the files that these records, all about one run, allow to be absent."""
    return {path: sha256 for record in records if record.kind is Kind.REDACTED for path, sha256 in record.paths}


def parse(data: bytes, run_id: str, file_name: str, where: str) -> StatusRecord:
    """The record in a file `status/<run_id>/<file_name>`. Raises EvidenceError naming what is wrong."""
    problem: str | None
    try:
        content = json.loads(data)
        record = _record(content)
        problem = _problem(record, content, data, run_id, file_name)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        problem = f"does not hold a status record ({type(error).__name__}: {error})"
    if problem:
        raise EvidenceError(problem, where=where, todo="restore it from git")
    return record


def _read(path: Path) -> StatusRecord:
    try:
        if path.is_symlink() or not path.is_file():
            raise EvidenceError("is not a plain file", where=str(path), todo="restore it from git")
        return parse(path.read_bytes(), path.parent.name, path.name, str(path))
    except OSError as error:
        raise EvidenceError(
            f"cannot be read ({error.strerror})", where=str(path), todo="check its permissions"
        ) from None


def _record(content: dict[str, Any]) -> StatusRecord:
    if content["format"] != FORMAT:
        raise ValueError(f"format {content['format']!r}, this version reads {FORMAT}")
    kind = Kind(content["kind"])
    own = {Kind.SUPERSEDED: {"by"}, Kind.REDACTED: {"paths"}}.get(kind, set())
    if set(content) != _KEYS | own:
        raise ValueError(f"its keys must be {', '.join(sorted(_KEYS | own))}")
    texts = [content[key] for key in ("run_id", "at", "who", "why")] + [content.get("by", "")]
    if not all(isinstance(text, str) for text in texts) or not content["why"].strip():
        raise ValueError("run_id, at, who, why and by must be text, and why must say something")
    if not _AT.fullmatch(content["at"]):
        raise ValueError(f"at must be a time in UTC with microseconds, got {content['at']!r}")
    datetime.strptime(content["at"], _TIME)
    return StatusRecord(
        content["run_id"],
        kind,
        content["at"],
        content["who"],
        content["why"],
        content.get("by"),
        tuple(sorted(content.get("paths", {}).items())),
    )


def _problem(record: StatusRecord, content: Any, data: bytes, run_id: str, file_name: str) -> str | None:
    if record.run_id != run_id:
        return f"is about another run, {record.run_id!r}"
    if record.by is not None and not _RUN_ID.fullmatch(record.by):
        return f"names no run that supersedes it, {record.by!r}"
    for path, sha256 in record.paths:
        if manifest.path_problem(path) or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
            return f"lists {path!r}, which is no path with its sha256"
    if record.kind is Kind.REDACTED and not record.paths:
        return "lists no path"
    if file_name != record.file_name:
        return f"is not what its name says (by its content: {record.file_name})"
    if data != canonical_json(content) + b"\n":
        return "is not in canonical form: its bytes were changed"
    return None
