"""A published row as a side of a comparison: one sealed run folder with the row itself, labelled as what it is.

A row holds one value a metric and no launch of its own. It stands as one timed launch, so that it is judged as others
are and is never enough to decide on: one launch a side, by its source's word, with all that the source does not tell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector.importers import launches
from collector.importers.compare_file import ROW, Chosen, Drafted
from collector.importers.launches import Launch
from ledger import status
from ledger.canonical import bytes_digest, canonical_json, digest
from ledger.durable import storage_errors, write_new
from ledger.errors import InputError
from ledger.metrics import declared
from ledger.public import LABEL, Collection
from ledger.run import Role
from ledger.run_folder import RunFolder
from ledger.status import Kind, StatusRecord
from ledger.workloads.command import CommandWorkload
from ledger.workspace import Workspace

FORMAT = "public row"
WHO = "stackproof import"
AGAIN = "the same row was imported again, and more or something else is known of it"
_ABSENT = {
    "steps": "imported: a published value, no steps",
    "telemetry": "imported: nothing was sampled beside the launch",
    "started_at": "the source does not tell when it ran: the time of the import stands in its place",
}


def write(workspace: Workspace, drafted: Drafted, collection: Collection) -> list[tuple[Path, bool]]:
    """The benchmark file, and a run folder of each row: (path, whether it is new).

    A row of which more is known now takes the place of the run that was sealed of it before. Raises InputError where
    another file has the benchmark's name, StorageError when the disk refuses.
    """
    target = workspace.benchmarks / f"{drafted.file.benchmark.name}.yaml"
    new = _write_file(target, drafted.file.source.text)
    return [
        (target, new),
        *(_seal(workspace, drafted, stack, chosen, collection) for stack, chosen in drafted.rows.items()),
    ]


def _write_file(target: Path, text: str) -> bool:
    with storage_errors(target):
        if target.is_file() and target.read_text(encoding="utf-8") == text:
            return False
        target.parent.mkdir(exist_ok=True)
        try:
            write_new(target, text.encode())
        except FileExistsError:
            what = "is there already and says something else"
            raise InputError(what, where=str(target), todo="give the benchmark another name, or remove it") from None
    return True


def _seal(
    workspace: Workspace, drafted: Drafted, stack: str, chosen: Chosen, collection: Collection
) -> tuple[Path, bool]:
    before = launches.earlier(workspace, drafted.file, stack, Role.TIMED)
    path, new = launches.seal(workspace, _launch(drafted, stack, chosen, collection))
    if new:
        run_id = RunFolder(path).run_id
        for each in before:
            record = StatusRecord(each.run_id, Kind.SUPERSEDED, status.now(), WHO, AGAIN, by=run_id)
            status.write(workspace.evidence, record)
    return path, new


def _launch(drafted: Drafted, stack: str, chosen: Chosen, collection: Collection) -> Launch:
    row, now = chosen.row, datetime.now(UTC)
    data = canonical_json(_content(chosen, collection)) + b"\n"
    workload = drafted.file.benchmark.work(CommandWorkload)
    metrics = {"metrics": declared.written(workload.metrics, {})}
    source = _source(collection)
    problems: dict[str, list[str]] = {}
    for each in row.problems:
        problems.setdefault(each.code, []).append(each.what)
    return Launch(
        file=drafted.file,
        stack=stack,
        role=Role.TIMED,
        record={
            "format": FORMAT,
            "source": source,
            "files": [{"name": ROW, "sha256": bytes_digest(data), "bytes": len(data)}],
            "label": LABEL,
            "row": row.id,
            "collection": collection.digest,
            **({"selected": chosen.selected} if chosen.selected else {}),
            **({"problems": {code: "; ".join(said) for code, said in problems.items()}} if problems else {}),
            "card": _card(chosen),
        },
        environment={
            "packages": {},
            "hardware": {},
            "host": "not told",
            "absent": {"environment": f"imported: what it ran on is known from its source alone ({source})"},
        },
        environment_digest=digest({"imported": row.hardware}),
        started=now,
        ended=now,
        absent={**_ABSENT, **{topic: why for topic, why in row.cannot_show.items() if topic != "trace"}},
        fill=lambda out: _put(out / ROW, data),
        beside={declared.FILE: json.dumps(metrics, indent=1, sort_keys=True).encode() + b"\n"},
    )


def _put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _content(chosen: Chosen, collection: Collection) -> dict[str, Any]:
    """The row as it was imported: what tells it from another."""
    row = chosen.row
    return {
        "source": collection.source,
        "id": row.id,
        "values": row.values,
        "missing": row.missing,
        "workload": row.workload,
        "hardware": row.hardware,
        "settings": row.settings,
        "framework": row.framework,
        "shows": row.shows,
        "cannot_show": row.cannot_show,
        "problems": [[each.code, each.what] for each in row.problems],
    }


def _source(collection: Collection) -> str:
    origin = collection.origin
    more = (("version", origin.version), ("commit", origin.commit), ("licence", origin.licence))
    return ", ".join([f"{collection.title} ({LABEL})", *(f"{name} {value}" for name, value in more if value)])


def _card(chosen: Chosen) -> dict[str, Any]:
    """What the row tells, nested as card.yaml of a run has it; what it does not tell is not there."""
    row = chosen.row
    work, hardware = row.workload, row.hardware
    samples, tokens = work.get("samples_per_step"), work.get("tokens_per_step")
    card = {
        "description": f"{LABEL}: {row.title}",
        "workload": {
            "model": {
                "phase": work.get("phase") or {"train": "training", "serve": "inference"}.get(str(work.get("kind"))),
                "model_family": work.get("model"),
                "precision": work.get("precision"),
                "moe": work.get("mixture_of_experts"),
            },
            "data": {
                "batch_size": work.get("batch_size"),
                "seq_len": work.get("sequence_length"),
                "input_len": work.get("input_length"),
                "output_len": work.get("output_length"),
                "dataset": work.get("dataset"),
            },
            "work_per_step": {"samples": samples, "tokens": tokens, "source": row.shows.get("work_per_step")},
            "hardware": {
                "network_topo": {"topology": hardware.get("topology")},
                "xpu_spec": {
                    "type": "GPU" if hardware.get("vendor") in {"nvidia", "amd"} else hardware.get("type"),
                    "model": hardware.get("device"),
                    "total_count": hardware.get("count"),
                    "count_per_node": hardware.get("devices_per_node"),
                },
            },
        },
        "Model-executor": {
            "framework": {"name": row.framework, "version": row.framework_version},
            "model_plan_parallelization": work.get("parallelism"),
            "communication_library": {
                "name": row.settings.get("communication_library"),
                "version": row.settings.get("communication_library_version"),
            },
        },
    }
    return dict(_known(card))


def _known(part: Mapping[str, Any]) -> dict[str, Any]:
    """A card's part without what is not known, and without parts of which nothing is."""
    plain = {name: _known(value) if isinstance(value, dict) else value for name, value in part.items()}
    return {name: value for name, value in plain.items() if value is not None and value != {}}
