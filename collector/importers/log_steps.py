"""Steps as training logs tell them: intervals between lines, and means of rates that are means of the work."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from collector.importers.draft import Draft
from collector.importers.files import Files, first_lines
from collector.importers.values import Absent
from ledger.public import Problem

ENDINGS = (".log", ".txt", ".out", ".stdout", ".err", ".stderr")
"""How files end that may hold a log."""
_LOOKED_AT = 2**20
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ENDED = re.compile(r"^.*(?:\w*Error\b|out of memory|Traceback \(most recent call last\)|SIGSEGV|SIGKILL).*$", re.M)
_LINE = 4_000
_LONGEST = 200


@dataclass
class Line:
    """One logged line: the step it was written at, and its numbers by their names."""

    step: int
    numbers: dict[str, float] = field(default_factory=dict)
    time_s: float | None = None
    """The log's own time, in seconds since some start."""


def plain(text: str) -> str:
    """A log without colours, its lines cut at a length that no line of a step has."""
    return "\n".join(line[:_LINE] for line in _COLOUR.sub("", text).splitlines())


def has(path: Path, pattern: re.Pattern[str]) -> bool:
    """Whether the first MiB of a file has a line of the pattern."""
    return bool(pattern.search(plain(first_lines(path, _LOOKED_AT))))


def last_run(lines: Sequence[Line]) -> tuple[list[Line], int]:
    """The lines since the step last went back, and how often it did: a log may hold several launches."""
    kept: list[Line] = []
    restarts = 0
    for line in lines:
        if kept and line.step == kept[-1].step:
            continue
        if kept and line.step < kept[-1].step:
            restarts += 1
            kept = []
        kept.append(line)
    return kept, restarts


def mean(lines: Sequence[Line], name: str, *, rate: bool = False) -> float | Absent:
    """The mean of a number over all steps but those of the first line; of rates the harmonic one.

    The first line is left out: start-up and compilation are in it.
    """
    weights, values = [], []
    for before, line in itertools.pairwise(lines):
        value = line.numbers.get(name)
        if value is not None and math.isfinite(value) and value > 0:
            weights.append(line.step - before.step)
            values.append(value)
    if not values:
        return Absent("the log has no two lines with it")
    if rate:
        return sum(weights) / sum(weight / value for weight, value in zip(weights, values, strict=True))
    return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)


def last(lines: Sequence[Line], name: str) -> float | Absent:
    """The last number of that name."""
    value = next((line.numbers[name] for line in reversed(lines) if name in line.numbers), None)
    if value is None:
        return Absent("the log does not tell it")
    return value if math.isfinite(value) else Absent(f"{value} at step {lines[-1].step}")


def outcome(made: Draft, text: str, lines: Sequence[Line], total: int | None) -> None:
    """Whether the run reached its end; one that did not has no values."""
    after = text[max(text.rfind("step:"), text.rfind("elapsed time per iteration")) :]
    errors = [" ".join(match[0].split()) for match in _ENDED.finditer(after)]
    if errors:
        made.state = "failed"
        said = errors[-1]
        made.failure = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."
        for metric in list(made.values):
            made.withdraw(metric, f"the run failed after step {lines[-1].step}")
    elif total is not None and lines[-1].step < total:
        made.problem("incomplete", f"the log ends at step {lines[-1].step} of {total}")


def describe(made: Draft) -> None:
    """What no log of a training can show."""
    made.workload["kind"] = "train"
    made.cannot_show |= {
        "quality": "loss on training data alone",
        "cost": "the log holds no price",
        "repeats": "one launch",
        "trace": "the log names none",
        "requests": "training has none",
        "work_per_step": "the log does not tell the global batch and the sequence length",
    }


def work(made: Draft, samples: int | None, length: int | None) -> None:
    """How much a step does, when the log tells it."""
    if samples and length:
        made.workload |= {"samples_per_step": samples, "tokens_per_step": samples * length}
        made.workload |= {"batch_size": samples, "batch_size_scope": "global", "sequence_length": length}
        made.cannot_show.pop("work_per_step", None)
        made.shows["work_per_step"] = f"{samples:,} sequences, {samples * length:,} tokens (the log)"


def each_log(
    files: Files, pattern: re.Pattern[str], make: Callable[[str, str], Draft], problems: list[Problem]
) -> list[Draft]:
    """A draft for every log below the path that has lines of the pattern; others of a folder are told."""
    drafts = []
    for name in files.names(*ENDINGS) if files.path.is_dir() else [files.path.name]:
        if files.path.is_dir() and not has(files.root / name, pattern):
            problems.append(Problem("other_format", f"{name}: has no logged step: not taken"))
            continue
        path = PurePosixPath(name)
        drafts.append(make(str(path.with_suffix("")), plain(files.text(name))))
    return drafts
