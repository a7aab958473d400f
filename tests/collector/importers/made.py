"""Small files in the layouts that public tools really write, and a workspace to import them into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from collector.importers import registry
from collector.importers.files import Files
from collector.importers.interface import CollectionImporter, Facts
from ledger.public import Collection, Row
from tests.collector.conftest import run_cli

CARD: dict[str, Any] = {
    "version": 1,
    "description": "A workload.",
    "trace_url": None,
    "workload": {
        "model": {
            "phase": "training",
            "moe": False,
            "model_family": "llama-3.1-8b",
            "precision": "bf16",
            "iteration": 6,
            "model_arch": {"num_params": 8030261248, "num_layers": 32},
        },
        "data": {"batch_size": 32, "seq_len": 1024, "dataset": "c4"},
        "hardware": {
            "network_topo": {"topology": "slingshot", "bandwidth_gbps": [200, 2400]},
            "xpu_spec": {"type": "GPU", "model": "nvidia_a100", "total_count": 8, "count_per_node": 4},
            "driver_version": "cuda_12.8",
        },
    },
    "Model-executor": {
        "framework": {"name": "torchtitan", "compiler_tool_selection": "plain_pytorch"},
        "model_plan_parallelization": {"dp_replicate": 1, "dp_shard": 8, "tp": 1, "pp": 1, "cp": 1},
        "communication_library": {"name": "NCCL", "version": "2.27.5", "env": {"NCCL_DEBUG": "INFO"}},
        "protocol_selection": ["tcp"],
    },
    "metric_source": {"traces": ["json"], "metrics_specific_trace": [None]},
}
METADATA: dict[str, Any] = {
    "workload_name": "one",
    "description": "A workload.",
    "phase": "training",
    "moe": False,
    "model_family": "llama-3.1-8b",
    "precision": "bf16",
    "iteration": 6,
    "batch_size": 32,
    "seq_len": 1024,
    "dataset": "c4",
    "input_len": "",
    "hardware_type": "GPU",
    "hardware_model": "nvidia_a100",
    "total_count": 8,
    "count_per_node": 4,
    "network_topology": "slingshot",
    "driver_version": "cuda_12.8",
    "framework": "torchtitan",
    "compiler": "plain_pytorch",
    "tp": 1,
    "pp": 1,
    "dp_shard": 8,
    "comm_library": "NCCL",
    "comm_library_ver": "2.27.5",
    "comm_env": {"NCCL_DEBUG": "INFO"},
    "protocol_selection": ["tcp"],
    "trace_types": ["json"],
    "metric_traces": [None],
}
HISTORY = "iteration,version,config,metrics,score,status,error_msg,best_score,search_time_s\n"


def changed(data: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy of nested data with values changed by path, dots written as `__`, dashes as `_0_`."""
    copy: dict[str, Any] = json.loads(json.dumps(data))
    for path, value in changes.items():
        *parts, last = (part.replace("_0_", "-") for part in path.split("__"))
        here = copy
        for part in parts:
            here = here[part]
        here[last] = value
    return copy


def write_card(root: Path, name: str, content: dict[str, Any] | str, file: str | None = None) -> Path:
    """A card in a folder of its own below trace_collection/."""
    path = root / "trace_collection" / name / (file or f"{name}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return path


def table(*rows: dict[str, Any]) -> dict[str, Any]:
    """The content of benchmark_data.json."""
    info = {"mfu": {"label": "MFU (%)", "description": "Percentage of peak FLOPs used", "unit": "%"}}
    return {"generated_at": "2026-05-07T07:17:59+00:00", "all_metrics": ["mfu"], "metric_info": info, "rows": [*rows]}


def row(name: str, metrics: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """One row of it."""
    return {
        "trace": f"/data/traces/{name}",
        "metadata": {**METADATA, "workload_name": name, **metadata},
        "metrics": metrics,
    }


def write_table(root: Path, *rows: dict[str, Any]) -> Path:
    """website/benchmark_data.json with these rows."""
    path = root / "website" / "benchmark_data.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(table(*rows)))
    return path


def collection(name: str, path: Path, facts: Facts | None = None) -> Collection:
    """What an importer makes of a path."""
    importer = registry.get(name)
    assert isinstance(importer, CollectionImporter)
    return importer.read(Files(path), facts or Facts())


def by_id(found: Collection) -> dict[str, Row]:
    """{id: row}."""
    return {each.id: each for each in found.rows}


def codes(found: Row | Collection) -> list[str]:
    """The codes of its problems."""
    return [each.code for each in found.problems]


def refused(*arguments: str) -> str:
    """The one line that a refused import prints; nothing is written."""
    code, out, err = run_cli("import", *arguments)
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1, err
    assert not list(Path.cwd().glob("public/**/*.json"))
    return err
