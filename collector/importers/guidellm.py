"""GuideLLM's `benchmarks.json`: one benchmark a load, each with successful, incomplete and errored requests apart.

Layout: https://github.com/vllm-project/guidellm (`src/guidellm/benchmark/schemas`), from version 0.2 on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collector.importers import dialect, draft, serving, values
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files, first_lines, mapping
from collector.importers.interface import LIKELY, SURE, CollectionImporter, Facts, Match
from ledger.errors import InputError
from ledger.public import Collection, Problem

_STATES = ("successful", "incomplete", "errored")
_FLAT = ("mean", "median")


class GuideLlm(CollectionImporter):
    """Results of GuideLLM, against any server that speaks OpenAI's API."""

    name = "guidellm"
    title = "GuideLLM (benchmarks.json)"

    def detect(self, path: Path) -> Match | None:
        """By `benchmarks` with GuideLLM's own metrics."""
        if path.is_dir():
            for each in sorted(path.glob("*.json"))[:50]:
                if each.is_file() and _looks_like(each):
                    return Match(LIKELY, f"{each.name} is a result of GuideLLM")
            return None
        if path.suffix == ".json" and _looks_like(path):
            return Match(SURE, "a result of GuideLLM: benchmarks with successful, incomplete and errored requests")
        return None

    def read(self, files: Files, facts: Facts) -> Collection:
        """Every benchmark of every file; in a folder, files of other kinds are told and left out."""
        language = dialect.load("guidellm")
        problems: list[Problem] = []
        drafts: list[Draft] = []
        for name in files.names(".json"):
            content = mapping(files.json(name))
            benchmarks = content.get("benchmarks")
            if not isinstance(benchmarks, list) or not all(_is_benchmark(each) for each in benchmarks):
                if not files.path.is_dir():
                    todo = "name the benchmarks.json that GuideLLM wrote"
                    raise InputError("is no result of GuideLLM", where=files.where(name), todo=todo)
                problems.append(Problem("other_format", f"{name}: is no result of GuideLLM: not taken"))
                continue
            stem = name.removesuffix(".json")
            drafts += [_draft(f"{stem}/{number}", each, content, language) for number, each in enumerate(benchmarks, 1)]
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _looks_like(path: Path) -> bool:
    start = first_lines(path)
    if '"benchmarks"' not in start:
        return False
    return "guidellm" in start.lower() or '"time_to_first_token_ms"' in start or '"generative_benchmark"' in start


def _is_benchmark(benchmark: Any) -> bool:
    metrics = mapping(mapping(benchmark).get("metrics"))
    return any(isinstance(each, dict) and "successful" in each for each in metrics.values())


def _draft(id: str, benchmark: dict[str, Any], report: dict[str, Any], language: Dialect) -> Draft:
    made = Draft(id, id)
    serving.describe(made)
    metrics = mapping(benchmark.get("metrics"))
    counts = _counts(benchmark, metrics)
    answered, failed = counts.get("successful"), counts.get("errored")
    record = {name: value for metric, told in metrics.items() for name, value in _statistics(metric, told)}
    if answered is not None and failed is not None and answered + failed:
        record["error_rate"] = failed / (answered + failed)
    _describe(made, benchmark, report, counts)
    serving.take_all(made, language, record, answered)
    serving.end(made, answered, failed)
    if counts.get("incomplete"):
        what = f"{counts['incomplete']} requests were cut off by the end of the benchmark and count nowhere"
        made.problem("incomplete_requests", what)
    details = mapping(benchmark.get("requests"))
    kept = sum(len(details[state]) for state in _STATES if isinstance(details.get(state), list))
    if kept:
        made.cannot_show.pop("requests", None)
        made.shows["requests"] = f"{kept:,} requests with times and tokens, which may be a sample"
    return made


def _statistics(metric: str, told: Any) -> list[tuple[str, Any]]:
    """`METRIC STATISTIC` and value of the successful requests; percentiles stand in an object of their own."""
    summary = mapping(mapping(told).get("successful"))
    found = [(f"{metric} {name}", summary[name]) for name in _FLAT if name in summary]
    return found + [(f"{metric} {name}", value) for name, value in mapping(summary.get("percentiles")).items()]


def _counts(benchmark: dict[str, Any], metrics: dict[str, Any]) -> dict[str, int]:
    """Requests by how they ended, from wherever this version keeps them."""
    places = (
        metrics.get("request_totals"),
        mapping(benchmark.get("scheduler_metrics")).get("requests_made"),
        mapping(benchmark.get("run_stats")).get("requests_made"),
        benchmark.get("request_totals"),
    )
    told = next((mapping(place) for place in places if place), {})
    found = {state: values.whole(told.get(state)) for state in _STATES}
    return {state: count for state, count in found.items() if count is not None}


def _describe(made: Draft, benchmark: dict[str, Any], report: dict[str, Any], counts: dict[str, int]) -> None:
    """Load, model and server, from the places of the versions that are known."""
    config = mapping(benchmark.get("config")) or mapping(benchmark.get("args"))
    strategy = mapping(config.get("strategy")) or mapping(config.get("profile"))
    backend = mapping(config.get("backend")) or mapping(benchmark.get("worker")) or mapping(report.get("args"))
    kind = str(strategy.get("type_") or strategy.get("kind") or config.get("rate_type") or "") or None
    streams = strategy.get("streams", strategy.get("max_concurrency"))
    rate = serving.rate(strategy.get("rate"))
    model = backend.get("backend_model") or backend.get("model") or mapping(report.get("args")).get("model")
    made.workload |= {
        "model": values.known(model),
        "load": {"concurrent": "closed loop", "synchronous": "closed loop", "throughput": "all at once"}.get(
            str(kind), "open loop" if rate else None
        ),
        "requests": sum(counts.values()) or None,
        "request_rate": rate,
        "concurrency": 1 if kind == "synchronous" else values.whole(streams),
    }
    made.settings = {"strategy": kind} if kind else {}
    version = mapping(report.get("metadata")).get("guidellm_version")
    if version:
        made.settings["guidellm_version"] = version
    made.title = (
        f"{made.workload['model'] or 'model not told'}, {kind or 'load not told'} {rate or streams or ''}".strip()
    )
