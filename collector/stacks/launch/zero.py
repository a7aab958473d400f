"""The launched training trial with DeepSpeed: ZeRO stages 0 to 3 over the same model, data and optimizer mathematics.

`launch_ranks.py` starts it once a rank. It needs torch, deepspeed and the scripts beside it. DeepSpeed's own measuring
(communication log, wall-clock breakdown, flops profiler) synchronises what it times, so that only the warm-up launch,
whose times count nowhere, has it on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deepspeed
import deepspeed.comm
import ranks
import torch
import train
from llama import Llama
from ranks import Place, Trainer
from torch import Tensor

FLOPS_PROFILE = "flops-profile.txt"
TIMERS = ("fwd", "bwd", "bwd_inner", "bwd_allreduce", "step")
"""DeepSpeed's timers over all micro-batches of a step."""


class ZeroTrainer(Trainer):
    """A DeepSpeed engine around the same model and optimizer."""

    def __init__(self, config: dict[str, Any], model: Llama, place: Place) -> None:
        self.place = place
        self.micro_batch_size = config["settings"]["micro_batch_size"]
        self.instrumented = config["role"] == "warmup"
        self.breakdown: list[dict[str, float]] = []
        ranks.checkpoint_activations(config, model)
        if self.instrumented:
            time_each_call()
        deepspeed.init_distributed(dist_backend=ranks.BACKENDS[place.device.type], verbose=False)
        self.engine, self.optimizer, *_ = deepspeed.initialize(
            model=model, optimizer=optimizer(config, model), config=engine_config(config)
        )

    def step(self, batch: Tensor) -> float:
        """DeepSpeed counts the micro-batches itself: its own step comes with the last one."""
        micros = batch.split(self.micro_batch_size)
        total = torch.zeros((), device=batch.device)
        for micro in micros:
            loss = self.engine(micro[:, :-1].contiguous(), micro[:, 1:].contiguous())
            self.engine.backward(loss)
            self.engine.step()
            total += loss.detach() / len(micros)
        if self.instrumented:
            self.breakdown.append(
                {name: ms for name, ms in self.engine.get_wall_clock_timers().items() if name in TIMERS}
            )
        return total.item()

    def loss(self, batch: Tensor) -> float:
        """Through the engine, which gathers what its stage has split."""
        return self.engine(batch[:, :-1].contiguous(), batch[:, 1:].contiguous()).item()

    def defaults(self) -> dict[str, Any]:
        """The engine's configuration with DeepSpeed's own defaults, as DeepSpeed resolved it."""
        config = self.engine._config
        return {
            "zero_optimization": config.zero_config.model_dump(mode="json"),
            "gradient_accumulation_steps": self.engine.gradient_accumulation_steps(),
            "gradient_clipping": config.gradient_clipping,
            "prescale_gradients": config.prescale_gradients,
            "communication_data_type": str(self.engine.communication_data_type),
            "optimizer": type(self.engine.basic_optimizer).__name__,
            "engine_optimizer": type(self.engine.optimizer).__name__,
            "deepspeed_version": deepspeed.__version__,
        }

    def finish(self, out: Path) -> None:
        """DeepSpeed's communication log and wall-clock breakdown; its flops profile lies in a file of its own."""
        if not self.instrumented:
            return
        communication = deepspeed.comm.log_summary(return_dict=True)
        if self.place.rank == 0:
            found = {"communication": communication["summary"], "wall_clock_ms": self.breakdown}
            train.write_json(out / "deepspeed.json", found)


def time_each_call() -> None:
    """Let DeepSpeed's communication log tell each call's time.

    Its timers are read and never reset (0.19.8), so that the n-th call is logged with the time of all n.
    """
    module = deepspeed.comm.comm
    append: Callable[..., None] = module.comms_logger.append

    def append_and_reset(raw_name: str, record_name: str, latency: float, size: int) -> None:
        append(raw_name, record_name, latency, size)
        module.timers(record_name).reset()

    module.comms_logger.append = append_and_reset


def optimizer(config: dict[str, Any], model: Llama) -> torch.optim.Optimizer:
    """PyTorch's AdamW, as every stack has it, or DeepSpeed's vectorised one for states that lie in host memory."""
    arguments = ranks.optimizer_groups(config)
    if config["settings"]["optimizer"] == "adamw":
        return torch.optim.AdamW(model.parameters(), **arguments)
    from deepspeed.ops.adam import DeepSpeedCPUAdam  # noqa: PLC0415 (loads its extension)

    return DeepSpeedCPUAdam(model.parameters(), adamw_mode=True, **arguments)


def engine_config(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration that `deepspeed.initialize` takes: what the settings say, and nothing that they do not."""
    settings = config["settings"]
    zero = {"stage": settings["zero_stage"]}
    zero |= {name: settings[name] for name in ("overlap_comm", "reduce_bucket_size") if settings[name] is not None}
    if settings["offload_optimizer"] == "cpu":
        zero["offload_optimizer"] = {"device": "cpu"}
    found: dict[str, Any] = {
        "train_batch_size": config["global_batch_size"],
        "train_micro_batch_size_per_gpu": settings["micro_batch_size"],
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        # DeepSpeed clips at a norm of 1 where nothing is said, which is other mathematics than the other frameworks'.
        "gradient_clipping": 0.0,
        "steps_per_print": config["steps"] + 1,
    }
    if config["model"]["precision"] == "bfloat16":
        # 32-bit weights, 16-bit products, and gradients averaged in 32 bits: the policy of the other frameworks here.
        found["torch_autocast"] = {"enabled": True, "dtype": "bfloat16", "lower_precision_safe_modules": []}
    return found | (instruments(config) if config["role"] == "warmup" else {})


def instruments(config: dict[str, Any]) -> dict[str, Any]:
    """DeepSpeed's own measuring; the flops of its third step, when lazy initialisation is over."""
    return {
        "comms_logger": {"enabled": True, "verbose": False, "prof_all": True, "debug": False},
        "wall_clock_breakdown": True,
        "flops_profiler": {
            "enabled": True,
            "profile_step": min(2, config["steps"] - 1),
            "module_depth": -1,
            "top_modules": 1,
            "detailed": False,
            "output_file": str(Path(os.environ["STACKPROOF_OUT"]) / FLOPS_PROFILE),
        },
    }


if __name__ == "__main__":
    ranks.launch(ZeroTrainer)
