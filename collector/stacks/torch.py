"""The `torch` adapter: one training process, eager or compiled.

torch itself is imported only by the launched process; planning and collecting work without it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import jinja2
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from collector.stacks import training_card, training_output
from collector.stacks.interface import Adapter, Ending, MissingPrerequisite, Observed, SettingsError, Trial
from collector.stacks.launch import markov
from ledger import benchmark_errors
from ledger.benchmark import Benchmark
from ledger.canonical import digest, file_digest, short_digest
from ledger.run import Reason, Role
from ledger.workloads.train import TrainWorkload
from ledger.yaml_file import read_yaml

LAUNCH = Path(__file__).parent / "launch"
SCRIPTS = ("train.py", "llama.py", "markov.py")
RUN_SH = "run.sh.jinja"
INITIALISATION = "normal(0, 0.02), ends of residual branches / sqrt(2 x layers), norms 1"


class TorchSettings(BaseModel):
    """What a stack may set."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    compile: bool = False
    """Train through torch.compile (Inductor)."""
    compile_mode: Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"] | None = None
    """torch.compile's mode; `default` where `compile` is on."""
    threads: int = Field(ge=1, le=1024, default=1)
    """Threads inside one operator."""
    attention: Literal["sdpa", "math"] = "sdpa"
    """PyTorch's fused kernel, or explicit products and softmax."""
    micro_batch_size: int | None = Field(ge=1, default=None)
    """Sequences in one forward pass; gradients add up to the global batch. The whole batch where not set."""


class TorchAdapter(Adapter):
    """Training with PyTorch on one device."""

    name: ClassVar[str] = "torch"
    workload_kinds: ClassVar[frozenset[str]] = frozenset({"train"})
    requires: ClassVar[tuple[str, ...]] = ("torch",)

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        """The settings with every default filled in. Raises SettingsError."""
        try:
            checked = TorchSettings.model_validate(settings)
        except ValidationError as error:
            raise _explain(error) from None
        if checked.compile_mode and not checked.compile:
            raise SettingsError("compile_mode", "has no meaning without `compile: true`", KNOWN)
        whole = benchmark.work(TrainWorkload).global_batch_size
        micro = checked.micro_batch_size or whole
        if whole % micro:
            raise SettingsError("micro_batch_size", f"must divide global_batch_size ({whole}), got {micro}", KNOWN)
        mode = checked.compile_mode or ("default" if checked.compile else None)
        return {**checked.model_dump(), "compile_mode": mode, "micro_batch_size": micro}

    def digests(self, benchmark: Benchmark) -> dict[str, str]:
        """Digests of the model with its initial weights' recipe, the token data, and the launched scripts."""
        workload = benchmark.work(TrainWorkload)
        model = {**workload.model.model_dump(mode="json"), "initialisation": INITIALISATION}
        return {"model": digest(model), "dataset": _dataset_digest(benchmark), "adapter": _scripts_digest()}

    def missing(self, settings: dict[str, Any]) -> MissingPrerequisite | None:
        """torch itself; for a compiled stack also a C++ compiler and Python's headers."""
        for distribution in self.requires:
            if not _is_installed(distribution):
                return MissingPrerequisite(f"{distribution} is not installed", "pip install 'stackproof[torch]'")
        return _missing_compiler() if settings.get("compile") else None

    def write_launch(self, trial: Trial, folder: Path) -> None:
        """run.sh, the scripts, and trial.json with everything resolved."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in SCRIPTS:
            shutil.copyfile(LAUNCH / name, folder / name)
        trial_json = json.dumps(_trial_config(trial, self.digests(trial.benchmark)), indent=1, sort_keys=True)
        (folder / "trial.json").write_text(trial_json + "\n")
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
        template = environment.from_string((LAUNCH / RUN_SH).read_text())
        (folder / "run.sh").write_text(template.render(_script_values(trial)))
        (folder / "run.sh").chmod(0o755)

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:
        """steps.jsonl, summary.json and the trace into samples/ and traces/."""
        return training_output.collect(trial, out, run)

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        """The training card with PyTorch as the framework."""
        summary = training_output.read_summary(run)
        compiler = "torch_inductor" if trial.settings["compile"] else "plain_pytorch"
        framework = {
            "name": "pytorch",
            "version": summary.get("torch_version"),
            "compiler_tool_selection": compiler,
            "settings": dict(trial.settings),
            "defaults": summary.get("defaults", {}),
        }
        return training_card.card(trial, self.digests(trial.benchmark), framework, summary, run)

    def failure_reason(self, ending: Ending) -> Reason | None:
        """The first reason whose pattern (failures.yaml) stands in the log's last lines."""
        for reason, patterns in _failure_patterns():
            if any(pattern.search(line) for pattern in patterns for line in ending.log_tail):
                return reason
        return None


