"""Where the time of a step goes, from profiler traces: one row a rank, each a mean over the profiled steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ledger.metrics.registry import Direction, Missing, Result, Value, metric
from ledger.metrics.tables import Tables
from ledger.traces import PATTERN
from ledger.traces.breakdown import Breakdown
from ledger.traces.classes import CLASSES

SOURCE = "stackproof: union of intervals in integer nanoseconds; device work belongs to the step that launched it"
PARTS = {
    "compute": (
        "Compute",
        "Time of a step in which a compute kernel runs; without a device, in which a host operator runs outside "
        "collectives and waits.",
    ),
    "exposed_communication": (
        "Exposed communication",
        "Time of a step in which communication runs, and no compute.",
    ),
    "exposed_copy": (
        "Exposed copies",
        "Time of a step in which the device copies or fills memory, and neither computes nor communicates.",
    ),
    "input_wait": (
        "Input wait",
        "Time of a step in which the device does nothing while the host waits for input data.",
    ),
    "host_gap": (
        "Host gap",
        "Time of a step in which the device does nothing while the host is inside an operator or a runtime call.",
    ),
    "idle": (
        "Idle",
        "Time of a step in which nothing of the other parts happens: Python between operators, and waits outside them.",
    ),
}
_CLASS_TITLES = {
    "gemm": "matrix products and convolutions",
    "attention": "attention, with its key-value cache",
    "moe": "routing and experts of mixture-of-experts layers",
    "norm": "normalisation",
    "embedding": "embedding look-up and update",
    "optimizer": "the optimizer's step",
    "quantization": "conversion to and from low precision",
    "reduction": "reductions, softmax, losses, sorting and sampling",
    "elementwise": "elementwise work and moving elements",
    "other": "work that no name pattern knows",
}


def _per_rank(tables: Tables, value: Callable[[Breakdown], float | Missing]) -> Result:
    """`value` of each rank; absent when a rank has none."""
    if isinstance(tables.traces, Missing):
        return tables.traces
    rows: list[Value] = []
    for place, found in enumerate(tables.traces):
        if not found.steps or not found.duration:
            return Missing("the trace holds no timed event")
        result = value(found)
        if isinstance(result, Missing):
            return result
        rows.append(Value(result, rank=place if found.rank is None else found.rank))
    return rows


def _a_step(nanoseconds: Callable[[Breakdown], int]) -> Callable[[Breakdown], float]:
    return lambda found: nanoseconds(found) / found.step_count / 1e9


def _register(
    id: str,
    title: str,
    definition: str,
    value: Callable[[Breakdown], float | Missing],
    *,
    unit: str = "s",
    direction: Direction = "lower",
) -> None:
    metric(id, title=title, unit=unit, direction=direction, definition=definition, inputs=(PATTERN,), source=SOURCE)(
        partial(_per_rank, value=value)
    )


def _compute_share(found: Breakdown, time: int) -> float | Missing:
    compute = found.part("compute")
    return time / compute if compute else Missing("the trace holds no compute")


def _communication(found: Breakdown) -> int:
    return sum(step.communication for step in found.steps)


def _communication_time(found: Breakdown) -> float | Missing:
    time = _communication(found)
    return time / found.step_count / 1e9 if time else Missing("no communication in the trace")


def _overlap(found: Breakdown) -> float | Missing:
    time = _communication(found)
    if not time:
        return Missing("no communication in the trace")
    return 1 - found.part("exposed_communication") / time


def _flops(found: Breakdown) -> float | Missing:
    counts = [step.flops for step in found.steps if step.flops is not None]
    if len(counts) < len(found.steps):
        return Missing("the trace records no shapes, or has work (convolutions, packed products) they do not tell")
    return sum(counts) / found.step_count


def _dominant(found: Breakdown) -> float | Missing:
    work = [spot.time for spot in found.hotspots if spot.kind in CLASSES]
    return max(work) / sum(work) if work else Missing("the trace holds no compute")


_register(
    "traced_step_time",
    "Step time while profiled",
    "Mean wall time of a profiled step, from its start, or the end of the device work of earlier steps if later, to "
    "the end of the device work that it launched; the parts add up to it exactly.",
    _a_step(lambda found: found.duration),
)
for _part, (_title, _definition) in PARTS.items():
    _register(_part, _title, _definition, _a_step(lambda found, part=_part: found.part(part)))  # type: ignore[misc]
for _kind in CLASSES:
    _register(
        f"compute.{_kind}",
        f"Compute: {_kind}",
        f"Compute time of a step in {_CLASS_TITLES[_kind]}; the classes add up to compute exactly.",
        _a_step(lambda found, kind=_kind: found.kind(kind)),  # type: ignore[misc]
        direction="lower",
    )
_register(
    "unclassified_share",
    "Unclassified share",
    "Share of compute whose kernel or operator name no pattern knows.",
    lambda found: _compute_share(found, found.kind("other")),
    unit="share",
)
_register(
    "dominant_kernel_share",
    "Dominant kernel's share",
    "Share of the kernel or operator name with the most self time in the self time of all compute.",
    _dominant,
    unit="share",
    direction="neither",
)
_register(
    "communication",
    "Communication",
    "Time of a step in which communication runs, covered by compute or not, waiting for other ranks included.",
    _communication_time,
)
_register(
    "overlap_share",
    "Overlap",
    "Communication covered by compute, as a share of all communication.",
    _overlap,
    unit="share",
    direction="higher",
)
_register(
    "traced_flops",
    "Floating-point operations a step",
    "Operations of matrix products and attention in a profiled step, by the shapes recorded; a multiply-add is two.",
    _flops,
    unit="FLOP",
    direction="neither",
)
_register(
    "traced_launches",
    "Launches a step",
    "Kernels, copies and fills that a profiled step launched on the device; without a device, operators called, nested "
    "ones too.",
    lambda found: sum(step.launches for step in found.steps) / found.step_count,
    unit="1",
    direction="neither",
)
