"""`stackproof trace`: where the time goes in trace files by themselves, no run folder needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ledger import traces
from ledger.plain_text import neutral
from ledger.traces.breakdown import PARTS, Breakdown, explain
from ledger.traces.classes import CLASSES

WIDTH = 80
BAR = 20


@click.command(name="trace")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="Kernels or operators to list.")
def command(files: tuple[Path, ...], format_: str, top: int) -> None:
    """Where the time of a step goes in profiler traces: its disjoint parts, the classes of compute, the top kernels.

    Reads what torch.profiler writes, .json or .json.gz, of a GPU or of a CPU.

    \b
    Example:
      stackproof trace traces/rank-0.json.gz
    """
    found = [(path, explain(traces.read(path))) for path in files]
    if format_ == "json":
        click.echo(json.dumps([_data(path, each, top) for path, each in found], indent=1, allow_nan=False))
        return
    for place, (path, each) in enumerate(found):
        if place:
            click.echo()
        for line in _lines(path, each, top):
            click.echo(line)


def _data(path: Path, found: Breakdown, top: int) -> dict[str, Any]:
    """Everything about one trace; times in integer nanoseconds over all steps."""
    return {
        "file": str(path),
        "rank": found.rank,
        "world_size": found.world_size,
        "device": found.has_device,
        "steps": found.step_count,
        "duration_ns": found.duration,
        "parts_ns": {name: found.part(name) for name in PARTS},
        "classes_ns": {name: found.kind(name) for name in CLASSES},
        "communication_ns": sum(step.communication for step in found.steps),
        "per_step": [
            {
                "step": step.number,
                "annotated_ns": list(step.annotated),
                "window_ns": list(step.window),
                "parts_ns": step.parts,
                "classes_ns": step.classes,
                "launches": step.launches,
                "flops": step.flops,
            }
            for step in found.steps
        ],
        "top": [
            {"name": spot.name, "class": spot.kind, "calls": spot.calls, "self_ns": spot.time}
            for spot in found.hotspots[:top]
        ],
        "warnings": list(found.warnings),
    }


def _lines(path: Path, found: Breakdown, top: int) -> Iterator[str]:
    yield neutral(str(path))
    rank = "rank unknown" if found.rank is None else f"rank {found.rank}"
    of = f" of {found.world_size}" if found.world_size else ""
    yield f"{rank}{of}, {'device' if found.has_device else 'host only'}, steps: {_numbers(found)}"
    if not found.duration:
        yield "no timed event: nothing to explain"
    else:
        yield from _table(found)
        yield from _top(found, top)
    yield from (f"warning: {neutral(warning)}" for warning in found.warnings)


def _numbers(found: Breakdown) -> str:
    numbers = [step.number for step in found.steps if step.number is not None]
    if not numbers or found.step_count == 1:
        return str(found.step_count)
    return f"{found.step_count} ({numbers[0]} to {numbers[-1]})"


def _table(found: Breakdown) -> Iterator[str]:
    whole = found.duration
    yield ""
    yield f"{'part of a step':<30}{'ms':>12}{'share':>9}"
    yield _row("step", whole, found)
    for name in PARTS:
        yield f"{_row('  ' + name, found.part(name), found)}  {'█' * round(BAR * found.part(name) / whole)}".rstrip()
        if name == "compute":
            kinds = [(kind, found.kind(kind)) for kind in CLASSES if found.kind(kind)]
            for kind, time in sorted(kinds, key=lambda each: -each[1]):
                yield _row("    " + kind, time, found)


def _row(label: str, time: int, found: Breakdown) -> str:
    return f"{label:<30}{time / found.step_count / 1e6:>12.3f}{time / found.duration:>9.1%}"


def _top(found: Breakdown, top: int) -> Iterator[str]:
    spots = found.hotspots[:top]
    if not spots:
        return
    total = sum(spot.time for spot in found.hotspots)
    yield ""
    yield f"{'self ms a step':>14}{'share':>8}{'calls':>8}  {'class':<14}{'kernel' if found.has_device else 'operator'}"
    for spot in spots:
        start = (
            f"{spot.time / found.step_count / 1e6:>14.3f}{spot.time / total:>8.1%}"
            f"{spot.calls / found.step_count:>8.4g}  {spot.kind:<14}"
        )
        yield start + _fitted(neutral(spot.name), WIDTH - len(start))


def _fitted(name: str, width: int) -> str:
    name = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return name if len(name) <= width else name[: width - 1] + "…"