KNOWN = tuple(TorchSettings.model_fields)


def _explain(error: ValidationError) -> SettingsError:
    problem = error.errors()[0]
    key = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        return SettingsError(key, "unknown setting", KNOWN)
    return SettingsError(key, benchmark_errors.words(problem), KNOWN)


def _dataset_digest(benchmark: Benchmark) -> str:
    workload = benchmark.work(TrainWorkload)
    dataset, vocabulary = workload.dataset, workload.model.config.vocabulary_size
    return _chain_digest(dataset.seed, dataset.tokens, dataset.branching, vocabulary)


@cache
def _chain_digest(seed: int, count: int, branching: int, vocabulary_size: int) -> str:
    """Cached: a plan asks for it once a trial."""
    return markov.digest(markov.tokens(seed, count, branching, vocabulary_size))


@cache
def _scripts_digest() -> str:
    return digest({name: file_digest(LAUNCH / name) for name in (*SCRIPTS, RUN_SH)})


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _missing_compiler() -> MissingPrerequisite | None:
    """Inductor takes the compiler from CXX, else g++, and its modules include Python.h."""
    chosen = os.environ.get("CXX", "g++")
    if not any(shutil.which(word) for word in shlex.split(chosen)[:1]):
        what = "torch.compile needs a C++ compiler: "
        what += f"CXX names {chosen!r}, which is not there" if "CXX" in os.environ else "there is no g++"
        return MissingPrerequisite(what, "apt-get install g++")
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        return MissingPrerequisite("torch.compile needs Python's C headers (Python.h)", "apt-get install python3-dev")
    return None


def _trial_config(trial: Trial, digests: dict[str, str]) -> dict[str, Any]:
    """All that train.py reads: the workload and settings, resolved."""
    workload = trial.benchmark.workload.model_dump(mode="json")
    seeds = workload.pop("seeds")
    return {
        **workload,
        "format": 1,
        "benchmark": trial.benchmark.name,
        "stack": trial.stack_name,
        "role": trial.role.value,
        "repeat": trial.repeat,
        "trial_key": trial.trial_key,
        "seed": seeds[(trial.repeat - 1) % len(seeds)],
        "settings": trial.settings,
        "initialisation": INITIALISATION,
        "model_digest": digests["model"],
        "dataset_digest": digests["dataset"],
    }


def _script_values(trial: Trial) -> dict[str, Any]:
    """What run.sh.jinja is filled with. A stack's own variables win over ours, but not over its settings."""
    threads = str(trial.settings["threads"])
    # Timed launches find their code in the cache: no helper processes for the compiler that run beside the first steps.
    helpers = {"TORCHINDUCTOR_COMPILE_THREADS": "1"} if trial.role is Role.TIMED else {}
    variables = {
        # Threads that spin while they wait take the cores from each other wherever these are shared.
        "OMP_WAIT_POLICY": "PASSIVE",
        "GOMP_SPINCOUNT": "0",
        "OMP_DYNAMIC": "FALSE",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        **helpers,
        **trial.stack.environment.variables,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
    limit = trial.stack.memory_limit
    return {
        "variables": {name: shlex.quote(value) for name, value in variables.items()},
        "cache": _cache_name(trial) if trial.settings["compile"] else None,
        "cold": trial.role is Role.WARMUP,
        "memory_limit_kib": limit // 1024 if limit else None,
    }


def _cache_name(trial: Trial) -> str:
    """The compile cache's folder: one for each stack and what shapes its code.

    Profiled launches compile other code (see train.py), so that they have a folder of their own.
    """
    workload = trial.benchmark.work(TrainWorkload)
    shape = {
        "model": workload.model.model_dump(mode="json"),
        "sequence_length": workload.sequence_length,
        "settings": trial.settings,
        "variables": trial.stack.environment.variables,
    }
    kind = "profiled" if trial.role is Role.PROFILED else "timed"
    return f"{trial.benchmark.name}-{trial.stack_name}-{short_digest(shape)}/{kind}"


@cache
def _failure_patterns() -> list[tuple[Reason, list[re.Pattern[str]]]]:
    data = read_yaml(Path(__file__).parent / "failures.yaml").data["torch"]
    return [(Reason(reason), [re.compile(pattern) for pattern in patterns]) for reason, patterns in data.items()]
