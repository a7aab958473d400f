"""The `torch` adapter: training with PyTorch alone, eager or compiled, in one process or over several ranks.

One process runs train.py; more than one, or what only the ranked script can do, run parallel.py through torchrun. torch
itself is imported only by the launched processes; planning and collecting work without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from collector.stacks import training_card, training_launch, training_output
from collector.stacks.interface import Adapter, Ending, Job, MissingPrerequisite, Observed, SettingsError, Trial
from ledger.benchmark import Benchmark
from ledger.run import Reason
from ledger.workloads.train import TrainWorkload

SINGLE = (*training_launch.COMMON, "run.sh.jinja")
"""Scripts of one process. Their digest is in the trial keys of sealed runs."""
RANKED = (*training_launch.COMMON, *training_launch.RANKED, "parallel.py", "run_ranks.sh.jinja")


class TorchSettings(BaseModel):
    """What a stack may set."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    compile: bool = False
    """Train through torch.compile (Inductor): the whole model, or over several ranks each block."""
    compile_mode: Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"] | None = None
    """torch.compile's mode; `default` where `compile` is on."""
    threads: int = Field(ge=1, le=1024, default=1)
    """Threads inside one operator."""
    attention: Literal["sdpa", "math"] = "sdpa"
    """PyTorch's fused kernel, or explicit products and softmax."""
    micro_batch_size: int | None = Field(ge=1, default=None)
    """Sequences in one forward pass of one rank; gradients add up to the global batch. All of its share if not set."""
    data_parallel: int = Field(ge=1, le=4096, default=1)
    """Slices of the global batch, each on ranks of its own."""
    data_parallel_mode: Literal["ddp", "fsdp2"] | None = None
    """DistributedDataParallel (a replica on every rank; the default) or fully_shard (FSDP2)."""
    tensor_parallel: int = Field(ge=1, le=4096, default=1)
    """Ranks that share each slice, every one with its part of the heads, inner features and vocabulary."""
    activation_checkpointing: bool = False
    """Keep each block's input alone and compute the block again in the backward pass."""
    device: Literal["cpu", "cuda"] = "cpu"
    """One device a rank: gloo between CPUs, NCCL between GPUs."""


PLAN = {"data_parallel": 1, "tensor_parallel": 1, "activation_checkpointing": False, "device": "cpu"}
"""One process on the CPU: a stack with these settings resolves to those that came before them, and runs train.py."""


class TorchAdapter(Adapter):
    """Training with PyTorch."""

    name: ClassVar[str] = "torch"
    workload_kinds: ClassVar[frozenset[str]] = frozenset({"train"})
    requires: ClassVar[tuple[str, ...]] = ("torch",)
    install: ClassVar[str | None] = "pip install 'stackproof[torch]'"

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        """The settings with every default filled in. Raises SettingsError."""
        checked = training_launch.checked(TorchSettings, settings)
        if checked.compile_mode and not checked.compile:
            raise SettingsError("compile_mode", "has no meaning without `compile: true`", KNOWN)
        workload = benchmark.work(TrainWorkload)
        _check_plan(checked, workload)
        resolved = {
            **checked.model_dump(),
            "compile_mode": checked.compile_mode or ("default" if checked.compile else None),
            "micro_batch_size": training_launch.micro_batch_size(
                checked.micro_batch_size, checked.data_parallel, workload.global_batch_size, KNOWN
            ),
            "data_parallel_mode": _mode(checked),
        }
        single = all(resolved[name] == value for name, value in PLAN.items())
        return {name: value for name, value in resolved.items() if not single or name not in RANKED_SETTINGS}

    def digests(self, job: Job) -> dict[str, str]:
        """Digests of the model with its initial weights' recipe, the token data, and the launched scripts."""
        return training_launch.digests(job, _scripts(job))

    def missing(self, job: Job) -> MissingPrerequisite | None:
        """torch itself; for a compiled stack also a C++ compiler and Python's headers; on CUDA a GPU for each rank."""
        settings = job.settings
        return (
            training_launch.missing_distribution(job, self.requires, str(self.install))
            or (training_launch.missing_compiler("torch.compile") if settings.get("compile") else None)
            or training_launch.missing_devices(settings.get("device", "cpu"), ranks(settings))
        )

    def write_launch(self, trial: Trial, folder: Path) -> None:
        """run.sh, the scripts, and trial.json with everything resolved."""
        values = {"cache": training_launch.compile_cache(trial) if trial.settings["compile"] else None}
        more = {}
        if _is_ranked(trial.settings):
            more = {"collective_timeout_s": trial.benchmark.timeout}
            values |= {
                "ranks": str(ranks(trial.settings)),
                "script": "parallel.py",
                "operators": None,
                "accelerator": None,
            }
        training_launch.write(trial, folder, _scripts(trial), more, values)

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:
        """Steps, summary and the traces into samples/ and traces/."""
        count = ranks(trial.settings) if _is_ranked(trial.settings) else None
        return training_output.collect(trial, out, run, count)

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        """The training card with PyTorch as the framework."""
        summary = training_output.read_summary(run)
        framework = {
            "name": "pytorch",
            "version": summary.get("torch_version"),
            "compiler_tool_selection": "torch_inductor" if trial.settings["compile"] else "plain_pytorch",
            "settings": dict(trial.settings),
            "defaults": summary.get("defaults", {}),
        }
        return training_card.card(trial, self.digests(trial), framework, summary, run, _plan(trial.settings))

    def failure_reason(self, ending: Ending) -> Reason | None:
        """The first reason whose pattern (failures.yaml) stands in the log's last lines."""
        return training_launch.failure_reason(ending, "torch")


KNOWN = tuple(TorchSettings.model_fields)
RANKED_SETTINGS = frozenset({*PLAN, "data_parallel_mode"})


def ranks(settings: dict[str, Any]) -> int:
    """Processes that train."""
    return int(settings.get("data_parallel", 1) * settings.get("tensor_parallel", 1))


def _is_ranked(settings: dict[str, Any]) -> bool:
    return "device" in settings


def _scripts(job: Job) -> tuple[str, ...]:
    return RANKED if _is_ranked(job.settings) else SINGLE


def _mode(settings: TorchSettings) -> str | None:
    return settings.data_parallel_mode or "ddp" if settings.data_parallel > 1 else None


def _check_plan(settings: TorchSettings, workload: TrainWorkload) -> None:
    """Refuse a plan that the model or PyTorch cannot be split by."""
    if settings.data_parallel_mode and settings.data_parallel == 1:
        raise SettingsError("data_parallel_mode", "has no meaning without `data_parallel` of 2 or more", KNOWN)
    tensor, shape = settings.tensor_parallel, workload.model.config
    for part in ("heads", "intermediate_size", "vocabulary_size"):
        if getattr(shape, part) % tensor:
            raise SettingsError("tensor_parallel", f"must divide {part} ({getattr(shape, part)}), got {tensor}", KNOWN)
    if tensor > 1 and _mode(settings) == "ddp":
        what = (
            "together with data_parallel needs `data_parallel_mode: fsdp2`: DistributedDataParallel takes no DTensors"
        )
        raise SettingsError("tensor_parallel", what, KNOWN)


def _plan(settings: dict[str, Any]) -> dict[str, int]:
    """The card's parallelization: what is not 1."""
    replicas = "dp_shard" if settings.get("data_parallel_mode") == "fsdp2" else "dp_replicate"
    return {replicas: settings.get("data_parallel", 1), "tp": settings.get("tensor_parallel", 1)}
