"""Recorded traffic: when requests came, how long they and their answers were, and what they shared.

`stackproof workload from-log` writes such a file from a server's or gateway's own log; a benchmark replays it, and its
page sets the benchmark's load beside it. Columns are kept together, one entry a request, so that long prompts stay with
their long answers.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ledger.errors import InputError

FORMAT = 1
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Traffic:
    """A stretch of production's requests, in the order in which they came."""

    arrivals_s: tuple[float, ...]
    """Seconds since the first one, never falling."""
    input_lengths: tuple[int | None, ...]
    """In `unit`; None where the log does not tell."""
    output_lengths: tuple[int | None, ...]
    prefixes: tuple[tuple[int, ...], ...]
    """Of each request, the ids of its leading blocks. An id stands for all of the input up to the block's end, so that
    two requests share the blocks whose ids both have. Empty where neither prompts nor block ids were logged."""
    block: int | None
    """How much of `unit` one prefix block stands for; None where nothing is known of prefixes."""
    unit: Literal["tokens", "characters"]
    prompts: tuple[str, ...] = ()
    """A sample of redacted prompts, cut to a size; never all of them."""
    source: dict[str, Any] = field(default_factory=dict)
    """Where it comes from: the log's name and digest, rows read, used and left out by reason, first and last time."""

    @property
    def span_s(self) -> float:
        """From the first request to the last."""
        return self.arrivals_s[-1] - self.arrivals_s[0]

    @property
    def requests_per_day(self) -> float | None:
        """At the mean rate of the whole stretch; None for one that has no length."""
        return (len(self.arrivals_s) - 1) / self.span_s * 86_400 if self.span_s > 0 else None

    def shared_prefix(self) -> float | None:
        """Share of all input that an earlier request had begun with, by whole blocks; None where it is not known."""
        if self.block is None:
            return None
        seen: set[int] = set()
        shared = total = 0
        for blocks, length in zip(self.prefixes, self.input_lengths, strict=True):
            known = next((place for place, each in enumerate(blocks) if each not in seen), len(blocks))
            seen.update(blocks)
            whole = length if length is not None else len(blocks) * self.block
            shared += min(known * self.block, whole)
            total += whole
        return shared / total if total else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"format": FORMAT, "kind": "traffic", **asdict(self)}


def write(path: Path, traffic: Traffic) -> None:
    """Write a traffic file, one line a column. Raises OSError."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in traffic.to_json().items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n " + ",\n ".join(lines) + "\n}\n", encoding="utf-8")


def read(path: Path) -> Traffic:
    """Read and check a traffic file. Raises InputError: what is wrong with it."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _refusal(path, f"is larger than {MOST_BYTES >> 20} MiB")
        data = json.loads(path.read_bytes())
        if data.get("kind") != "traffic" or data.get("format") != FORMAT:
            raise _refusal(path, f"is no traffic file of format {FORMAT}")
        found = _traffic(data)
        _check(found)
    except OSError as error:
        raise _refusal(path, f"cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        said = error.args[0] if isinstance(error, ValueError) and error.args else f"{type(error).__name__}: {error}"
        raise _refusal(path, f"is no traffic file ({said})") from None
    return found


def _refusal(path: Path, what: str) -> InputError:
    return InputError(what, where=str(path), todo="make it with `stackproof workload from-log LOG`")


def _traffic(data: dict[str, Any]) -> Traffic:
    return Traffic(
        arrivals_s=tuple(float(each) for each in data["arrivals_s"]),
        input_lengths=tuple(data["input_lengths"]),
        output_lengths=tuple(data["output_lengths"]),
        prefixes=tuple(tuple(each) for each in data["prefixes"]),
        block=data["block"],
        unit=data["unit"],
        prompts=tuple(data.get("prompts", ())),
        source=dict(data.get("source", {})),
    )


def _check(found: Traffic) -> None:
    """Raise ValueError where the columns do not make sense together."""
    count = len(found.arrivals_s)
    if count < 2:
        raise ValueError("it holds fewer than two requests")
    if not len(found.input_lengths) == len(found.output_lengths) == len(found.prefixes) == count:
        raise ValueError("its columns have different lengths")
    if any(not math.isfinite(each) for each in found.arrivals_s):
        raise ValueError("an arrival is no finite number")
    if any(b < a for a, b in zip(found.arrivals_s, found.arrivals_s[1:], strict=False)):
        raise ValueError("its arrivals are not in order")
    lengths = [each for each in (*found.input_lengths, *found.output_lengths) if each is not None]
    if any(type(each) is not int or each < 0 for each in lengths):
        raise ValueError("a length is no whole number")
    if found.unit not in {"tokens", "characters"}:
        raise ValueError(f"its unit is {found.unit!r}")
