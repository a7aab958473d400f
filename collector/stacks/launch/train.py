"""The launched training trial: `python train.py trial.json`, with STACKPROOF_OUT naming an empty folder.

It runs with this folder alone and needs nothing but torch. It writes steps.jsonl (a line a step, as it goes, so that a
killed trial leaves what it measured), summary.json at the end and, when profiled, rank-0.json.gz.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import markov
import torch
from llama import Llama
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

TRACE = "rank-0.json.gz"


class Sequences(Dataset[Tensor]):
    """Token ids cut into pieces of sequence_length + 1."""

    def __init__(self, ids: Tensor, length: int) -> None:
        self.pieces = ids[: len(ids) // length * length].view(-1, length)

    def __getitem__(self, index: int) -> Tensor:
        return self.pieces[index]


def main() -> None:
    """Train, evaluate, report."""
    config = json.loads(Path(sys.argv[1]).read_text())
    out = Path(os.environ["STACKPROOF_OUT"])
    set_threads(config["settings"]["threads"])
    sequences = load_data(config)
    model = Llama(config["model"]["config"], config["sequence_length"], config["settings"]["attention"])
    model.initialise(config["seed"])
    losses = train(config, model, sequences, out)
    evaluation = evaluate(config, model, sequences)
    write_json(out / "summary.json", summary(config, model, sequences, losses, evaluation))
    print(f"evaluation loss {evaluation:.4f}", flush=True)


def set_threads(count: int) -> None:
    """Ask for `count` threads and stop when torch has others: a setting that is not applied is not measured."""
    torch.set_num_threads(count)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    if torch.get_num_threads() != count:
        sys.exit(f"asked for {count} threads, torch uses {torch.get_num_threads()}")


def load_data(config: dict[str, Any]) -> Sequences:
    """Make the token data again and check that it is the planned one."""
    dataset = config["dataset"]
    ids = markov.tokens(
        dataset["seed"], dataset["tokens"], dataset["branching"], config["model"]["config"]["vocabulary_size"]
    )
    found = markov.digest(ids)
    if found != config["dataset_digest"]:
        sys.exit(f"the data set's digest is {found}, the plan says {config['dataset_digest']}")
    return Sequences(torch.tensor(ids, dtype=torch.int64), config["sequence_length"] + 1)


def train(config: dict[str, Any], model: Llama, sequences: Sequences, out: Path) -> list[float]:
    """Run every step, write each to steps.jsonl, and return the losses."""
    training, _ = markov.split(config["dataset"]["tokens"], config["sequence_length"])
    order = markov.batches(config["seed"], training, config["global_batch_size"], config["steps"])
    batches = iter(DataLoader(sequences, batch_sampler=order, generator=torch.Generator()))
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=config["optimizer"]["learning_rate"],
        betas=(0.9, 0.95),
        weight_decay=config["optimizer"]["weight_decay"],
    )
    forward, phases, losses = compiled(config, model), phase_names(config), []
    with (out / "steps.jsonl").open("w") as file, profiler(config, out) as profile:
        origin = time.perf_counter_ns()
        for step, phase in enumerate(phases):
            start = time.perf_counter_ns()
            loss = train_step(config, forward, optimizer, next(batches))
            duration = time.perf_counter_ns() - start
            losses.append(loss)
            write_step(file, config, step, phase, start - origin, duration, loss)
            if profile is not None:
                profile.step()
    return losses


def train_step(config: dict[str, Any], forward: Any, optimizer: torch.optim.Optimizer, batch: Tensor) -> float:
    """One optimizer step over the global batch, in micro-batches. Returns the mean loss in nats a token."""
    total = 0.0
    for micro in batch.split(config["settings"]["micro_batch_size"]):
        with precision(config):
            loss = forward(micro[:, :-1], micro[:, 1:])
        share = len(micro) / len(batch)
        (loss * share).backward()
        total += loss.item() * share
    optimizer.step()
    optimizer.zero_grad()
    return total


@torch.no_grad()
def evaluate(config: dict[str, Any], model: Llama, sequences: Sequences) -> float:
    """Mean loss on the held-out sequences, by the plain module on every stack."""
    _, held_out = markov.split(config["dataset"]["tokens"], config["sequence_length"])
    total = 0.0
    for batch in sequences.pieces[-held_out:].split(min(8, config["settings"]["micro_batch_size"])):
        with precision(config):
            total += model(batch[:, :-1], batch[:, 1:]).item() * len(batch)
    return total / held_out


def precision(config: dict[str, Any]) -> AbstractContextManager[Any]:
    """bfloat16 is mixed precision: 32-bit weights, 16-bit products."""
    if config["model"]["precision"] == "bfloat16":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return nullcontext()


def compiled(config: dict[str, Any], model: Llama) -> Any:
    """The model as the settings want it called."""
    settings = config["settings"]
    if not settings["compile"]:
        return model
    if config["role"] == "profiled":
        import torch._inductor.config as inductor  # noqa: PLC0415 (slow, and of no use without a compiler)

        # Fused kernels then stand in the trace under their names; it changes their code, hence the cache of their own.
        inductor.cpp.enable_kernel_profile = True
    return torch.compile(model, mode=settings["compile_mode"], dynamic=False, fullgraph=True)


def phase_names(config: dict[str, Any]) -> list[str]:
    """Each step's phase. The step in which the profiler itself warms up belongs to no rate either."""
    phases = ["warmup"] * config["warmup_steps"] + ["measured"] * (config["steps"] - config["warmup_steps"])
    if config["role"] == "profiled":
        active = config["profiled_steps"]
        phases[-active:] = ["profiled"] * active
        phases[-active - 1] = "warmup"
    return phases


