"""What the ranks of a distributed training trial share, whatever the framework: the same work, clock and report.

Every rank draws the same global batches and trains on its slice of them, so that frameworks and plans do equal work by
construction. Each rank writes steps-rank-N.jsonl as it goes, rank 0 summary.json at the end, and each rank its
rank-N.json.gz when profiled. No collective is added for the measuring: the rows of all ranks are put together later.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import markov
import torch
import train
from llama import Llama
from torch import Tensor
from torch import distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.profiler import ProfilerActivity
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

BACKENDS = {"cpu": "gloo", "cuda": "nccl"}


@dataclass(frozen=True)
class Place:
    """Where this process stands among all."""

    rank: int
    ranks: int
    data_rank: int
    """Which slice of the global batch it trains on."""
    data_ranks: int
    device: torch.device


class Trainer(ABC):
    """A framework at work on the model."""

    @abstractmethod
    def step(self, batch: Tensor) -> float:
        """One optimizer step over this rank's slice (sequences, length + 1); the slice's mean loss in nats a token."""

    @abstractmethod
    def loss(self, batch: Tensor) -> float:
        """Mean loss of a batch that all ranks evaluate alike."""

    def defaults(self) -> dict[str, Any]:
        """What the framework uses where the settings say nothing, asked of the framework itself."""
        return {}

    def finish(self, out: Path) -> None:  # noqa: B027 (most frameworks measure nothing)
        """Write what the framework measured itself; every rank calls it after the last step."""


def launch(prepare: Callable[[dict[str, Any], Llama, Place], Trainer]) -> None:
    """Train, evaluate, report, on every rank; the launcher learns of an exception with its time."""
    record(partial(_launch, prepare))()


def _launch(prepare: Callable[[dict[str, Any], Llama, Place], Trainer]) -> None:
    config = json.loads(Path(sys.argv[1]).read_text())
    # Not every framework has torch.compile; the scripts that are shared with it ask.
    config["settings"] = {"compile": False, **config["settings"]}
    out = Path(os.environ["STACKPROOF_OUT"])
    train.set_threads(config["settings"]["threads"])
    place = join(config)
    sequences = train.load_data(config)
    model = Llama(config["model"]["config"], config["sequence_length"], config["settings"]["attention"])
    model.initialise(config["seed"])
    trainer = prepare(config, model.to(place.device), place)
    losses = run_steps(config, trainer, sequences, place, out)
    evaluation = evaluate(config, trainer, sequences, place)
    trainer.finish(out)
    report(config, trainer, sequences, place, losses, evaluation, out)
    dist.destroy_process_group()


def join(config: dict[str, Any]) -> Place:
    """Join the other ranks. A collective waits for them no longer than the whole launch may take."""
    kind = config["settings"]["device"]
    rank, ranks, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    device = torch.device(kind, local) if kind == "cuda" else torch.device(kind)
    if kind == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(BACKENDS[kind], timeout=timedelta(seconds=config["collective_timeout_s"]))
    group = config["settings"].get("tensor_parallel", 1)
    return Place(rank, ranks, rank // group, ranks // group, device)


def checkpoint_activations(config: dict[str, Any], model: Llama) -> None:
    """Where the settings say so: keep each block's input alone, and compute what lies inside it again when needed."""
    for block in model.blocks if config["settings"]["activation_checkpointing"] else ():
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)


def optimizer_groups(config: dict[str, Any]) -> dict[str, Any]:
    """AdamW's arguments, the same for every framework."""
    declared = config["optimizer"]
    return {"lr": declared["learning_rate"], "betas": (0.9, 0.95), "weight_decay": declared["weight_decay"]}


def slices(config: dict[str, Any], place: Place) -> list[list[int]]:
    """Which sequences this rank trains on in each step: its part of the global batch."""
    training, _ = markov.split(config["dataset"]["tokens"], config["sequence_length"])
    share = config["global_batch_size"] // place.data_ranks
    own = slice(place.data_rank * share, (place.data_rank + 1) * share)
    order = markov.batches(config["seed"], training, config["global_batch_size"], config["steps"])
    return [batch[own] for batch in order]


