"""`vllm bench serve`, `sweep serve`, `throughput` and `latency`: JSON files, one run each or several appended.

Layout: https://docs.vllm.ai/en/latest/benchmarking/ (`--save-result`, `--save-detailed`, `--append-result`).
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from collector.importers import client_lists, dialect, draft, serving, values
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files, first_lines, mapping
from collector.importers.interface import LIKELY, SURE, CollectionImporter, Facts, Match
from ledger.errors import InputError
from ledger.public import Collection, Problem

SERVE = ("total_token_throughput", "num_prompts", "tokenizer_id")
"""Keys that only this client's result of a served load has together."""
THROUGHPUT = ("elapsed_time", "num_requests", "requests_per_second", "tokens_per_second")
LATENCY = ("avg_latency", "latencies", "percentiles")
FAILURE = ("error_type", "error", "serve_overrides")
_KINDS = (SERVE, THROUGHPUT, LATENCY, FAILURE)
_FACTS = frozenset(
    {
        "model_id", "tokenizer_id", "backend", "endpoint_type", "num_prompts", "request_rate", "max_concurrency",
        "duration", "completed", "failed", "total_input_tokens", "total_output_tokens", "generated_texts",
        "start_times", "latencies", "queue_times", "percentiles", *client_lists.NAMES,
    }
)  # fmt: skip


class VllmBench(CollectionImporter):
    """Results of vLLM's own benchmark client, against any server."""

    name = "vllm-bench"
    title = "vllm bench serve, sweep, throughput and latency (JSON)"

    def detect(self, path: Path) -> Match | None:
        """By the keys of a file, or of the first such file in a folder."""
        if path.is_dir():
            for each in sorted([*path.glob("*.json"), *path.glob("*/*.json")])[:50]:
                if each.is_file() and _keys_in(first_lines(each)):
                    return Match(LIKELY, f"{each.relative_to(path)} is a result of vllm bench")
            return None
        keys = _keys_in(first_lines(path)) if path.suffix in (".json", ".jsonl") else None
        return Match(SURE, f"a result of vllm bench: {', '.join(keys)}") if keys else None

    def read(self, files: Files, facts: Facts) -> Collection:
        """Every run below the path; a sweep's summaries, which hold the same runs again, are left out."""
        language = dialect.load("vllm_bench")
        problems: list[Problem] = []
        drafts: list[Draft] = []
        for name in files.names(".json", ".jsonl"):
            stem = PurePosixPath(name).name.removesuffix(".json").removesuffix(".jsonl")
            if files.path.is_dir() and (stem in ("summary", "warmup") or stem.endswith(".pytorch")):
                problems.append(Problem("left_out", f"{name}: {'a warm-up' if stem == 'warmup' else 'the same again'}"))
                continue
            drafts += _drafts(files, name, language, problems)
        _repeats(drafts)
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _keys_in(text: str) -> tuple[str, ...] | None:
    return next((keys for keys in _KINDS if all(f'"{key}"' in text for key in keys)), None)


def _drafts(files: Files, name: str, language: Dialect, problems: list[Problem]) -> list[Draft]:
    """The runs in one file. In a folder a file of another kind is told and left out."""
    records = files.json_values(name)
    records = [each for record in records for each in (record if isinstance(record, list) else [record])]
    found = []
    for record in records:
        kind = next((keys for keys in _KINDS if keys and all(key in mapping(record) for key in keys)), None)
        if kind is None:
            if files.path.is_dir():
                problems.append(Problem("other_format", f"{name}: is no result of vllm bench: not taken"))
                return []
            todo = "name the file that --save-result or --output-json wrote"
            raise InputError("is no result of vllm bench", where=files.where(name), todo=todo)
        made = Draft(name.removesuffix(".json").removesuffix(".jsonl"), name)
        serving.describe(made)
        _READERS[kind](made, record, language, files.where(name))
        found.append(made)
    return found


def _serve(made: Draft, record: dict[str, Any], language: Dialect, where: str) -> None:
    answered, failed = values.whole(record.get("completed")), values.whole(record.get("failed"))
    asked = values.whole(record.get("num_prompts"))
    if failed is None and asked is not None and answered is not None and asked >= answered:
        failed = asked - answered
    record = {key.removesuffix(":"): value for key, value in record.items()}
    if answered is not None and failed is not None and answered + failed:
        record["error_rate"] = failed / (answered + failed)
    _load(made, record, answered)
    lists = client_lists.read(record, where)
    if client_lists.single_tokens(lists):
        record = {f"{key} of single tokens" if key.endswith("_itl_ms") else key: value for key, value in record.items()}
    serving.take_all(made, language, record, answered)
    if record.get("request_goodput") is None and "request_goodput" in record:
        made.missing["goodput@vllm-bench"] = "no limits were given to the client"
    client_lists.check(made, lists)
    serving.end(made, answered, failed)


