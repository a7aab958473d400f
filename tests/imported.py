"""A workspace of imported traces, and small traces of the kinds that are imported: what they hold is stated in full."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from collector.importers.traces import Told, import_launch
from ledger import benchmark as benchmark_file
from ledger import workspace
from tests.ledger.traces.builder import annotation, event, launched, op, write

SOURCE = "a public collection (MIT)"


def declared(name: str, stacks: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """A benchmark file of imported stacks, {name: settings}, the first of them the baseline."""
    baseline, candidate, *_ = stacks
    return {
        "name": name,
        "question": "Which of the two takes less time a step?",
        "workload": {
            "kind": "command",
            "task": "One step",
            "metrics": {"items_per_second": {"unit": "1/s", "direction": "higher", "definition": "Items over time."}},
        },
        "stacks": {stack: {"adapter": "imported", "settings": each} for stack, each in stacks.items()},
        "envelope": {"objective": {"minimise": "step_time"}},
        "comparisons": [{"baseline": baseline, "candidate": candidate, "threshold": "5%"}],
        **changes,
    }


def make_workspace(folder: Path, *benchmarks: dict[str, Any]) -> workspace.Workspace:
    """A workspace with these benchmark files and no evidence."""
    for name in ("benchmarks", "docs"):
        (folder / name).mkdir(parents=True)
    (folder / "docs/index.md").write_text("# Site\n")
    (folder / "mkdocs.yml").write_text("site_name: imported\n")
    for each in benchmarks:
        (folder / "benchmarks" / f"{each['name']}.yaml").write_text(yaml.safe_dump(each, sort_keys=False))
    return workspace.find(folder)


def imported(here: workspace.Workspace, benchmark: str, stack: str, *paths: Path, **told: Any) -> Path:
    """Import one launch; returns its run folder."""
    file = benchmark_file.read(here.find_benchmark(benchmark))
    return import_launch(here, file, stack, paths, Told(**{"source": SOURCE, **told}))[0]


def loading(wait: float, gap: float, compute: float, steps: int = 2) -> list[dict[str, Any]]:
    """Steps that wait for input, then launch one kernel after `gap` and run it, all in microseconds, one by one."""
    events = []
    for number in range(steps):
        at = 1000 + number * (wait + gap + compute)
        ran = at + wait + gap
        events += [
            annotation(f"ProfilerStep#{number}", at, wait + gap + compute),
            op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, wait),
            op("aten::mm", at + wait, gap),
            event("cuda_runtime", "cudaLaunchKernel", ran - 0.5, 0.5, correlation=number + 1),
            event("kernel", "volta_sgemm_128x64_nn", ran, compute, 7, correlation=number + 1),
        ]
    return events


NVIDIA = {
    "aten::mm": "ampere_sgemm_128x64_nn",
    "aten::add": "void at::native::vectorized_elementwise_kernel<4, A>(int)",
}
AMD = {"aten::mm": "Cijk_Alik_Bljk_S_B_UserArgs_MT16x16", "aten::add": "void at::native::elementwise_kernel<4, B>(int)"}


def on_device(times: Mapping[str, float], kernels: Mapping[str, str], step: float = 400) -> list[dict[str, Any]]:
    """One step, in which operations launch one kernel each, {operation: microseconds}, one after another."""
    events, at = [annotation("ProfilerStep#1", 0, step)], 10.0
    for number, (name, time) in enumerate(times.items(), 1):
        events += [op(name, at, 2), *launched("kernel", kernels.get(name, "fill_kernel"), at + 1, at + 3, time, number)]
        at += 5 + time
    return events


def trace(path: Path, events: list[dict[str, Any]]) -> Path:
    """The events as a trace file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, events)
