"""Workload cards of CCL-Bench, version 1, as people really wrote them.

A card is flattened to the names that the rows of `benchmark_data.json` use for the same facts, so that both can be
described and compared field by field. Unknown keys are kept among the settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from collector.importers import names, values
from collector.importers.files import mapping
from collector.importers.values import known
from ledger.public import Problem

VERSION = 1
"""The version of the card that this reads."""
GBPS = 1e9 / 8
"""Bytes a second of one Gbit/s."""

_PLACES = {
    "description": "description",
    "hf_url": "hf_url",
    "trace_url": "trace_url",
    **{
        name: f"workload.model.{name}"
        for name in ("phase", "moe", "granularity", "model_family", "precision", "epochs", "iteration")
    },
    **{
        name: f"workload.data.{name}"
        for name in ("batch_size", "batch_size_scope", "seq_len", "input_len", "output_len", "dataset", "request_rate")
    },
    "network_topology": "workload.hardware.network_topo.topology",
    "hardware_type": "workload.hardware.xpu_spec.type",
    "hardware_model": "workload.hardware.xpu_spec.model",
    "total_count": "workload.hardware.xpu_spec.total_count",
    "count_per_node": "workload.hardware.xpu_spec.count_per_node",
    "driver_version": "workload.hardware.driver_version",
    "framework": "executor.framework.name",
    "framework_version": "executor.framework.version",
    "compiler": "executor.framework.compiler_tool_selection",
    **{
        name: f"executor.model_plan_parallelization.{name}"
        for name in ("dp_replicate", "dp_shard", "tp", "pp", "cp", "ep", "pp_mb")
    },
    "comm_library": "executor.communication_library.name",
    "comm_library_ver": "executor.communication_library.version",
    "comm_env": "executor.communication_library.env",
    "protocol_selection": "executor.protocol_selection",
    "trace_types": "metric_source.traces",
    "metric_traces": "metric_source.metrics_specific_trace",
}
"""{name in a row: place on a card}."""
_ARCHITECTURE = {
    "parameters": ("num_params",),
    "active_parameters": ("num_params_active", "num_active_params"),
    "embedding_parameters": ("num_params_embedding",),
    "layers": ("num_layers",),
    "heads": ("num_heads",),
    "head_size": ("head_dim",),
}
_READ = frozenset(
    {
        *_PLACES.values(),
        "version",
        "workload.hardware.network_topo.bandwidth_gbps",
        *(f"workload.model.{key}" for keys in _ARCHITECTURE.values() for key in keys),
        *(f"workload.model.model_arch.{key}" for keys in _ARCHITECTURE.values() for key in keys),
    }
)
_DROPPED = frozenset({"Model-executor", "workload.Model-executor", "runs", "contributor", "contact"})
_NOT_COMPARED = frozenset({"trace_url", "batch_size_scope", "framework_version", "request_rate"})
"""What rows do not hold, or may hold otherwise."""


@dataclass(frozen=True)
class Card:
    """One card: its file, its facts under the rows' names, and what is odd about it."""

    file: str
    facts: dict[str, Any]
    architecture: dict[str, Any]
    others: dict[str, Any] = field(default_factory=dict)
    """{place on the card: value} of what no field here stands for; nothing is dropped but who to write to."""
    runs: tuple[Any, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """The workload's name: the folder's where the card lies in one of its own, else the file's."""
        path = PurePosixPath(self.file)
        stem = path.name
        while stem.endswith((".yaml", ".yml")):
            stem = stem.rpartition(".")[0]
        return path.parent.name if path.parent.name in (stem, path.stem) else stem


def is_card(data: Any) -> bool:
    """Whether a YAML file's content is a card with a result behind it, not just the definition of a workload."""
    workload = mapping(mapping(data).get("workload"))
    return bool(workload) and any(name in place for place in (data, workload) for name in ("Model-executor", "runs"))


def read(file: str, data: dict[str, Any]) -> Card | Problem:
    """A card from its content; a problem when its version is not known."""
    if data.get("version") not in (VERSION, str(VERSION), float(VERSION)):
        version = data.get("version")
        return Problem("unknown_version", f"{file}: is left out: card version {version!r}, this reads {VERSION}")
    problems = []
    workload = mapping(data.get("workload"))
    executor = data.get("Model-executor")
    if executor is None and "Model-executor" in workload:
        executor = workload["Model-executor"]
        problems.append(Problem("untidy_card", "Model-executor stands under workload"))
    if PurePosixPath(file).name.endswith((".yaml.yaml", ".yml.yml")):
        problems.append(Problem("untidy_card", "the file's name ends twice"))
    root = {**data, "executor": mapping(executor)}
    facts = {name: known(_at(root, place)) for name, place in _PLACES.items()}
    facts |= _bandwidth(_at(root, "workload.hardware.network_topo.bandwidth_gbps"), problems)
    if isinstance(facts["batch_size"], list):
        problems.append(Problem("untidy_card", f"batch_size is a list ({_short(facts['batch_size'])})"))
    runs = data.get("runs")
    return Card(
        file,
        facts,
        _architecture(workload),
        dict(_others(root, "")),
        tuple(runs) if isinstance(runs, list) else (),
        (*problems, *_leftovers(facts)),
    )


def _others(data: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Leaves of a card that no field reads."""
    for key, value in data.items():
        place = f"{above}{key}"
        if place in _READ or place in _DROPPED:
            continue
        if isinstance(value, dict) and value:
            yield from _others(value, f"{place}.")
        elif not values.is_nothing(value):
            yield place.replace("executor.", "Model-executor.", 1) if place.startswith("executor.") else place, value


def _at(data: Any, place: str) -> Any:
    for part in place.split("."):
        data = mapping(data).get(part)
    return data


def _architecture(workload: dict[str, Any]) -> dict[str, Any]:
    """Parameters and shape, from `model_arch` or from the model itself."""
    model = mapping(workload.get("model"))
    both = {**model, **mapping(model.get("model_arch"))}
    found = {name: next((both[key] for key in keys if key in both), None) for name, keys in _ARCHITECTURE.items()}
    return {name: values.whole(raw) for name, raw in found.items() if raw is not None}


def _bandwidth(raw: Any, problems: list[Problem]) -> dict[str, Any]:
    """`bandwidth_scaleout` and `bandwidth_scaleup` in Gbit/s; one number alone says of neither which it is."""
    if values.is_nothing(raw):
        return {}
    parts = raw if isinstance(raw, list) else [raw]
    if len(parts) != 2:
        problems.append(Problem("untidy_card", f"bandwidth is one number ({parts[0]}), not scale-out and scale-up"))
        return {}
    out, up = (known(part) for part in parts)
    if isinstance(out, int | float) and isinstance(up, int | float) and out > up:
        problems.append(Problem("untidy_card", f"bandwidth is scale-up first ({out}, {up}): turned round"))
        out, up = up, out
    return {"bandwidth_scaleout": out, "bandwidth_scaleup": up}


def _leftovers(facts: dict[str, Any]) -> list[Problem]:
    """What a template left on a card where it cannot apply."""
    found = []
    if facts["phase"] == "training" and facts["output_len"] is not None:
        found.append(f"output_len {facts['output_len']} on a training card")
    if facts["phase"] in ("inference", "serving") and values.whole(facts["epochs"]) not in (None, 0, 1):
        found.append(f"epochs {facts['epochs']} on a card of inference")
    if facts["hardware_type"] == "TPU":
        nccl = [name for name, value in mapping(facts["comm_env"]).items() if name.startswith("NCCL_") and known(value)]
        found += [f"{name} on a TPU card" for name in nccl]
        protocols = facts["protocol_selection"] if isinstance(facts["protocol_selection"], list) else []
        found += [f"protocol {name} on a TPU card" for name in protocols if name in ("rocev2", "nvlink", "p2p")]
    return [Problem("template_leftover", each) for each in found]


def disagreements(row: dict[str, Any], card: Card) -> list[str]:
    """Each field in which a row and its card differ, with both values; one that only one of them knows is one."""
    found = []
    for name in _PLACES:
        if name in _NOT_COMPARED or name not in row:
            continue
        there, here = known(row[name]), card.facts[name]
        if there != here:
            found.append(f"{name}: row {_short(there)}, card {_short(here)}")
    return found


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def workload(facts: dict[str, Any], architecture: dict[str, Any]) -> dict[str, Any]:
    """The workload of a row or card."""
    phase = facts.get("phase")
    return {
        "kind": {"training": "train", "inference": "serve", "serving": "serve"}.get(str(phase)),
        "phase": phase,
        "model": facts.get("model_family"),
        "model_url": facts.get("hf_url"),
        "description": facts.get("description"),
        "precision": names.precision(facts.get("precision")),
        "mixture_of_experts": facts.get("moe"),
        "dataset": facts.get("dataset"),
        "batch_size": values.whole(facts.get("batch_size")),
        "batch_size_scope": facts.get("batch_size_scope"),
        "sequence_length": values.whole(facts.get("seq_len")),
        "input_length": values.whole(facts.get("input_len")),
        "output_length": values.whole(facts.get("output_len")),
        "request_rate": facts.get("request_rate"),
        "architecture": architecture,
        "parallelism": {
            name: values.whole(facts.get(name))
            for name in ("dp_replicate", "dp_shard", "tp", "pp", "cp", "ep")
            if values.whole(facts.get(name)) is not None
        },
    }


def hardware(facts: dict[str, Any]) -> dict[str, Any]:
    """The hardware of a row or card; bandwidths in bytes a second."""
    rates = {name: values.number(facts.get(f"bandwidth_{name}"), "", "") for name in ("scaleout", "scaleup")}
    return {
        **names.hardware(facts.get("hardware_model")),
        "count": values.whole(facts.get("total_count")),
        "devices_per_node": values.whole(facts.get("count_per_node")),
        "topology": facts.get("network_topology"),
        **{f"{name}_bandwidth": rate * GBPS for name, rate in rates.items() if isinstance(rate, float)},
    }


def settings(facts: dict[str, Any]) -> dict[str, Any]:
    """What else decides the result."""
    found = {
        "compiler": facts.get("compiler"),
        "iterations": facts.get("iteration"),
        "epochs": facts.get("epochs"),
        "granularity": facts.get("granularity"),
        "trace_types": facts.get("trace_types"),
        "metric_traces": facts.get("metric_traces"),
        "pipeline_micro_batches": facts.get("pp_mb"),
        "communication_library": names.library(facts.get("comm_library")),
        "communication_library_version": facts.get("comm_library_ver"),
        "environment": {
            name: value for name, value in mapping(facts.get("comm_env")).items() if known(value) is not None
        },
        "protocols": facts.get("protocol_selection"),
        "driver": facts.get("driver_version"),
    }
    return {name: value for name, value in found.items() if not values.is_nothing(value)}
