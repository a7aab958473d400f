"""Logs of Megatron-LM: time of an iteration, FLOP/s, loss; parallelism and batch from its printed arguments.

Layout: https://github.com/NVIDIA/Megatron-LM (`megatron/training/training.py`, `megatron/training/arguments.py`).
"""

from __future__ import annotations

import re
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

STEP = re.compile(
    r"^.*?\biteration\s+(?P<step>\d+)/\s*(?P<total>\d+|infinity)\s*\|(?P<rest>.*elapsed time per iteration \(ms\):.*)$",
    re.M,
)
TIME, FLOPS, LOSS = "elapsed time per iteration (ms)", "throughput per GPU (TFLOP/s/GPU)", "lm loss"
_PART = re.compile(r"\|?\s*(?P<name>[^|:]+?)\s*:\s*(?P<value>[-+\d.eE]+|nan|inf)\s*(?=\||$)", re.I)
_ARGUMENT = re.compile(r"^(?:\[[^\]]*\]:?)?\s*(?P<name>\w+) \.{3,} (?P<value>.*\S)\s*$", re.M)
_PLAN = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_model_parallel_size",
    "dp": "data_parallel_size",
}
_SHAPE = {"layers": "num_layers", "hidden_size": "hidden_size", "heads": "num_attention_heads"}


class MegatronLog(CollectionImporter):
    """Console logs of Megatron-LM and of what is made from it."""

    name = "megatron-log"
    title = "logs of Megatron-LM"

    def detect(self, path: Path) -> Match | None:
        """By a line of an iteration with its elapsed time."""
        if path.is_dir():
            logs = (each for each in sorted(path.iterdir())[:50] if each.suffix in log_steps.ENDINGS and each.is_file())
            found = next((each for each in logs if log_steps.has(each, STEP)), None)
            return Match(LIKELY, f"{found.name} has iterations as Megatron-LM logs them") if found else None
        if path.suffix in log_steps.ENDINGS and log_steps.has(path, STEP):
            return Match(SURE, "iterations as Megatron-LM logs them (elapsed time per iteration)")
        return None

    def read(self, files: Files, facts: Facts) -> Collection:
        """One row a log; of a log with several launches the last one."""
        language = dialect.load("megatron_log")
        problems: list[Problem] = []

        def make(id: str, text: str) -> Draft:
            return _draft(id, text, language, str(files.path))

        drafts = log_steps.each_log(files, STEP, make, problems)
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _draft(id: str, text: str, language: Dialect, where: str) -> Draft:
    made = Draft(id, id, framework="megatron-lm")
    log_steps.describe(made)
    matches = list(STEP.finditer(text))
    lines, restarts = log_steps.last_run([Line(int(each["step"]), _numbers(each["rest"])) for each in matches])
    if not lines:
        raise InputError("has no iteration as Megatron-LM logs it", where=where, todo="name the console log of a run")
    if restarts:
        made.problem("several_launches", f"the iteration goes back {restarts} times: only the last launch is taken")
    _describe(made, text, lines)
    step_time = log_steps.mean(lines, TIME)
    tokens = made.workload.get("tokens_per_step")
    flops = log_steps.mean(lines, FLOPS, rate=True)
    found: dict[str, float | Absent] = {
        TIME: step_time,
        FLOPS: flops * 1e12 if isinstance(flops, float) else flops,
        LOSS: log_steps.last(lines, LOSS),
        "tokens_per_second": tokens / step_time * 1e3
        if tokens and isinstance(step_time, float)
        else Absent("the work of an iteration is not known"),
    }
    for name, value in found.items():
        entry = language.entries[name]
        made.keep(entry.metric, value if isinstance(value, Absent) else entry.read(value))
    log_steps.outcome(made, text, lines, values.whole(matches[-1]["total"]))
    return made


def _numbers(rest: str) -> dict[str, float]:
    found = {}
    for match in _PART.finditer(rest):
        try:
            found[match["name"].strip()] = float(match["value"])
        except ValueError:
            continue
    return found


def _describe(made: Draft, text: str, lines: list[Line]) -> None:
    """Parallelism, shape and batch from the printed arguments; iterations that were skipped."""
    told = {match["name"]: match["value"] for match in _ARGUMENT.finditer(text)}
    plan = {name: values.whole(told.get(argument)) for name, argument in _PLAN.items()}
    made.workload["parallelism"] = {name: size for name, size in plan.items() if size is not None}
    made.workload["architecture"] = {
        name: values.whole(told[argument]) for name, argument in _SHAPE.items() if argument in told
    }
    made.workload["precision"] = names.precision(str(told.get("params_dtype") or "").removeprefix("torch.") or None)
    made.hardware["count"] = values.whole(told.get("world_size"))
    batches = {line.numbers["global batch size"] for line in lines if "global batch size" in line.numbers}
    stated = values.whole(told.get("global_batch_size"))
    if len(batches) > 1:
        made.problem("changing_batch", f"the global batch changes from {min(batches):g} to {max(batches):g}")
    else:
        batch = round(batches.pop()) if batches else stated
        log_steps.work(made, batch, values.whole(told.get("seq_length")))
    skipped = sum(line.numbers.get("number of skipped iterations", 0) for line in lines)
    broken = sum(line.numbers.get("number of nan iterations", 0) for line in lines)
    if skipped or broken:
        made.problem("skipped_iterations", f"{skipped:g} iterations were skipped, {broken:g} had NaN")
    made.title = (
        f"Megatron-LM, {', '.join(f'{name} {size}' for name, size in made.workload['parallelism'].items()) or made.id}"
    )
