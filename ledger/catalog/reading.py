"""One run folder as rows of the catalog.

Nothing enters the catalog that differs from what was sealed: the folder's id, and the digest of each file that is read,
are checked on the way. The rest of the format's rules are `ledger.verify`'s.
"""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from ledger import manifest, parquet
from ledger.canonical import bytes_digest
from ledger.catalog import derived
from ledger.catalog.arrow import Row, Tables, to_arrow
from ledger.errors import EvidenceError
from ledger.metrics import declared
from ledger.metrics.registry import Metric
from ledger.run import Run
from ledger.run_folder import RunFolder

MOST_VALUES = 10_000
"""Values that a YAML file may have: with aliases, a few lines can stand for billions."""

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


class _SealedFiles:
    """The folder's files, each read only when its bytes are those that the manifest states."""

    def __init__(self, folder: RunFolder, redacted: frozenset[str]) -> None:
        self.folder = folder
        self.redacted = redacted
        data = folder.bytes(manifest.NAME)
        if manifest.run_id(data) != folder.run_id:
            raise EvidenceError(f"{manifest.NAME} does not give the folder's id", where=str(folder.path))
        self.digests = manifest.parse(data, str(folder.path))

    def size(self, name: str) -> int | None:
        """Bytes of a plain file, None where there is none. Links are not followed."""
        try:
            found = (self.folder.path / name).lstat()
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def read(self, name: str) -> bytes | None:
        """A file's bytes; None when the run was sealed without it, or it was redacted. Raises EvidenceError."""
        if name not in self.digests:
            return None
        if self.size(name) is None:
            if name in self.redacted:
                return None
            raise EvidenceError(f"{name} is not there", where=str(self.folder.path))
        data = self.folder.bytes(name)
        if bytes_digest(data) != self.digests[name]:
            raise EvidenceError(f"{name} is not what was sealed", where=str(self.folder.path))
        return data


def read_run(
    folder: RunFolder, known: Mapping[str, pa.Schema], redacted: frozenset[str], kept: Path | None = None
) -> Tables:
    """All that the catalog takes from a run folder; files in `redacted` may be absent. Raises EvidenceError.

    `kept` is the folder of the cache of metrics that are newer than the run.
    """
    try:
        files = _SealedFiles(folder, redacted)
        common = {"run_id": folder.run_id}
        rows = _rows(files)
        rows["metrics"] += _derived_rows(files, rows["metrics"], kept)
        tables = {name: to_arrow(each, known[name], common) for name, each in rows.items()}
        samples = {"steps": parquet.STEPS, "requests": parquet.REQUESTS, "telemetry": parquet.TELEMETRY}
        for name, schema in samples.items():
            found = _samples(files, f"samples/{name}.parquet", schema)
            if found is not None:
                run_ids = pa.array([folder.run_id] * found.num_rows, pa.string())
                tables[name] = found.append_column("run_id", run_ids)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError, pa.ArrowException) as error:
        said = (str(error).splitlines() or [""])[0]
        raise EvidenceError(f"does not hold a run ({type(error).__name__}: {said})", where=str(folder.path)) from None
    return tables


def _rows(files: _SealedFiles) -> dict[str, list[Row]]:
    folder = files.folder
    run = Run.from_json(_json(files, "run.json"), str(folder.path))
    if f"{run.benchmark.name}/{run.date}/{run.stack}-{folder.run_id}" != folder.name:
        raise EvidenceError("run.json says that it belongs elsewhere", where=str(folder.path))
    card = _yaml(files.read("card.yaml"))
    return {
        "runs": [_run_row(folder, run)],
        "searches": _search_rows(run),
        "metrics": [_metric_row(each) for each in _json(files, "metrics.json", [])],
        "metric_definitions": _declared_rows(files),
        "cards": _leaf_rows("field", card),
        "settings": _leaf_rows("setting", run.settings),
        "environments": _leaf_rows("field", _json(files, "environment.json", {})),
        "prices": _price_rows(card, _yaml(files.read("benchmark.yaml")), run.stack),
        "files": [
            {"path": name, "sha256": digest, "bytes": files.size(name)} for name, digest in files.digests.items()
        ],
    }


