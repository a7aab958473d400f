"""The table of operations as text."""

from __future__ import annotations

from sitegen import format
from sitegen.comparison.aligned import Level, Operation, Operations, Rest

Line = tuple[str, str, str, str, str]


def rows(found: Operations, baseline: str, candidate: str) -> list[Line]:
    """Head, one line a row, what is left, and the traced step that all of them add up to."""
    lines = [("operation", "in", baseline, candidate, "difference")]
    lines += [_line(each.words, _part(each), each, found) for each in found.rows]
    if found.rest is not None:
        lines.append(_line(format.count(found.rest.rows, "further row"), "", found.rest, found))
    return [*lines, _line("Traced step", "", found, found)]


def alignment(found: Operations) -> str:
    """How much of the work the two sides have in common."""
    if found.aligned is None:
        return "the traces hold no work"
    return f"{format.share(found.aligned)} of the work is in operations that both sides have"


def _part(each: Operation) -> str:
    """The part that an operation is in; the class alone where that is one of compute, for lines are short."""
    return each.title.rpartition(": ")[2] if each.level in {Level.OPERATION, Level.UNKNOWN} else ""


def _line(title: str, part: str, each: Operation | Rest | Operations, found: Operations) -> Line:
    before, after = (format.seconds(found.seconds(time)) for time in (each.baseline_ns, each.candidate_ns))
    return title, part, before, after, format.difference(found.seconds(each.change_ns), "s")