def _load(made: Draft, record: dict[str, Any], answered: int | None) -> None:
    rate, concurrency = serving.rate(record.get("request_rate")), values.whole(record.get("max_concurrency"))
    tokens = {
        "input": values.whole(record.get("total_input_tokens")),
        "output": values.whole(record.get("total_output_tokens")),
    }
    made.workload |= {
        "model": values.known(record.get("model_id")),
        "tokenizer": values.known(record.get("tokenizer_id")),
        "requests": values.whole(record.get("num_prompts")),
        "request_rate": rate,
        "concurrency": concurrency,
        "load": "open loop" if rate else "closed loop" if concurrency else "all at once",
        **{f"mean_{side}_length": count / answered for side, count in tokens.items() if count and answered},
        **{f"{side}_length": _same(record.get(f"{side}_lens")) for side in ("input", "output")},
    }
    if rate and concurrency:
        made.problem("two_loads", f"open loop at {rate:g} a second, held back at {concurrency} in flight")
    made.settings = {
        key: value
        for key, value in record.items()
        if key not in _FACTS
        and key not in ("request_goodput", "error_rate")
        and not key.endswith(("_ms", "_throughput"))
        and (value is None or isinstance(value, str | int | float | bool))
        and not values.is_nothing(value)
    }
    made.settings["endpoint_type"] = record.get("endpoint_type") or record.get("backend")
    made.title = f"{made.workload['model']}, {made.workload['load']}{f' of {concurrency}' if concurrency else ''}"


def _same(lengths: Any) -> int | None:
    """The length that all requests have; failed ones have 0."""
    found = {values.whole(each) for each in lengths} - {0} if isinstance(lengths, list) else set()
    return found.pop() if len(found) == 1 else None


def _throughput(made: Draft, record: dict[str, Any], language: Dialect, _: str) -> None:
    made.title = f"{record.get('model_id') or made.title}, offline throughput"
    made.workload |= {
        "model": record.get("model_id"),
        "requests": values.whole(record.get("num_requests")),
        "load": "offline",
    }
    made.framework = "vllm"
    serving.take_all(made, language, record, values.whole(record.get("num_requests")))


def _latency(made: Draft, record: dict[str, Any], language: Dialect, _: str) -> None:
    made.title = f"{record.get('model_id') or made.title}, latency of one batch"
    made.workload |= {"model": record.get("model_id"), "load": "offline, one batch"}
    made.framework = "vllm"
    times = mapping(record.get("percentiles"))
    iterations = record["latencies"] if isinstance(record["latencies"], list) else []
    record = {**record, **{f"batch latency p{percentile}": value for percentile, value in times.items()}}
    serving.take_all(made, language, record, len(iterations))
    if len(iterations) > 1:
        made.cannot_show.pop("repeats")
        made.shows["repeats"] = f"{len(iterations)} iterations in one launch"


def _failure(made: Draft, record: dict[str, Any], _: Dialect, __: str) -> None:
    made.state = "failed"
    said = " ".join(f"{record.get('error_type')}: {record.get('error')}".split())
    made.failure = said if len(said) <= 200 else f"{said[:197]}..."
    made.settings = {**mapping(record.get("serve_overrides")), **mapping(record.get("bench_overrides"))}


_READERS = {SERVE: _serve, THROUGHPUT: _throughput, LATENCY: _latency, FAILURE: _failure}


def _repeats(drafts: list[Draft]) -> None:
    """Runs of a sweep (`run=0.json`, `run=1.json`) with the same settings repeat each other."""
    groups: dict[str, list[Draft]] = {}
    for each in drafts:
        path = PurePosixPath(each.id)
        if path.name.startswith("run=") and each.state == "completed":
            groups.setdefault(str(path.parent), []).append(each)
    for group in groups.values():
        if len(group) > 1:
            for each in group:
                each.cannot_show.pop("repeats", None)
                each.shows["repeats"] = f"one of {len(group)} runs with these settings"
