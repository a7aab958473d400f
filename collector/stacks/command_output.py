"""What a command left behind, turned into samples/ and traces/ of its run folder.

Everything is optional but the files that metrics are read from; half a line and half a trace are findings, not errors.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from collector.stacks import training_output
from collector.stacks.interface import Observed
from ledger import extraction, parquet
from ledger.metrics import declared
from ledger.traces.interface import rank_in_name

ENDINGS = (".json", ".json.gz", ".json.zst", ".sqlite")
SAMPLES = {"steps.jsonl": parquet.STEPS, "requests.jsonl": parquet.REQUESTS}


def collect(out: Path, run: Path) -> Observed:
    """Copy and convert; `detail` names the first thing that is not there or not whole."""
    absent: dict[str, str] = {}
    problems = [_samples(out / name, run, schema) for name, schema in SAMPLES.items()]
    if (out / "summary.json").is_file():
        problems.append(training_output.collect_summary(out, run, absent))
    problems += [*keep_outputs(out, run), keep_traces(out / "traces", run)]
    found = [problem for problem in problems if problem]
    wrote = any(each.is_file() for each in out.rglob("*")) or _printed(run)
    return Observed(complete=not found, detail="; ".join(found) or None, absent=absent, anything=wrote)


def _printed(run: Path) -> bool:
    return any(log.stat().st_size for log in (run / "logs").glob("*.log"))


def _samples(path: Path, run: Path, schema: pa.Schema) -> str | None:
    """JSON lines as Parquet; a line that does not hold a row is left out and counted."""
    if not path.is_file():
        return None
    lines = path.read_bytes().splitlines()
    rows = [row for row in (_row(line, schema) for line in lines) if row is not None]
    if rows:
        parquet.write(run / "samples" / f"{path.stem}.parquet", rows, schema)
    broken = len(lines) - len(rows)
    return f"{broken} of {len(lines)} lines of {path.name} hold no row" if broken else None


def _row(line: bytes, schema: pa.Schema) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
        pa.RecordBatch.from_pylist([row], schema=schema)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, pa.ArrowException):
        return None
    return dict(row)


def keep_outputs(out: Path, run: Path) -> list[str]:
    """Keep the files that metrics are read from; what is wrong, a line each."""
    problems = []
    for name in dict.fromkeys(name for metric in declared.of_folder(run) for name in metric.inputs):
        target = run / name
        if target.parts[-2:-1] == ("logs",) or target.is_file():
            continue
        source = out / Path(name).relative_to(extraction.OUTPUT)
        if not source.is_file() or not source.resolve().is_relative_to(out.resolve()):
            problems.append(f"the command wrote no {source.relative_to(out)}")
        elif source.stat().st_size > extraction.MOST_BYTES:
            problems.append(f"{source.relative_to(out)} is larger than {extraction.MOST_BYTES >> 20} MiB")
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    return problems


def keep_traces(folder: Path, run: Path) -> str | None:
    """Copy traces under the name of their rank: what the file's name says, else its place among the files.

    Returns what is wrong with them, in words, or None.
    """
    files = sorted(each for each in folder.glob("*") if each.is_file() and each.name.endswith(ENDINGS))
    taken: set[int] = set()
    for place, path in enumerate(files):
        named = rank_in_name(path)
        rank = place if named is None else named
        if rank in taken:
            return f"two traces are of rank {rank}"
        taken.add(rank)
        (run / "traces").mkdir(parents=True, exist_ok=True)
        ending = next(each for each in sorted(ENDINGS, key=len, reverse=True) if path.name.endswith(each))
        shutil.copyfile(path, run / "traces" / f"rank-{rank}{ending}")
    return None
