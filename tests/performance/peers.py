"""What is compared, each as a process of its own: `python peers.py NAME FOLDER` prints what it found as JSON.

FOLDER holds the packed files, for json the plain ones.

ours: every rank-N.json.gz into Parquet tables, and everything that the engine says about it.
hta:  Holistic Trace Analysis: its load, its temporal breakdown and its overlap, the last step included.
json: `json.load` of the unpacked files and nothing else: what any tool in Python that parses them at once has to pay.

Nothing is imported before it is known which of them runs: hta runs in an environment without the others.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def ours(folder: Path) -> list[dict[str, Any]]:
    """Everything that a trace is read for; a dictionary a rank."""
    sys.path.insert(0, str(ROOT))
    from ledger.traces import reading
    from ledger.traces.breakdown import explain

    found, steps, ranks, calls = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="stackproof-performance-", dir=folder.parent) as scratch:
        for path in _files(folder, "rank-*.json.gz"):
            trace = reading.read(path, tables=Path(scratch) / path.name)
            explained = explain(trace)
            _optional("integrity", "inspect", trace)
            _optional("device_use", "device_use", trace, explained)
            steps.append(explained)
            ranks.append(_optional("integrity", "rank_record", trace))
            found.append(_said(trace, explained))
            calls.append(_optional("collectives", "of_rank", trace, explained))
            del trace
        _optional("integrity", "inspect_ranks", ranks)
        told = _optional("collectives", "across", calls)
        for each in found:
            each["collectives"] = None if told is None else len(told)
            each["metrics"] = _metrics(folder, tuple(steps))
    return found


def _said(trace: Any, explained: Any) -> dict[str, Any]:
    """What is compared with the promise of the file."""
    return {
        "events": trace.facts.total,
        "timed": trace.facts.total - trace.facts.untimed,
        "memory": len(trace.memory),
        "steps": [
            {
                "number": step.number,
                "parts": step.parts,
                "classes": {name: time for name, time in step.classes.items() if time},
                "communication": step.communication,
                "launches": step.launches,
                "flops": step.flops,
            }
            for step in explained.steps
        ],
    }


def _optional(module: str, function: str, *arguments: Any) -> Any:
    """What a module of the engine says, where this version has it."""
    name = f"ledger.traces.{module}"
    if importlib.util.find_spec(name) is None:
        return None
    return getattr(importlib.import_module(name), function)(*arguments)


def _metrics(folder: Path, breakdowns: tuple[Any, ...]) -> dict[str, Any]:
    """Every metric whose input is traces; a reason where it is missing."""
    from ledger import traces
    from ledger.metrics.registry import Missing, newest
    from ledger.metrics.tables import Tables

    tables = Tables(folder)
    vars(tables)["traces"] = breakdowns  # read already
    results = {each.id: each.compute(tables) for each in newest() if traces.PATTERN in each.inputs}
    return {
        name: result.reason if isinstance(result, Missing) else [each.value for each in result]  # type: ignore[union-attr]
        for name, result in results.items()
    }


def hta(folder: Path) -> dict[str, Any]:
    """Compute, idle and other time in microseconds of each rank, and the share of communication that compute covers."""
    import logging

    logging.disable(logging.WARNING)
    from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found]

    analyzer = TraceAnalysis(trace_dir=str(folder), include_last_profiler_step=True)
    times = analyzer.get_temporal_breakdown(visualize=False)
    overlap = analyzer.get_comm_comp_overlap(visualize=False)
    return {"times": times.to_dict("records"), "overlap": overlap.to_dict("records")}


def json_load(folder: Path) -> list[int]:
    """How many events each file has."""
    found = []
    for path in _files(folder, "rank-*.json"):
        with path.open("rb") as file:
            found.append(len(json.load(file)["traceEvents"]))
    return found


def nothing(folder: Path) -> None:
    """What importing the engine costs."""
    sys.path.insert(0, str(ROOT))
    import ledger.metrics.definitions
    import ledger.traces.breakdown  # noqa: F401


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern), key=lambda path: int(path.name.split(".")[0].rpartition("-")[2]))


PEERS = {"ours": ours, "hta": hta, "json": json_load, "import": nothing}

if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
