"""What the launch files beside a CCL-Bench card say of the work in one step: TorchTitan's job configuration."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from collector.importers.files import Files, mapping
from collector.importers.values import whole

ENDINGS = (".toml", ".sh", ".sbatch", ".slurm", "run.md", "run.txt")
"""Files beside a card that say how it was launched."""


@dataclass(frozen=True)
class Launch:
    """The launch files of one folder, and what a step does when just one of them says so."""

    files: tuple[str, ...]
    samples: int | None = None
    sequence_length: int | None = None
    source: str | None = None
    why_not: str | None = None


def read(files: Files, names: list[str], devices: int | None) -> Launch:
    """What the launch files `names` of one card's folder say; `devices` are all that ran it."""
    found = tuple(names)
    for name in found:
        files.bytes(name)
    configurations = [name for name in found if name.endswith(".toml")]
    if len(configurations) != 1:
        count = f"{len(configurations)} launch configurations lie beside the card" if configurations else None
        return Launch(found, why_not=count)
    try:
        data = tomllib.loads(files.text(configurations[0]))
    except tomllib.TOMLDecodeError as error:
        return Launch(found, why_not=f"{PurePosixPath(configurations[0]).name} is not TOML ({error})")
    samples = _global_batch(data, devices)
    length = whole(mapping(data.get("training")).get("seq_len"))
    why_not = None if samples else f"{PurePosixPath(configurations[0]).name} does not tell the global batch"
    return Launch(found, samples, length, PurePosixPath(configurations[0]).name, why_not)


def _global_batch(data: dict[str, Any], devices: int | None) -> int | None:
    """Sequences of one step over all replicas, as TorchTitan counts them."""
    training, parallel = mapping(data.get("training")), mapping(data.get("parallelism"))
    stated = whole(training.get("global_batch_size"))
    if stated:
        return stated
    local = whole(training.get("local_batch_size", training.get("batch_size")))
    replicate = whole(parallel.get("data_parallel_replicate_degree", training.get("data_parallel_replicate_degree", 1)))
    shard = parallel.get("data_parallel_shard_degree", training.get("data_parallel_shard_degree", -1))
    if not local or not replicate:
        return None
    if shard == -1:
        others = 1
        for name in ("tensor", "pipeline", "context"):
            others *= whole(parallel.get(f"{name}_parallel_degree", training.get(f"{name}_parallel_degree", 1))) or 1
        if not devices or devices % (replicate * others):
            return None
        shard = devices // (replicate * others)
    return local * replicate * shard if isinstance(shard, int) and shard > 0 else None
