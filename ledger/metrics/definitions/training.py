"""Training metrics from the trial's own step clock (samples/steps.parquet and samples/summary.json)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ledger.metrics.registry import Missing, Result, metric
from ledger.metrics.tables import Tables

STEPS = "samples/steps.parquet"
SUMMARY = "samples/summary.json"
STEPPING = ("train", "command")
"""Workloads that are done in steps."""
NO_STEPS = Missing("the trial recorded no measured step")


def _column(tables: Tables, name: str, phase: str) -> npt.NDArray[np.float64]:
    """One column of the steps in `phase`, as float64; empty when there are none, NaN where a step lacks it."""
    if tables.steps is None:
        return np.empty(0)
    chosen = np.asarray(tables.steps["phase"].to_pylist()) == phase
    values: npt.NDArray[np.float64] = np.asarray(tables.steps[name].to_pylist(), dtype=np.float64)
    chosen_values: npt.NDArray[np.float64] = values[chosen]
    return chosen_values


@metric(
    "step_time",
    title="Step time",
    unit="s",
    direction="lower",
    definition="Mean wall time of a measured optimizer step; warm-up and profiled steps are left out.",
    inputs=(STEPS,),
    source="stackproof: wall clock of the training loop, device synchronised at both ends",
    kinds=STEPPING,
)
def step_time(tables: Tables) -> Result:
    durations = _column(tables, "duration_ns", "measured")
    return float(durations.mean() / 1e9) if durations.size else NO_STEPS


@metric(
    "tokens_per_second",
    title="Training throughput",
    unit="tokens/s",
    direction="higher",
    definition="Tokens of all measured steps divided by their wall time.",
    inputs=(STEPS,),
    source="stackproof: total work over total time, never a mean of rates",
    kinds=STEPPING,
)
def tokens_per_second(tables: Tables) -> Result:
    durations, tokens = _column(tables, "duration_ns", "measured"), _column(tables, "tokens", "measured")
    if np.isnan(tokens).any():
        return Missing("a measured step does not say how many tokens it took")
    return float(tokens.sum() / durations.sum() * 1e9) if durations.size else NO_STEPS


@metric(
    "first_step_time",
    title="First step time",
    unit="s",
    direction="lower",
    definition="Wall time of the launch's first step: lazy initialisation and, where there is a compiler, compilation.",
    inputs=(STEPS,),
    source="stackproof: reported apart, never averaged into step_time",
    kinds=STEPPING,
)
def first_step_time(tables: Tables) -> Result:
    if tables.steps is None or tables.steps.num_rows == 0:
        return Missing("the trial recorded no step")
    return float(tables.steps["duration_ns"][0].as_py() / 1e9)


@metric(
    "evaluation_loss",
    title="Evaluation loss",
    unit="nats",
    direction="lower",
    definition="Mean cross-entropy a token on held-out sequences after the last step.",
    inputs=(SUMMARY,),
    source="stackproof: the same held-out sequences for every stack of a benchmark",
    kinds=STEPPING,
)
def evaluation_loss(tables: Tables) -> Result:
    value = tables.summary.get("evaluation_loss")
    return float(value) if value is not None else Missing("the trial ended before its evaluation")


@metric(
    "peak_memory",
    title="Peak memory",
    unit="B",
    direction="lower",
    definition="Largest resident set of the training process, as the kernel counted it.",
    inputs=(SUMMARY,),
    source="getrusage(2), ru_maxrss",
)
def peak_memory(tables: Tables) -> Result:
    value = tables.summary.get("peak_memory_bytes")
    return float(value) if value is not None else Missing("the trial ended before it reported its memory")
