"""The workload card of a training trial: fields and nesting of the CCL-Bench card, version 1, and ours beside them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from collector.stacks.interface import Trial
from collector.stacks.launch import markov
from ledger.workloads.train import TrainWorkload

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}
"""As CCL-Bench cards spell them."""


PLAN = ("dp_replicate", "dp_shard", "tp", "pp", "cp", "ep", "pp_mb")
"""The card's ways to split work; 1 where it is not split."""


def card(
    trial: Trial,
    digests: dict[str, str],
    framework: dict[str, Any],
    summary: dict[str, Any],
    run: Path,
    plan: dict[str, int],
) -> dict[str, Any]:
    """The card; of `workload.hardware` only the devices that the ranks use, where the settings name them.

    `summary` is the trial's own; what it does not hold is left out. `plan` is how the work is split,
    {a name of PLAN: ways}.
    """
    workload = trial.benchmark.work(TrainWorkload)
    return {
        "workload": {
            "model": _model(workload, digests["model"], summary),
            "data": _data(workload, digests["dataset"]),
            "work_per_step": {
                "samples": workload.global_batch_size,
                "tokens": workload.global_batch_size * workload.sequence_length,
            },
            "acceptance": _acceptance(workload),
            **_hardware(trial, math.prod(plan.values()), run),
        },
        "Model-executor": {
            "framework": {key: value for key, value in framework.items() if value is not None},
            "model_plan_parallelization": {**dict.fromkeys(PLAN, 1), **plan},
            "communication_library": _communication(summary, math.prod(plan.values())),
            "protocol_selection": [],
        },
        "metric_source": {"traces": ["json"] if any(run.glob("traces/*.json.gz")) else []},
    }


def _communication(summary: dict[str, Any], ranks: int) -> dict[str, Any]:
    """What the ranks talked through, as the trial read it back."""
    defaults = summary.get("defaults", {})
    if ranks == 1:
        return {"name": "none"}
    known = {"name": defaults.get("backend"), "version": defaults.get("backend_version")}
    return {key: value for key, value in known.items() if value is not None}


def _hardware(trial: Trial, ranks: int, run: Path) -> dict[str, Any]:
    """The devices that this trial uses, of those that the host has."""
    path = run / "environment.json"
    device = trial.settings.get("device")
    if device is None or not path.is_file():
        return {}
    hardware = json.loads(path.read_bytes())["hardware"]
    spec = {"type": "CPU", "model": hardware["cpu_model"], "total_count": 1, "count_per_node": 1}
    if device == "cuda" and hardware["devices"]:
        name = hardware["devices"][0]["name"]
        spec = {"type": "GPU", "model": name, "total_count": ranks, "count_per_node": ranks}
    return {"hardware": {"xpu_spec": spec}}


def _model(workload: TrainWorkload, digest: str, summary: dict[str, Any]) -> dict[str, Any]:
    shape = workload.model.config
    architecture = {
        "num_params": summary.get("parameters"),
        "num_params_embedding": shape.vocabulary_size * shape.hidden_size,
        "num_layers": shape.layers,
        "num_heads": shape.heads,
        "head_dim": shape.hidden_size // shape.heads,
        "hidden_size": shape.hidden_size,
        "intermediate_size": shape.intermediate_size,
        "vocab_size": shape.vocabulary_size,
    }
    training, _ = markov.split(workload.dataset.tokens, workload.sequence_length)
    return {
        "phase": "training",
        "moe": False,
        "granularity": "model_fwd_bwd_pass",
        "model_family": workload.model.name,
        "precision": PRECISIONS[workload.model.precision],
        "epochs": math.ceil(workload.steps * workload.global_batch_size / training),
        "iteration": workload.steps,
        "model_arch": {key: value for key, value in architecture.items() if value is not None},
        "digest": digest,
    }


def _data(workload: TrainWorkload, digest: str) -> dict[str, Any]:
    dataset = workload.dataset
    return {
        "batch_size": workload.global_batch_size,
        "batch_size_scope": "global",
        "seq_len": workload.sequence_length,
        "dataset": f"synthetic-{dataset.synthetic}",
        "dataset_digest": digest,
    }


def _acceptance(workload: TrainWorkload) -> dict[str, Any]:
    wanted = workload.acceptance
    return {"kind": wanted.kind, "field": wanted.field, "rule": f"{wanted.rule.operator} {wanted.rule.bound:g}"}
