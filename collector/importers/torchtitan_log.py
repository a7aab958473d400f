"""Logs of TorchTitan: step time, tokens a second, MFU, loss, memory; model, mesh and batch where it says them.

Layout: https://github.com/pytorch/torchtitan (`torchtitan/components/metrics.py`, `torchtitan/train.py`).
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from pathlib import Path

from collector.importers import dialect, draft, log_steps, names, values
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files
from collector.importers.interface import LIKELY, SURE, CollectionImporter, Facts, Match
from collector.importers.log_steps import Line
from collector.importers.values import Absent
from ledger.errors import InputError
from ledger.public import Collection, Problem

STEP = re.compile(r"^(?P<before>.*?)step:\s*(?P<step>\d+)\s+loss:\s*(?P<rest>\S.*\btps:.*)$", re.M)
_NUMBER = r"(?P<{name}>[\d,]*\.?\d+(?:e[+-]?\d+)?|nan|inf)"
_PARTS = {
    "loss": re.compile(r"^" + _NUMBER.format(name="value"), re.I),
    "memory": re.compile(r"memory:\s*" + _NUMBER.format(name="value") + r"\s*GiB", re.I),
    "tps": re.compile(r"tps:\s*" + _NUMBER.format(name="value"), re.I),
    "mfu": re.compile(r"mfu:\s*" + _NUMBER.format(name="value") + r"\s*%", re.I),
}
_RANK = re.compile(r"\[rank(\d+)\]")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[,.](\d{1,6}))?")
_BATCH = re.compile(r"global batch size (\d+).*?sequence length (\d+).*?total steps (\d+)")
_MODEL = re.compile(r"Model (\S+(?: \S+)?) size: ([\d,]+) total parameters")
_MESH = re.compile(r"device mesh with \[([^\]]*)\], \[([^\]]*)\]")
_DEVICE = re.compile(r"capacity: (.+?) with [\d.]+\s*GiB")


class TorchtitanLog(CollectionImporter):
    """Console logs of TorchTitan."""

    name = "torchtitan-log"
    title = "logs of TorchTitan"

    def detect(self, path: Path) -> Match | None:
        """By a line of a step with its `tps:`."""
        if path.is_dir():
            logs = (each for each in sorted(path.iterdir())[:50] if each.suffix in log_steps.ENDINGS and each.is_file())
            found = next((each for each in logs if log_steps.has(each, STEP)), None)
            return Match(LIKELY, f"{found.name} has steps as TorchTitan logs them") if found else None
        if path.suffix in log_steps.ENDINGS and log_steps.has(path, STEP):
            return Match(SURE, "steps as TorchTitan logs them (step: … loss: … tps: …)")
        return None

    def read(self, files: Files, facts: Facts) -> Collection:
        """One row a log; of a log with several launches the last one."""
        language = dialect.load("torchtitan_log")
        problems: list[Problem] = []

        def make(id: str, text: str) -> Draft:
            return _draft(id, text, language, str(files.path))

        drafts = log_steps.each_log(files, STEP, make, problems)
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _draft(id: str, text: str, language: Dialect, where: str) -> Draft:
    made = Draft(id, id, framework="torchtitan")
    log_steps.describe(made)
    lines, restarts = log_steps.last_run(_lines(text))
    if not lines:
        raise InputError("has no step as TorchTitan logs it", where=where, todo="name the console log of a run")
    if restarts:
        made.problem("several_launches", f"the step goes back {restarts} times: only the last launch is taken")
    total = _describe(made, text)
    step_time = _step_time(lines)
    tokens = made.workload.get("tokens_per_step")
    found: dict[str, float | Absent] = {
        "step_time": step_time,
        "tps": log_steps.mean(lines, "tps", rate=True),
        "mfu": log_steps.mean(lines, "mfu", rate=True),
        "loss": log_steps.last(lines, "loss"),
        "memory": max(
            (line.numbers["memory"] for line in lines if "memory" in line.numbers), default=Absent("not told")
        ),
        "tokens_per_second": tokens / step_time
        if tokens and isinstance(step_time, float)
        else Absent("the work of a step or its time is not known"),
    }
    for name, value in found.items():
        entry = language.entries[name]
        made.keep(entry.metric, value if isinstance(value, Absent) else entry.read(value))
    log_steps.outcome(made, text, lines, total)
    return made


def _lines(text: str) -> list[Line]:
    """The logged steps of the lowest rank that logs any."""
    by_rank: dict[int, list[Line]] = {}
    for match in STEP.finditer(text):
        rank = _RANK.search(match["before"])
        numbers = {}
        for name, pattern in _PARTS.items():
            found = pattern.search(match["rest"])
            if found:
                numbers[name] = float(found["value"].replace(",", ""))
        line = Line(int(match["step"]), numbers, _time(match["before"]))
        by_rank.setdefault(int(rank[1]) if rank else 0, []).append(line)
    return by_rank[min(by_rank)] if by_rank else []


def _time(text: str) -> float | None:
    match = _TIME.search(text)
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[1])
    except ValueError:
        return None
    since = moment - datetime(1970, 1, 1)
    return since.total_seconds() + float(f"0.{match[2] or 0}")


def _step_time(lines: list[Line]) -> float | Absent:
    timed = [(line.step, line.time_s) for line in lines if line.time_s is not None]
    if len(timed) < 2:
        return Absent("the log has no two lines with a time")
    (first, start), (last, end) = timed[0], timed[-1]
    return (end - start) / (last - first) if end > start else Absent("the log's times do not go on")


def _describe(made: Draft, text: str) -> int | None:
    """Model, devices, mesh and batch as the log states them; returns the steps that the run should have."""
    batch, model, mesh, device = (pattern.search(text) for pattern in (_BATCH, _MODEL, _MESH, _DEVICE))
    if model:
        made.workload["model"] = model[1]
        made.workload["architecture"] = {"parameters": values.whole(model[2].replace(",", ""))}
    if device:
        made.hardware |= names.hardware(device[1])
    if mesh:
        sizes = [values.whole(each.strip()) for each in mesh[2].split(",")]
        made.workload["parallelism"] = dict(
            zip((each.strip(" '\"") for each in mesh[1].split(",")), sizes, strict=False)
        )
        if all(sizes):
            made.hardware["count"] = math.prod(size for size in sizes if size)
    if batch:
        log_steps.work(made, int(batch[1]), int(batch[2]))
    made.title = f"TorchTitan, {made.workload.get('model') or 'model not told'} ({made.id})"
    return int(batch[3]) if batch else None
