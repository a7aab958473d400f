"""Values of Kineto's arguments, which profilers and what wraps them spell in many ways."""

from __future__ import annotations

import json
from typing import Any

import msgspec

NOTHING = msgspec.Raw()
"""An argument that is not there, where its text is asked for."""
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises on text that is malformed or nested too deep."""

_DIGITS = 19


def decoded(raw: bytes) -> Any:
    """What JSON text says; None where it is malformed."""
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        return None


def text(value: Any) -> str | None:
    """As text: what is none as JSON."""
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def whole(value: Any) -> int | None:
    """A whole number, or text that is one, of less than 2^62 either way."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62 else None


def shape(value: msgspec.Raw) -> str | None:
    """The JSON text of an argument."""
    return None if value is NOTHING else bytes(value).decode(errors="replace")
