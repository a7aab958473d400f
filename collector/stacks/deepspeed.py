"""The `deepspeed` adapter: the same training as the `torch` adapter's, by a DeepSpeed engine with ZeRO.

DeepSpeed and torch are imported only by the launched processes. Its extensions are built ahead, into the workspace.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from collector.stacks import deepspeed_output, training_card, training_launch, training_output
from collector.stacks.interface import Adapter, Ending, Job, MissingPrerequisite, Observed, SettingsError, Trial
from ledger.benchmark import Benchmark
from ledger.run import Reason
from ledger.workloads.train import TrainWorkload

SCRIPTS = (*training_launch.COMMON, *training_launch.RANKED, "zero.py", "build_ops.py", "run_ranks.sh.jinja")


class DeepSpeedSettings(BaseModel):
    """What a stack may set; what it leaves out is DeepSpeed's own default, read back into the card."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    zero_stage: int = Field(ge=0, le=3)
    """What is split over the ranks: nothing; optimizer states; gradients too; parameters too."""
    data_parallel: int = Field(ge=1, le=4096, default=1)
    """Ranks, each with its slice of the global batch."""
    micro_batch_size: int | None = Field(ge=1, default=None)
    """Sequences in one forward pass of one rank; all of its share where not set."""
    threads: int = Field(ge=1, le=1024, default=1)
    """Threads inside one operator."""
    attention: Literal["sdpa", "math"] = "sdpa"
    """PyTorch's fused kernel, or explicit products and softmax."""
    activation_checkpointing: bool = False
    """Keep each block's input alone and compute the block again in the backward pass."""
    offload_optimizer: Literal["none", "cpu"] = "none"
    """Where the optimizer's states live and its step runs."""
    optimizer: Literal["adamw", "cpu_adam"] | None = None
    """PyTorch's AdamW, or DeepSpeed's vectorised one for the CPU, which offloading needs."""
    overlap_comm: bool | None = None
    """Average gradients beside the backward pass."""
    reduce_bucket_size: int | None = Field(ge=1, default=None)
    """Elements that are averaged at once."""
    device: Literal["cpu", "cuda"] = "cpu"
    """One device a rank: gloo between CPUs, NCCL between GPUs."""


KNOWN = tuple(DeepSpeedSettings.model_fields)


class DeepSpeedAdapter(Adapter):
    """Training with DeepSpeed."""

    name: ClassVar[str] = "deepspeed"
    workload_kinds: ClassVar[frozenset[str]] = frozenset({"train"})
    requires: ClassVar[tuple[str, ...]] = ("deepspeed", "torch")
    install: ClassVar[str | None] = "pip install 'stackproof[deepspeed]'"

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        """The settings with every default filled in. Raises SettingsError."""
        if "zero_stage" not in settings:
            raise SettingsError("zero_stage", "is missing: 0, 1, 2 or 3", KNOWN)
        checked = training_launch.checked(DeepSpeedSettings, settings)
        whole = benchmark.work(TrainWorkload).global_batch_size
        micro = training_launch.micro_batch_size(checked.micro_batch_size, checked.data_parallel, whole, KNOWN)
        return {**checked.model_dump(), "micro_batch_size": micro, "optimizer": _optimizer(checked)}

    def digests(self, job: Job) -> dict[str, str]:
        """Digests of the model with its initial weights' recipe, the token data, and the launched scripts."""
        return training_launch.digests(job, SCRIPTS)

    def missing(self, job: Job) -> MissingPrerequisite | None:
        """DeepSpeed and torch; a C++ compiler where extensions are built; on CUDA a GPU for each rank."""
        settings = job.settings
        return (
            training_launch.missing_distribution(job, self.requires, str(self.install))
            or (training_launch.missing_compiler("building DeepSpeed's extensions") if _operators(settings) else None)
            or training_launch.missing_devices(settings["device"], settings["data_parallel"])
        )

    def write_launch(self, trial: Trial, folder: Path) -> None:
        """run.sh, the scripts, and trial.json with everything resolved."""
        settings = trial.settings
        more = {"collective_timeout_s": trial.benchmark.timeout}
        values = {
            "ranks": str(settings["data_parallel"]),
            "script": "zero.py",
            "operators": " ".join(_operators(settings)) or None,
            "cache": None,
            "accelerator": settings["device"],
        }
        training_launch.write(trial, folder, SCRIPTS, more, values)

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:
        """Steps, summary, traces, and what DeepSpeed measured itself, into samples/ and traces/."""
        observed = training_output.collect(trial, out, run, trial.settings["data_parallel"])
        return deepspeed_output.add(trial, out, run, observed)

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        """The training card with DeepSpeed as the framework."""
        summary = training_output.read_summary(run)
        defaults = dict(summary.get("defaults", {}))
        framework = {
            "name": "deepspeed",
            "version": defaults.pop("deepspeed_version", None),
            "compiler_tool_selection": "plain_pytorch",
            "settings": dict(trial.settings),
            "defaults": {**defaults, **({"torch": summary["torch_version"]} if "torch_version" in summary else {})},
        }
        replicas = "dp_shard" if trial.settings["zero_stage"] else "dp_replicate"
        plan = {replicas: trial.settings["data_parallel"]}
        return training_card.card(trial, self.digests(trial), framework, summary, run, plan)

    def failure_reason(self, ending: Ending) -> Reason | None:
        """The first reason whose pattern (failures.yaml) stands in the log's last lines."""
        return training_launch.failure_reason(ending, "torch", "deepspeed")


def _optimizer(settings: DeepSpeedSettings) -> str:
    offloaded = settings.offload_optimizer == "cpu"
    if offloaded and settings.optimizer == "adamw":
        raise SettingsError("optimizer", "must be cpu_adam where `offload_optimizer: cpu`, got adamw", KNOWN)
    if offloaded and settings.zero_stage == 0:
        raise SettingsError("offload_optimizer", "needs a zero_stage of 1 or more", KNOWN)
    if settings.optimizer == "cpu_adam" and settings.device == "cuda" and not offloaded:
        raise SettingsError("optimizer", "cpu_adam on cuda needs `offload_optimizer: cpu`", KNOWN)
    return settings.optimizer or ("cpu_adam" if offloaded else "adamw")


def _operators(settings: dict[str, Any]) -> list[str]:
    """The extensions that a launch needs: DeepSpeed takes the shared-memory one whenever it starts on CPUs."""
    wanted = ["deepspeed_shm_comm"] if settings["device"] == "cpu" else []
    return [*wanted, "cpu_adam"] if settings["optimizer"] == "cpu_adam" else wanted