def profiler(config: dict[str, Any], out: Path) -> AbstractContextManager[Any]:
    """A profiler over the last steps of a profiled launch, or nothing."""
    if config["role"] != "profiled":
        return nullcontext()
    active = config["profiled_steps"]
    return torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=config["steps"] - active - 1, warmup=1, active=active, repeat=1),
        on_trace_ready=lambda profile: profile.export_chrome_trace(str(out / TRACE)),
        # Not with_flops: it keeps the tensors of every product alive, and the profiled steps then take three times as
        # long. FLOPs are counted after the last step instead (counted_flops).
        record_shapes=True,
        profile_memory=True,
    )


def write_step(
    file: Any, config: dict[str, Any], step: int, phase: str, start: int, duration: int, loss: float
) -> None:
    """One line, on disk before the next step starts."""
    samples = config["global_batch_size"]
    row = {
        "step": step,
        "phase": phase,
        "start_ns": start,
        "duration_ns": duration,
        "samples": samples,
        "tokens": samples * config["sequence_length"],
        "loss": finite(loss),
    }
    file.write(json.dumps(row, allow_nan=False) + "\n")
    file.flush()
    if step % 10 == 0 or step == config["steps"] - 1:
        print(f"step {step} {phase} loss {loss:.4f} {duration / 1e9:.3f} s", flush=True)


def summary(
    config: dict[str, Any], model: Llama, sequences: Sequences, losses: list[float], evaluation: float
) -> dict[str, Any]:
    """What the trial says about itself."""
    shape = config["model"]["config"]
    parameters = sum(weight.numel() for weight in model.parameters())
    embedding = model.embedding.weight.numel()
    tokens = config["global_batch_size"] * config["sequence_length"]
    # 6 (N - E) + 12 L H Q S a token; attention not halved for causality.
    attention = 12 * shape["layers"] * shape["hidden_size"] * config["sequence_length"]
    return {
        "evaluation_loss": finite(evaluation),
        "first_loss": finite(losses[0]),
        "last_loss": finite(losses[-1]),
        "lowest_possible_loss": markov.entropy(config["dataset"]["branching"]),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "parameters": parameters,
        "embedding_parameters": embedding,
        "flops_per_step": tokens * (6 * (parameters - embedding) + attention),
        **counted_flops(config, sequences),
        "torch_version": torch.__version__,
        "defaults": read_back(config),
        **compiler_counts(config),
    }


def counted_flops(config: dict[str, Any], sequences: Sequences) -> dict[str, Any]:
    """FLOPs of one step as torch counts them, in all and by operator; only in a profiled launch.

    Counted on a plain model with explicit attention, since the counter knows no fused attention on a CPU: every stack
    has the same count, the work that the mathematics asks for, recomputation left out.
    """
    if config["role"] != "profiled":
        return {}
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    model = Llama(config["model"]["config"], config["sequence_length"], "math")
    sequence = sequences.pieces[:1]
    with FlopCounterMode(display=False) as counter:
        model(sequence[:, :-1], sequence[:, 1:]).backward()
    counts = {
        str(name): flops * config["global_batch_size"] for name, flops in counter.get_flop_counts()["Global"].items()
    }
    return {"counted_flops_per_step": sum(counts.values()), "counted_flops_by_operator": counts}


def read_back(config: dict[str, Any]) -> dict[str, Any]:
    """What torch uses where the settings say nothing, asked of torch itself."""
    values: dict[str, Any] = {
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "mkldnn": torch.backends.mkldnn.is_available() and bool(torch.backends.mkldnn.enabled),
        "mkl": torch.backends.mkl.is_available(),
        "openmp": torch.backends.openmp.is_available(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    if config["settings"]["compile"]:
        from torch._inductor import config as inductor  # noqa: PLC0415
        from torch._inductor import cpp_builder, cpu_vec_isa  # noqa: PLC0415

        values["inductor_compile_threads"] = inductor.compile_threads
        values["inductor_simd"] = str(cpu_vec_isa.pick_vec_isa())
        values["cxx"] = cpp_builder.get_cpp_compiler()
    return values


def compiler_counts(config: dict[str, Any]) -> dict[str, int]:
    """Graphs compiled, and whether the compile cache held them: proof that the compiler did the work."""
    if not config["settings"]["compile"]:
        return {}
    from torch._dynamo.utils import counters  # noqa: PLC0415

    return {
        "compiled_graphs": counters["stats"]["unique_graphs"],
        "compile_cache_hits": counters["inductor"]["fxgraph_cache_hit"],
        "compile_cache_misses": counters["inductor"]["fxgraph_cache_miss"],
    }


def finite(value: float) -> float | None:
    """The value, or None for what JSON has no number for."""
    return value if math.isfinite(value) else None


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")
    part.replace(path)


if __name__ == "__main__":
    main()
