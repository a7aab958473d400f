"""The launched training trial over several ranks with PyTorch alone: data parallel, fully sharded or tensor parallel.

`launch_ranks.py` starts it once a rank. It needs nothing but torch and the scripts beside it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import ranks
import torch
from llama import Llama
from ranks import Place, Trainer
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

BLOCK_PLAN: dict[str, type[ColwiseParallel] | type[RowwiseParallel]] = {
    **dict.fromkeys(("attention.query", "attention.key", "attention.value"), ColwiseParallel),
    "attention.out": RowwiseParallel,
    **dict.fromkeys(("feed_forward.gate", "feed_forward.up"), ColwiseParallel),
    "feed_forward.out": RowwiseParallel,
}
"""Each half of a block: columns, then rows, so that it ends in one all_reduce."""


class TorchTrainer(Trainer):
    """PyTorch's own parallelism around the same model and optimizer."""

    def __init__(self, config: dict[str, Any], model: Llama, place: Place) -> None:
        self.config, self.place = config, place
        self.plain = model
        self.model = wrap(config, model, place)
        self.optimizer = torch.optim.AdamW(parameter_groups(model), **ranks.optimizer_groups(config))

    def step(self, batch: Tensor) -> float:
        """Micro-batches add up; the ranks' gradients are averaged in the last one alone."""
        micros = batch.split(self.config["settings"]["micro_batch_size"])
        total = torch.zeros((), device=batch.device)
        for index, micro in enumerate(micros):
            share = len(micro) / len(batch)
            with self.synchronising(index == len(micros) - 1):
                with self.precision():
                    loss = self.model(micro[:, :-1], micro[:, 1:])
                (loss * share).backward()
            total += loss.detach() * share
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total.item()

    def loss(self, batch: Tensor) -> float:
        """By the module without DistributedDataParallel around it, which has nothing to do there."""
        with self.precision():
            return self.plain(batch[:, :-1], batch[:, 1:]).item()

    def synchronising(self, last: bool) -> AbstractContextManager[Any]:
        """Whether this backward pass averages the gradients of the ranks."""
        if isinstance(self.model, FSDPModule):
            self.model.set_requires_gradient_sync(last)
        if isinstance(self.model, DistributedDataParallel) and not last:
            return self.model.no_sync()
        return nullcontext()

    def precision(self) -> AbstractContextManager[Any]:
        """bfloat16 is mixed precision: 32-bit weights and gradients, 16-bit products."""
        if self.config["model"]["precision"] == "bfloat16":
            return torch.autocast(self.place.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def defaults(self) -> dict[str, Any]:
        """What DistributedDataParallel chose by itself."""
        if not isinstance(self.model, DistributedDataParallel):
            return {}
        return {
            "ddp_bucket_bytes": self.model.bucket_bytes_cap,
            "ddp_gradient_as_bucket_view": self.model.gradient_as_bucket_view,
        }


def wrap(config: dict[str, Any], model: Llama, place: Place) -> nn.Module:
    """The model under the settings' plan, compiled block by block where they say so."""
    settings = config["settings"]
    tensor, mode = settings["tensor_parallel"], settings["data_parallel_mode"]
    mesh = init_device_mesh(place.device.type, (place.data_ranks, tensor), mesh_dim_names=("data", "tensor"))
    if tensor > 1:
        split_tensors(model, mesh["tensor"])
    if settings["compile"]:
        compile_blocks(config, model)
    ranks.checkpoint_activations(config, model)
    if mode == "fsdp2":
        for block in model.blocks:
            fully_shard(block, mesh=mesh["data"])
        return fully_shard(model, mesh=mesh["data"])
    # The buffers are constants: there is nothing to broadcast before each forward pass.
    return DistributedDataParallel(model, broadcast_buffers=False) if mode == "ddp" else model


def split_tensors(model: Llama, mesh: DeviceMesh) -> None:
    """Megatron's split: heads and inner features over the ranks, the vocabulary for embedding and head."""
    for block in model.blocks:
        parallelize_module(block, mesh, {name: style() for name, style in BLOCK_PLAN.items()})
        block.attention.heads //= mesh.size()
    ends = {
        "embedding": RowwiseParallel(input_layouts=Replicate()),
        "head": ColwiseParallel(output_layouts=Replicate()),
    }
    parallelize_module(model, mesh, ends)


def compile_blocks(config: dict[str, Any], model: Llama) -> None:
    """torch.compile on each block's forward: what wraps the blocks (hooks that gather, checkpoints) stays outside."""
    if config["role"] == "profiled" and config["settings"]["device"] == "cpu":
        import torch._inductor.config as inductor  # noqa: PLC0415 (as in train.py)

        inductor.cpp.enable_kernel_profile = True
    for block in model.blocks:
        mode = config["settings"]["compile_mode"]
        block.forward = torch.compile(block.forward, mode=mode, dynamic=False, fullgraph=True)


def parameter_groups(model: Llama) -> list[dict[str, Any]]:
    """Distributed and plain parameters apart: one fused operation cannot take both."""
    groups: dict[bool, list[nn.Parameter]] = {}
    for weight in model.parameters():
        groups.setdefault(isinstance(weight, DTensor), []).append(weight)
    return [{"params": weights} for weights in groups.values()]


if __name__ == "__main__":
    ranks.launch(TorchTrainer)
