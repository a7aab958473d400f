"""Canonical JSON and the digests made from it.

Keys are sorted, there is no white space, text is UTF-8, and NaN and infinities are refused, so that equal values have
equal bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

SHORT = 16
"""Hex digits that an id keeps of a sha256."""


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of a JSON value. Raises ValueError on NaN and infinities."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def digest(value: Any) -> str:
    """sha256 over the canonical JSON of `value`, as 64 hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def short_digest(value: Any) -> str:
    """The first 16 hex digits of `digest(value)`."""
    return digest(value)[:SHORT]


def bytes_digest(data: bytes) -> str:
    """sha256 of `data`, as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """sha256 of a file's bytes, read in pieces, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
