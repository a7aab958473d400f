"""What every training adapter writes into a launch folder: scripts, trial.json and run.sh, and what identifies them."""

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
from typing import Any, TypeVar

import jinja2
from pydantic import BaseModel, ValidationError

from collector.stacks.interface import Ending, Job, MissingPrerequisite, SettingsError, Trial
from collector.stacks.launch import markov
from collector.telemetry import nvml
from ledger import benchmark_errors
from ledger.benchmark import Benchmark
from ledger.canonical import digest, file_digest, short_digest
from ledger.run import Reason, Role
from ledger.workloads.train import TrainWorkload
from ledger.yaml_file import read_yaml

LAUNCH = Path(__file__).parent / "launch"
INITIALISATION = "normal(0, 0.02), ends of residual branches / sqrt(2 x layers), norms 1"
COMMON = ("train.py", "llama.py", "markov.py")
"""Scripts of every launch."""
RANKED = ("ranks.py", "launch_ranks.py")
"""Scripts of every launch with several ranks."""


Settings = TypeVar("Settings", bound=BaseModel)


def checked(model: type[Settings], settings: dict[str, Any]) -> Settings:
    """A stack's settings as `model`. Raises SettingsError."""
    known = tuple(model.model_fields)
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        problem = error.errors()[0]
        unknown = problem["type"] == "extra_forbidden"
        words = "unknown setting" if unknown else benchmark_errors.words(problem)
        raise SettingsError(str(problem["loc"][0]) if problem["loc"] else "", words, known) from None


def micro_batch_size(wanted: int | None, data_parallel: int, whole: int, known: tuple[str, ...]) -> int:
    """Sequences in one forward pass of one rank; all of the rank's share where not set. Raises SettingsError."""
    if whole % data_parallel:
        what = f"must divide global_batch_size ({whole}), got {data_parallel}"
        raise SettingsError("data_parallel", what, known)
    share = whole // data_parallel
    if wanted and share % wanted:
        of = "global_batch_size" if data_parallel == 1 else f"each of {data_parallel} ranks' share of the batch"
        raise SettingsError("micro_batch_size", f"must divide {of} ({share}), got {wanted}", known)
    return wanted or share


def digests(job: Job, scripts: tuple[str, ...]) -> dict[str, str]:
    """Digests of the model with its initial weights' recipe, the token data, and the launched scripts."""
    workload = job.benchmark.work(TrainWorkload)
    model = {**workload.model.model_dump(mode="json"), "initialisation": INITIALISATION}
    return {"model": digest(model), "dataset": _dataset_digest(job.benchmark), "adapter": _scripts_digest(scripts)}


def write(trial: Trial, folder: Path, scripts: tuple[str, ...], more: dict[str, Any], values: dict[str, Any]) -> None:
    """run.sh, the scripts, and trial.json with everything resolved.

    The last of `scripts` is run.sh's template, which `values` are for; `more` is added to trial.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    *plain, template = scripts
    for name in plain:
        shutil.copyfile(LAUNCH / name, folder / name)
    config = {**_trial_config(trial, digests(trial, scripts)), **more}
    (folder / "trial.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
    script = environment.from_string((LAUNCH / template).read_text()).render({**_script_values(trial), **values})
    (folder / "run.sh").write_text(script)
    (folder / "run.sh").chmod(0o755)


def failure_reason(ending: Ending, *frameworks: str) -> Reason | None:
    """The first reason whose pattern (failures.yaml) stands in the log's last lines."""
    for framework in frameworks:
        for reason, patterns in _failure_patterns(framework):
            if any(pattern.search(line) for pattern in patterns for line in ending.log_tail):
                return reason
    return None


def missing_distribution(job: Job, distributions: tuple[str, ...], install: str) -> MissingPrerequisite | None:
    """The first that is not installed here; a stack with an environment of its own gets them there."""
    for name in () if job.has_environment else distributions:
        if not _is_installed(name):
            return MissingPrerequisite(f"{name} is not installed", install)
    return None


def missing_compiler(what_for: str) -> MissingPrerequisite | None:
    """PyTorch takes the C++ compiler from CXX, else g++, and what it compiles includes Python.h."""
    chosen = os.environ.get("CXX", "g++")
    if not any(shutil.which(word) for word in shlex.split(chosen)[:1]):
        what = f"{what_for} needs a C++ compiler: "
        what += f"CXX names {chosen!r}, which is not there" if "CXX" in os.environ else "there is no g++"
        return MissingPrerequisite(what, "apt-get install g++")
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        return MissingPrerequisite(f"{what_for} needs Python's C headers (Python.h)", "apt-get install python3-dev")
    return None


def missing_devices(device: str, ranks: int) -> MissingPrerequisite | None:
    """On CUDA every rank needs a device of its own."""
    if device != "cuda":
        return None
    found = nvml.device_count()
    if isinstance(found, str):
        return MissingPrerequisite(f"device: cuda needs an NVIDIA GPU: {found}", "collect on a host with GPUs")
    what = f"{ranks} ranks on cuda need as many GPUs, and there are {found}"
    return None if found >= ranks else MissingPrerequisite(what, f"collect on a host with {ranks} GPUs")


def compile_cache(trial: Trial) -> str:
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


def _dataset_digest(benchmark: Benchmark) -> str:
    workload = benchmark.work(TrainWorkload)
    dataset = workload.dataset
    vocabulary = workload.model.config.vocabulary_size
    return _chain_digest(dataset.seed, dataset.tokens, dataset.branching, vocabulary)


@cache
def _chain_digest(seed: int, count: int, branching: int, vocabulary_size: int) -> str:
    """Cached: a plan asks for it once a trial."""
    return markov.digest(markov.tokens(seed, count, branching, vocabulary_size))


@cache
def _scripts_digest(scripts: tuple[str, ...]) -> str:
    return digest({name: file_digest(LAUNCH / name) for name in scripts})


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _trial_config(trial: Trial, found: dict[str, str]) -> dict[str, Any]:
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
        "model_digest": found["model"],
        "dataset_digest": found["dataset"],
    }


def _script_values(trial: Trial) -> dict[str, Any]:
    """What every run.sh is filled with. A stack's own variables win over ours, but not over its settings."""
    threads = str(trial.settings["threads"])
    # These find their code in the cache: no helper processes for the compiler that run beside the first steps.
    helpers = {"TORCHINDUCTOR_COMPILE_THREADS": "1"} if trial.role.is_like_timed else {}
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
        "cold": trial.role is Role.WARMUP,
        "memory_limit_kib": limit // 1024 if limit else None,
    }


@cache
def _failure_patterns(framework: str) -> list[tuple[Reason, list[re.Pattern[str]]]]:
    data = read_yaml(Path(__file__).parent / "failures.yaml").data[framework]
    return [(Reason(reason), [re.compile(pattern) for pattern in patterns]) for reason, patterns in data.items()]
