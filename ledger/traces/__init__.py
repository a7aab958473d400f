"""Traces: reading them into columns, interval arithmetic, and where the time of a step goes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from ledger.errors import InputError
from ledger.traces.interface import Format, Trace
from ledger.traces.kineto import Kineto

FORMATS: tuple[Format, ...] = (Kineto(),)
"""Every format, in the order they are asked."""

PATTERN = "traces/rank-*"
"""Where a run folder keeps its traces, one file a rank."""

_HEAD = 4096


def read(path: Path) -> Trace:
    """One trace file as columns. Raises InputError when it cannot be read or is of no known format."""
    head = _head(path)
    for each in FORMATS:
        if each.recognises(path, head):
            return each.read(path)
    known = ", ".join(each.name for each in FORMATS)
    raise InputError("is not a trace that stackproof reads", where=str(path), todo=f"give it one of these: {known}")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if head.startswith(b"\x1f\x8b"):
            with gzip.open(path) as packed:
                head = packed.read(_HEAD)
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), todo="name a trace file") from None
    except IsADirectoryError:
        raise InputError("is a folder, not a trace", where=str(path), todo="name the trace files in it") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError("ends early or is damaged", where=str(path), todo="record the trace again") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), todo="check its permissions") from None
    return head
