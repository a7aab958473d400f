"""SGLang's `bench_serving`: JSON lines, one appended for each run, with single requests under `--output-details`.

Layout: https://docs.sglang.ai/developer_guide/bench_serving.html
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from collector.importers import client_lists, dialect, draft, serving, values
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files, first_lines, mapping
from collector.importers.interface import LIKELY, SURE, CollectionImporter, Facts, Match
from ledger.errors import InputError
from ledger.public import Collection, Problem

KEYS = ("total_output_tokens_retokenized", "mean_e2e_latency_ms", "completed")
"""Keys that only this client's results have together."""
_ENDINGS = (".jsonl", ".json")
_SETTINGS = ("tag", "backend", "dataset_name", "random_range_ratio", "sharegpt_output_len")


class SglangBench(CollectionImporter):
    """Results of SGLang's own benchmark client, against any server."""

    name = "sglang-bench"
    title = "SGLang bench_serving (JSON lines)"

    def detect(self, path: Path) -> Match | None:
        """By the keys of a run."""
        if path.is_dir():
            for each in sorted(path.glob("*.json*"))[:50]:
                if each.is_file() and _has_keys(first_lines(each)):
                    return Match(LIKELY, f"{each.name} is a result of SGLang's bench_serving")
            return None
        if path.suffix in _ENDINGS and _has_keys(first_lines(path)):
            return Match(SURE, f"a result of SGLang's bench_serving: {', '.join(KEYS)}")
        return None

    def read(self, files: Files, facts: Facts) -> Collection:
        """Every run of every file; in a folder, files of other kinds are told and left out."""
        language = dialect.load("sglang_bench")
        problems: list[Problem] = []
        drafts: list[Draft] = []
        for name in files.names(*_ENDINGS):
            records = files.json_values(name)
            if not all(_is_run(record) for record in records):
                if not files.path.is_dir():
                    todo = "name the file that --output-file wrote"
                    raise InputError("is no result of bench_serving", where=files.where(name), todo=todo)
                problems.append(Problem("other_format", f"{name}: is no result of bench_serving: not taken"))
                continue
            stem = name.removesuffix(".jsonl").removesuffix(".json")
            for number, record in enumerate(records, 1):
                id = f"{stem}/{number}" if len(records) > 1 else stem
                drafts.append(_draft(id, record, language, files.where(name)))
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _has_keys(text: str) -> bool:
    return all(f'"{key}"' in text for key in KEYS)


def _is_run(record: Any) -> bool:
    return all(key in mapping(record) for key in KEYS)


def _draft(id: str, record: dict[str, Any], language: Dialect, where: str) -> Draft:
    made = Draft(id, id)
    serving.describe(made)
    answered = values.whole(record["completed"])
    lists = client_lists.read(record, where)
    failed = client_lists.failed(lists)
    record = {**record}
    if failed is not None and answered is not None and failed + answered:
        record["error_rate"] = failed / (failed + answered)
    else:
        made.missing["error_rate"] = "the file counts no failed requests without --output-details"
    _load(made, record, answered)
    if client_lists.single_tokens(lists):
        record = {f"{key} of single tokens" if key.endswith("_itl_ms") else key: value for key, value in record.items()}
    serving.take_all(made, language, record, answered)
    client_lists.check(made, lists)
    serving.end(made, answered, failed)
    return made


def _load(made: Draft, record: dict[str, Any], answered: int | None) -> None:
    rate, concurrency = serving.rate(record.get("request_rate")), values.whole(record.get("max_concurrency"))
    tokens = {side: values.whole(record.get(f"total_{side}_tokens")) for side in ("input", "output")}
    server = _server(record.get("server_info"))
    made.workload |= {
        "model": server.get("model_path"),
        "dataset": values.known(record.get("dataset_name")),
        "request_rate": rate,
        "concurrency": concurrency,
        "load": "open loop" if rate else "closed loop" if concurrency else "all at once",
        **{f"mean_{side}_length": count / answered for side, count in tokens.items() if count and answered},
    }
    if server:
        made.framework, made.framework_version = "sglang", values.known(server.get("version"))
        made.workload["parallelism"] = {
            name: server[f"{name}_size"] for name in ("tp", "dp", "ep", "pp") if f"{name}_size" in server
        }
    made.settings = {name: record[name] for name in _SETTINGS if not values.is_nothing(record.get(name))}
    if rate and concurrency:
        made.problem("two_loads", f"open loop at {rate:g} a second, held back at {concurrency} in flight")
    if values.is_nothing(record.get("total_output_tokens")):
        return
    retokenized = values.whole(record.get("total_output_tokens_retokenized"))
    if tokens["output"] and retokenized is not None and abs(retokenized - tokens["output"]) > 0.05 * tokens["output"]:
        what = f"{tokens['output']:,} output tokens asked for, {retokenized:,} found in the answers"
        made.problem("output_length", what)


def _server(told: Any) -> dict[str, Any]:
    """What the server said of itself, an object or its text; empty where it did not."""
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except (ValueError, RecursionError):
            return {}
    return mapping(told)
