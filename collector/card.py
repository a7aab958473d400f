"""The workload card of a run: what the adapter knows of the work, and what the collector knows of the hardware."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from collector.stacks.interface import Trial

VERSION = 1


def write(run: Path, from_adapter: dict[str, Any], trial: Trial) -> None:
    """Write card.yaml into a run folder whose environment.json is there."""
    environment = json.loads((run / "environment.json").read_bytes())
    text = yaml.safe_dump(_card(from_adapter, trial, environment), sort_keys=False, allow_unicode=True, width=120)
    (run / "card.yaml").write_text(text)


def _card(from_adapter: dict[str, Any], trial: Trial, environment: dict[str, Any]) -> dict[str, Any]:
    workload = from_adapter.get("workload", {})
    hardware = {**_hardware(environment), **workload.get("hardware", {})}
    prices = [price.model_dump(exclude_none=True) for price in trial.stack.price]
    if prices:
        hardware["price"] = prices[0] if len(prices) == 1 else prices
    return {
        "version": VERSION,
        "description": f"{trial.benchmark.question} Stack {trial.stack_name}.",
        "hf_url": "",
        "trace_url": "",
        "contributor": "",
        "contact": "",
        **from_adapter,
        "workload": {**workload, "hardware": hardware},
    }


def _hardware(environment: dict[str, Any]) -> dict[str, Any]:
    """The card's hardware part: the accelerators of this node, or its processor where there are none.

    Empty for an imported trial, of whose machine the source tells what it tells.
    """
    hardware = environment["hardware"]
    if not hardware:
        return {}
    devices = hardware["devices"]
    spec = {"type": "CPU", "model": hardware["cpu_model"], "total_count": 1, "count_per_node": 1}
    if devices:
        spec = {"type": "GPU", "model": devices[0]["name"], "total_count": len(devices), "count_per_node": len(devices)}
    return {
        "network_topo": {"topology": "single node", "bandwidth_gbps": []},
        "xpu_spec": spec,
        "cores": hardware["cores"],
        "memory_bytes": hardware["memory_bytes"],
        "driver_version": devices[0].get("driver") if devices else None,
    }
