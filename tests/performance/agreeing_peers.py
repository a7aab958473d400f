"""One reader on one GPU trace: `python agreeing_peers.py hta|ours FILE` prints what it says as JSON, in nanoseconds.

Both speak of the same work, which is HTA's choice: with two profiled steps or more, the work that a call launched
before the last step's end; else all of it. They speak of it as one stretch of time, from the first piece's start to
the last's end.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CATEGORIES = {"kernel": "kernels", "gpu_memcpy": "copies", "memcpy": "copies", "gpu_memset": "fills", "memset": "fills"}


def hta(path: Path) -> dict[str, Any]:
    """What Holistic Trace Analysis says."""
    import logging
    import warnings

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    import numpy as np
    from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found]
    from hta.utils.utils import get_kernel_type, merge_kernel_intervals  # type: ignore[import-not-found]

    analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent), include_last_profiler_step=True)
    whole = analysis.t.get_trace(0)
    work = whole[whole["stream"].ne(-1)].drop_duplicates("index").copy()  # two calls of one correlation double a row
    symbols = analysis.t.symbol_table.get_sym_table()
    found = dict.fromkeys(("pieces", *CATEGORIES.values()), 0)
    for category, count in work["cat"].map(lambda each: symbols[each].lower()).value_counts().items():
        found[CATEGORIES.get(category, "others")] = found.get(CATEGORIES.get(category, "others"), 0) + int(count)
    found["pieces"] = len(work)
    latest = float(whole["ts"].max() + analysis.t.min_ts)
    found["resolution"] = 1000 * float(np.spacing(latest)) if whole["ts"].dtype.kind == "f" else 0
    kind = work["name"].map(lambda each: get_kernel_type(symbols[each]))
    for name, wanted in (("communication", "COMMUNICATION"), ("copy", "MEMORY")):
        merged = merge_kernel_intervals(work[kind == wanted].copy())
        found[name] = 1000 * float((merged["end"] - merged["ts"]).sum())
    try:
        times = analysis.get_temporal_breakdown(visualize=False).to_dict("records")[0]
        share = analysis.get_comm_comp_overlap(visualize=False).to_dict("records")[0]["comp_comm_overlap_pctg"]
    except Exception as error:
        return {**found, "why": f"its breakdown ends with {type(error).__name__} {str(error)[:60]}".rstrip()}
    found["span"] = 1000 * float(times["kernel_time(us)"])
    found["compute"] = 1000 * float(times["compute_time(us)"])
    found["not_compute"] = 1000 * float(times["non_compute_time(us)"])
    found["idle"] = 1000 * float(times["idle_time(us)"])
    found["busy"] = found["span"] - found["idle"]
    if share == share:  # not a number where there is no communication
        found["overlap"] = share / 100
    return found


def ours(path: Path) -> dict[str, Any]:
    """What our breakdown of the same work says, steps taken together."""
    sys.path.insert(0, str(ROOT))
    from dataclasses import replace

    import numpy as np

    from ledger.traces import reading
    from ledger.traces.breakdown import explain, worked
    from ledger.traces.interface import Kind
    from ledger.traces.intervals import joined, union_of
    from ledger.traces.trace import Events
    from ledger.traces.work import COMMUNICATION, COPY

    trace = reading.read(path)
    events = trace.events
    chosen = events.where(*(kind for kind in Kind if kind != Kind.ANNOTATION))
    chosen = np.setdiff1d(chosen, _left_out(trace))
    columns = ("kind", "name", "track", "start", "end", "correlation", "external")
    trace = replace(trace, events=Events(*(getattr(events, name)[chosen] for name in columns)))
    events, device = trace.events, trace.device
    counts = {name: int((events.kind == kind).sum()) for name, kind in _counted(Kind)}
    found: dict[str, Any] = {"pieces": int(device.size), **counts, "named": {}}
    if not device.size:
        return found
    pieces = [(work.code, work.start, work.end) for work in worked(trace)]
    code, start, end = (np.concatenate(column) for column in zip(*pieces, strict=True))

    def union(chosen: Any) -> Any:
        return union_of(start[chosen], end[chosen])

    compute, communication, copies = union(code < COMMUNICATION), union(code == COMMUNICATION), union(code == COPY)
    span, busy = int(end.max() - start.min()), joined([compute, communication, copies]).length
    found |= {"span": span, "busy": busy, "compute": compute.length, "not_compute": busy - compute.length}
    found |= {"communication": communication.length, "copy": copies.length, "idle": span - busy}
    if communication.length:
        found["overlap"] = 1 - (communication - compute).length / communication.length
    _check(explain(trace).steps, found, int(start.min()))
    found["named"] = _named_otherwise(trace)
    return found


def _check(steps: Any, found: dict[str, Any], first: int) -> None:
    """The breakdown of all as one step says the same, where its window holds all: work that was launched before the
    trace belongs to no step."""
    (step,) = steps
    exposed = step.parts["exposed_communication"] + step.parts["exposed_copy"]
    said = (step.parts["compute"], exposed, step.communication)
    if step.window[0] <= first and said != (found["compute"], found["not_compute"], found["communication"]):
        sys.exit(f"the breakdown says {said}, the pieces of work {found}")


def _counted(kinds: Any) -> Any:
    return (("kernels", kinds.KERNEL), ("copies", kinds.MEMCPY), ("fills", kinds.MEMSET))


def _left_out(trace: Any) -> Any:
    """Work that HTA leaves out: with two profiled steps or more, what no call before the last one's end launched."""
    import numpy as np

    from ledger.traces.interface import ABSENT, Kind

    events, device = trace.events, trace.device
    is_step = np.array([name.startswith("ProfilerStep") for name in trace.names] or [False])
    steps = np.flatnonzero((events.kind == Kind.ANNOTATION) & is_step[events.name])
    if len(np.unique(events.name[steps])) < 2:
        return device[:0]
    calls = events.where(Kind.RUNTIME)
    calls = calls[(events.start[calls] <= events.end[steps].max()) & (events.correlation[calls] != ABSENT)]
    return device[~np.isin(events.correlation[device], events.correlation[calls])]


def _named_otherwise(trace: Any) -> dict[str, str]:
    """Quantities that differ since HTA goes by names where we go by records and more names; {quantity: why}."""
    from ledger.traces.classes import Role, table
    from ledger.traces.interface import Kind

    why = {}
    for kind, name in sorted({(kind, name) for kind, name in _kinds_and_names(trace)}):
        text = trace.names[name]
        mine = "communication" if table().role(text) is Role.COMMUNICATION else "compute"
        mine = mine if kind == Kind.KERNEL else "copy"
        theirs = _hta_kind(text)
        if mine != theirs:
            words = f"HTA goes by names: {text[:40]} is {theirs}, not {mine}"
            affected = {mine, theirs, "not_compute"} | ({"overlap"} if "communication" in (mine, theirs) else set())
            why |= dict.fromkeys(affected, words)
    return why


def _kinds_and_names(trace: Any) -> Any:
    events, device = trace.events, trace.device
    return zip(events.kind[device].tolist(), events.name[device].tolist(), strict=True)


def _hta_kind(name: str) -> str:
    """As `hta.utils.utils.get_kernel_type` (0.5.0) has it."""
    if re.match(r"nccl.*Kernel", name):
        return "communication"
    if re.match(r"Memcpy|Memset|dma", name):
        return "copy"
    return "neither" if re.match(r".*Memcpy|Memset|.*Sync", name) else "compute"


PEERS = {"hta": hta, "ours": ours}

if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
