"""AIPerf: `profile_export_aiperf.json`, and beside it `profile_export.jsonl` with one line a request.

Layout: https://github.com/ai-dynamo/aiperf (`docs/tutorials/working-with-profile-exports.md`).
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from collector.importers import dialect, draft, names, serving, values
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files, first_lines, mapping
from collector.importers.interface import SURE, CollectionImporter, Facts, Match
from ledger.errors import InputError
from ledger.public import Collection, Problem

SUMMARY = "_aiperf.json"
REQUESTS = "profile_export.jsonl"
UNITS = {
    "requests/sec": "1/s",
    "requests/s": "1/s",
    "req/s": "1/s",
    "tokens/sec": "tokens/s",
    "tokens/sec/user": "tokens/s",
    "tokens/s/user": "tokens/s",
    "sec": "s",
}
"""{how AIPerf writes a unit: how it is written here}."""
_MARKS = ("request_count", "request_latency")
_CLOSE = 0.01


class AiPerf(CollectionImporter):
    """Results of NVIDIA's AIPerf, against any server."""

    name = "aiperf"
    title = "AIPerf (profile_export_aiperf.json)"

    def detect(self, path: Path) -> Match | None:
        """By the file's name, or by its own metrics with their units."""
        if path.is_dir():
            near = (each for depth in ("", "*/", "*/*/") for each in sorted(path.glob(f"{depth}*{SUMMARY}")))
            found = next((each for each in near if each.is_file()), None)
            return Match(SURE, f"{found.relative_to(path)} is AIPerf's summary") if found else None
        start = first_lines(path) if path.suffix == ".json" else ""
        if path.name.endswith(SUMMARY) or ('"request_latency"' in start and '"aiperf' in start):
            return Match(SURE, "AIPerf's summary") if '"request_latency"' in start else None
        return None

    def read(self, files: Files, facts: Facts) -> Collection:
        """Every summary below the path, with the requests beside it."""
        language = dialect.load("aiperf")
        problems: list[Problem] = []
        wanted = files.names(SUMMARY) if files.path.is_dir() else files.names(".json")
        if not wanted:
            what = "holds no AIPerf summary (profile_export_aiperf.json)"
            raise InputError(what, where=str(files.path), todo="name it or its folder")
        drafts = [_draft(files, name, language) for name in wanted]
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _draft(files: Files, name: str, language: Dialect) -> Draft:
    content = mapping(files.json(name))
    content = {**content, **mapping(content.get("records"))}
    metrics = {key: each for key, each in content.items() if isinstance(each, dict) and "avg" in each}
    if not all(mark in metrics for mark in _MARKS):
        what = "is no AIPerf summary (request_count and request_latency)"
        raise InputError(what, where=files.where(name), todo="name profile_export_aiperf.json")
    path = PurePosixPath(name)
    made = Draft(str(path.parent) if path.parent.name else path.name.removesuffix(".json"), name)
    serving.describe(made)
    answered = values.whole(metrics["request_count"]["avg"])
    failed = _failed(content)
    record = {f"{metric} {key}": value for metric, told in metrics.items() for key, value in told.items()}
    if answered is not None and answered + failed:
        record["error_rate"] = failed / (answered + failed)
    _describe(made, content)
    serving.take_all(made, _in_its_units(language, metrics), record, answered)
    serving.end(made, answered, failed)
    if content.get("was_cancelled") is True:
        made.problem("cancelled", "the benchmark was stopped before its end")
    _requests(made, files, path)
    return made


def _in_its_units(language: Dialect, metrics: dict[str, dict[str, Any]]) -> Dialect:
    """The dialect with the unit that the file states for each metric."""
    entries = {}
    for name, entry in language.entries.items():
        unit = mapping(metrics.get(name.partition(" ")[0])).get("unit")
        told = UNITS.get(str(unit), str(unit)) if unit else entry.written
        entries[name] = replace(entry, written=told)
    return Dialect(entries)


def _failed(content: dict[str, Any]) -> int:
    """Requests that failed: counted as such, else the sum of the summary of errors."""
    counted = values.whole(mapping(content.get("error_request_count")).get("avg"))
    if counted is not None:
        return counted
    errors = content.get("error_summary")
    counts = [values.whole(mapping(each).get("count")) or 0 for each in errors] if isinstance(errors, list) else []
    return sum(counts)


def _describe(made: Draft, content: dict[str, Any]) -> None:
    config = mapping(content.get("input_config"))
    endpoint, load = mapping(config.get("endpoint")), mapping(config.get("loadgen"))
    models = endpoint.get("model_names") if isinstance(endpoint.get("model_names"), list) else []
    rate, concurrency = serving.rate(load.get("request_rate")), values.whole(load.get("concurrency"))
    means = {side: mapping(content.get(f"{side}_sequence_length")).get("avg") for side in ("input", "output")}
    made.workload |= {
        "model": values.known(models[0]) if models else None,
        "load": "open loop" if rate else "closed loop" if concurrency else None,
        "request_rate": rate,
        "concurrency": concurrency,
        "requests": values.whole(mapping(content.get("request_count")).get("avg")),
        **{f"mean_{side}_length": value for side, value in means.items() if isinstance(value, int | float)},
    }
    gpus = [
        mapping(gpu)
        for endpoint_told in mapping(mapping(content.get("telemetry_data")).get("endpoints")).values()
        for gpu in mapping(mapping(endpoint_told).get("gpus")).values()
    ]
    kinds = {str(gpu["gpu_name"]) for gpu in gpus if gpu.get("gpu_name")}
    if len(kinds) == 1:
        made.hardware = {**names.hardware(kinds.pop()), "count": len(gpus)}
    made.settings = {
        name: value
        for name, value in {
            "aiperf_version": content.get("aiperf_version"),
            "schema_version": content.get("schema_version"),
            "endpoint_type": endpoint.get("type"),
            "streaming": endpoint.get("streaming"),
        }.items()
        if not values.is_nothing(value)
    }
    if rate and concurrency:
        made.problem("two_loads", f"open loop at {rate:g} a second, held back at {concurrency} in flight")
    made.title = f"{made.workload['model']}, {made.workload['load']}{f' of {concurrency}' if concurrency else ''}"


def _requests(made: Draft, files: Files, summary: PurePosixPath) -> None:
    """Count the single requests beside the summary, and hold its mean against theirs."""
    name = str(summary.with_name(REQUESTS))
    if not files.path.is_dir() or name not in files.names(".jsonl"):
        return
    records = [mapping(each) for each in files.json_values(name)]
    kept = [each for each in records if mapping(each.get("metadata")).get("benchmark_phase", "profiling") != "warmup"]
    failed = sum(bool(each.get("error")) for each in kept)
    made.cannot_show.pop("requests", None)
    made.shows["requests"] = f"{len(kept):,} requests, {failed:,} of them failed ({REQUESTS})"
    times = []
    for each in kept:
        told = mapping(mapping(each.get("metrics")).get("time_to_first_token"))
        found = values.number(told.get("value"), str(told.get("unit") or "ms"), "s")
        if not each.get("error") and isinstance(found, float):
            times.append(found)
    stated = made.values.get("ttft.mean@sent")
    if stated and times and abs(statistics.fmean(times) - stated) > _CLOSE * stated:
        what = f"mean time to first token: stated {stated:g} s, its own requests give {statistics.fmean(times):g} s"
        made.problem("disagrees_with_its_requests", what)