def run_steps(
    config: dict[str, Any], trainer: Trainer, sequences: train.Sequences, place: Place, out: Path
) -> list[float]:
    """Run every step, write each to this rank's file, and return this rank's losses."""
    batches = iter(DataLoader(sequences, batch_sampler=slices(config, place), generator=torch.Generator()))
    losses = []
    dist.barrier()
    with (out / f"steps-rank-{place.rank}.jsonl").open("w") as file, profiler(config, place, out) as profile:
        for step, phase in enumerate(train.phase_names(config)):
            start = time.perf_counter_ns()
            loss = trainer.step(next(batches).to(place.device))
            synchronise(place)
            duration = time.perf_counter_ns() - start
            losses.append(loss)
            row = {"step": step, "phase": phase, "start_ns": start, "duration_ns": duration, "loss": train.finite(loss)}
            file.write(json.dumps(row, allow_nan=False) + "\n")
            file.flush()
            if place.rank == 0 and (step % 10 == 0 or step == config["steps"] - 1):
                print(f"step {step} {phase} loss {loss:.4f} {duration / 1e9:.3f} s (this rank)", flush=True)
            if profile is not None:
                profile.step()
    return losses


def synchronise(place: Place) -> None:
    """Wait for the device, so that the clock is read when its work is done."""
    if place.device.type == "cuda":
        torch.cuda.synchronize(place.device)


def profiler(config: dict[str, Any], place: Place, out: Path) -> AbstractContextManager[Any]:
    """A profiler over the same steps on every rank, each with its own trace; as train.py has it for one process."""
    if config["role"] != "profiled":
        return nullcontext()
    active = config["profiled_steps"]
    accelerator = [ProfilerActivity.CUDA] if place.device.type == "cuda" else []
    return torch.profiler.profile(
        activities=[ProfilerActivity.CPU, *accelerator],
        schedule=torch.profiler.schedule(wait=config["steps"] - active - 1, warmup=1, active=active, repeat=1),
        on_trace_ready=lambda profile: profile.export_chrome_trace(str(out / f"rank-{place.rank}.json.gz")),
        record_shapes=True,
        profile_memory=True,
    )


@torch.no_grad()
def evaluate(config: dict[str, Any], trainer: Trainer, sequences: train.Sequences, place: Place) -> float:
    """Mean loss on the held-out sequences. Every rank goes through all of them, as a single process does."""
    _, held_out = markov.split(config["dataset"]["tokens"], config["sequence_length"])
    total = 0.0
    for batch in sequences.pieces[-held_out:].split(min(8, config["settings"]["micro_batch_size"])):
        total += trainer.loss(batch.to(place.device)) * len(batch)
    return total / held_out


def report(
    config: dict[str, Any],
    trainer: Trainer,
    sequences: train.Sequences,
    place: Place,
    losses: list[float],
    evaluation: float,
    out: Path,
) -> None:
    """Gather what each rank knows of itself, and let rank 0 write it down."""
    every: list[Any] = [None] * place.ranks
    dist.all_gather_object(every, {"losses": losses, "memory": memory(place), "evaluation": evaluation})
    if place.rank == 0:
        whole = [sum(at) / len(at) for at in zip(*(each["losses"] for each in every), strict=True)]
        with torch.device("meta"):
            shape = Llama(config["model"]["config"], config["sequence_length"], config["settings"]["attention"])
        summary = train.summary(config, shape, sequences, whole, evaluation)
        summary["defaults"] |= {**backend(), "ranks": place.ranks, **trainer.defaults()}
        summary |= memory_summary([each["memory"] for each in every])
        summary["evaluation_loss_spread"] = max(e["evaluation"] for e in every) - min(e["evaluation"] for e in every)
        train.write_json(out / "summary.json", summary)
        print(f"evaluation loss {evaluation:.4f}", flush=True)
    dist.barrier()


def backend() -> dict[str, str]:
    """What the ranks talk through; gloo has no version of its own, it is part of torch."""
    name = dist.get_backend()
    return {
        "backend": name,
        **({"backend_version": ".".join(map(str, torch.cuda.nccl.version()))} if name == "nccl" else {}),
    }


def memory(place: Place) -> dict[str, int]:
    """This rank's peaks in bytes: of its resident set, and of the device's allocator where there is a device."""
    peaks = {"resident": peak_resident()}
    if place.device.type == "cuda":
        peaks["device"] = torch.cuda.max_memory_allocated(place.device)
    return peaks


def peak_resident() -> int:
    """Bytes. Not getrusage's ru_maxrss where /proc has better: a launched process inherits its launcher's there."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory_summary(peaks: list[dict[str, int]]) -> dict[str, Any]:
    """`peak_memory_bytes` stays the largest resident set of a training process; beside it, each rank's."""
    found: dict[str, Any] = {
        "peak_memory_bytes": max(each["resident"] for each in peaks),
        "peak_memory_bytes_by_rank": [each["resident"] for each in peaks],
    }
    if "device" in peaks[0]:
        found["peak_device_memory_bytes_by_rank"] = [each["device"] for each in peaks]
    return found