def _json(files: _SealedFiles, name: str, absent: Any = None) -> Any:
    data = files.read(name)
    if data is None and absent is None:
        raise EvidenceError(f"{name} is not there", where=str(files.folder.path))
    return absent if data is None else json.loads(data, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


class _CardLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The quick loader where libyaml is there; dates stay text."""


_CardLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@lru_cache(maxsize=64)
def _yaml(data: bytes | None) -> dict[str, Any]:
    """The mapping of a YAML file; the runs of a batch share their benchmark file. Callers do not change it."""
    try:
        found = {} if data is None else yaml.load(data, Loader=_CardLoader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise ValueError(f"not a mapping but a {type(found).__name__}")
    _refuse_bomb(found)
    return found


def _refuse_bomb(data: Any) -> None:
    """Raise ValueError when `data`, its aliases followed, has more values than any card has."""
    waiting, count = [data], 0
    while waiting:
        value = waiting.pop()
        count += 1
        if count > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES} values in one file")
        if isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)


def _run_row(folder: RunFolder, run: Run) -> Row:
    return {
        "trial_key": run.trial_key,
        "benchmark": run.benchmark.name,
        "stack": run.stack,
        "role": run.role.value,
        "repeat": run.repeat,
        "attempt": run.attempt,
        "launch_order": run.launch_order,
        "state": run.outcome.state.value,
        "reason": run.outcome.reason.value if run.outcome.reason else None,
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "host": run.host,
        "path": folder.name,
        "detail": run.outcome.detail,
        "accepted": run.accepted,
        "workload_digest": run.workload_digest,
        "environment_digest": run.environment_digest,
        "batch": run.batch,
        "profile": run.benchmark.profile,
        "commit": run.benchmark.commit,
        "blob": run.benchmark.blob,
        "duplicate_of_attempt": run.duplicate_of_attempt,
        "adapter": run.adapter,
        "intervention": run.arm.intervention if run.arm else None,
        "changed": run.arm.changed if run.arm else None,
        "tuned_stack": run.tuned.stack if run.tuned else None,
        "tuned_by": run.tuned.run_id if run.tuned else None,
    }


def _search_rows(run: Run) -> list[Row]:
    step = run.search
    if step is None:
        return []
    kept = ("space", "number", "method", "seed", "chosen_by")
    lists = {"parameters": _JSON.encode(step.parameters), "known_runs": json.dumps(list(step.after))}
    return [{**{name: getattr(step, name) for name in kept}, **lists}]


def moment(text: str) -> datetime:
    """An RFC 3339 time with its offset. Raises ValueError."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return found


def _derived_rows(files: _SealedFiles, sealed: list[Row], kept: Path | None) -> list[Row]:
    """Of definitions that are newer than the run; none where a file that they read is gone."""
    if files.redacted:
        return []
    have = {(str(row["metric"]), int(str(row["version"]))) for row in sealed}
    found = derived.rows(files.folder, files.digests, have, kept)
    return [{**_metric_row(row), "origin": "derived"} for row in found]


def _metric_row(row: dict[str, Any]) -> Row:
    value = row["value"]
    if (value is None) == (row["missing_reason"] is None):
        raise ValueError(f"{row['metric']} must have a value or a reason, and not both")
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{row['metric']} is {value}")
    kept = ("metric", "definition", "version", "unit", "rank", "step", "value", "missing_reason")
    return {**{name: row[name] for name in kept}, "origin": "sealed"}


def _declared_rows(files: _SealedFiles) -> list[Row]:
    """Definitions that the run's own benchmark file declares."""
    return [definition_row(each) for each in declared.parse(files.read(declared.FILE) or b"{}")]


def definition_row(each: Metric) -> Row:
    """A definition as the catalog's `metric_definitions` has it."""
    return {
        "metric": each.id,
        "version": each.version,
        "title": each.title,
        "unit": each.unit,
        "direction": each.direction,
        "definition": each.definition,
        "inputs": json.dumps(each.inputs),
        "source": each.source,
    }


def _leaf_rows(name: str, data: Mapping[str, Any]) -> list[Row]:
    return [{name: path, "value": _JSON.encode(value)} for path, value in _leaves(data, "")]


def _leaves(data: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Dotted paths and values of all that is not a mapping with something in it."""
    for key, value in data.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(value, dict) and value:
            yield from _leaves(value, path)
        else:
            yield path, value


def _price_rows(card: Mapping[str, Any], benchmark: Mapping[str, Any], stack: str) -> list[Row]:
    """The prices on the card; a card without any leaves them to the benchmark file that was used."""
    places = (
        (card, ("workload", "hardware", "price")),
        (card, ("workload", "hardware", "xpu_spec", "price")),
        (benchmark, ("stacks", stack, "price")),
    )
    stated = next((found for data, keys in places if isinstance(found := _at(data, keys), dict | list) and found), [])
    return [_price_row(price) for price in (stated if isinstance(stated, list) else [stated])]


def _at(data: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _price_row(price: dict[str, Any]) -> Row:
    as_of = price.get("as_of")
    texts = {name: price.get(name) for name in ("currency", "per", "commitment", "source")}
    return {
        "amount": float(price["amount"]),
        **{name: None if value is None else str(value) for name, value in texts.items()},
        "as_of": None if as_of is None else datetime.strptime(str(as_of), "%Y-%m-%d").date(),
    }


def _samples(files: _SealedFiles, name: str, schema: pa.Schema) -> pa.Table | None:
    data = files.read(name)
    if data is None:
        return None
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    return parquet.widened(table, schema)
