"""Where the engine's time goes, by the module that spends it: `python stages.py FILE` prints seconds as JSON.

One profiled run in one process, apart from the timed ones: profiling slows what it looks at, so only the shares count.
A module is charged with its own functions and with what they call outside the engine, such as a decoder or a sort. The
thread that unpacks the file is not profiled: it is the CPU time that the main thread does not account for.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.performance import peers

STAGES = {
    "chunks": "cut", "kineto_text": "decode", "kineto_rows": "columns", "storage": "Parquet", "trace": "collect",
    "room": "collect", "breakdown": "explain", "work": "explain", "intervals": "explain", "nesting": "explain",
    "classes": "names", "flops": "columns", "source": "wait for the unpacked text", "reading": "Parquet",
}  # fmt: skip
"""What a module of ledger/traces does; another stands under its own name."""


def profiled(folder: Path) -> tuple[dict[str, float], list[tuple[str, float, int]]]:
    """Seconds a stage, and the functions of the engine with the most time: name, seconds, calls."""
    from ledger.traces.kineto import Kineto

    Kineto.parts = lambda self, path: 1  # type: ignore[method-assign]
    peers.nothing(folder)
    profile = cProfile.Profile()
    alone, all_threads = time.thread_time(), time.process_time()
    profile.enable()
    peers.ours(folder)
    profile.disable()
    alone, all_threads = time.thread_time() - alone, time.process_time() - all_threads
    seconds, functions = _charged(pstats.Stats(profile).stats)  # type: ignore[attr-defined]
    seconds["unpack (another thread)"] = max(0.0, all_threads - alone)
    return seconds, functions


def _charged(stats: Any) -> tuple[dict[str, float], list[tuple[str, float, int]]]:
    seconds: dict[str, float] = defaultdict(float)
    functions: dict[tuple[str, int, str], float] = defaultdict(float)
    for function, (_, _, own, _, callers) in stats.items():
        if _engine(function):
            functions[function] += own
            continue
        for caller, (_, _, _, spent) in callers.items():
            if _engine(caller):
                functions[caller] += spent
    for function, spent in functions.items():
        module = Path(function[0]).stem
        seconds[STAGES.get(module, module)] += spent
    top = [
        (f"{Path(name).name}:{line} {called}", spent, stats[name, line, called][1])
        for (name, line, called), spent in sorted(functions.items(), key=lambda each: -each[1])[:25]
    ]
    return seconds, top


def _engine(function: tuple[str, int, str]) -> bool:
    return "/ledger/" in function[0]


if __name__ == "__main__":
    shares, busiest = profiled(Path(sys.argv[1]))
    print(json.dumps({"stages": shares, "functions": busiest}))
