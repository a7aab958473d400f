"""What the serving adapters share: the job of a server, the load on it, and what identifies both.

The load is driven by launch/drive.py over aiohttp, in an environment of its own. The ready-made clients were tried:
AIPerf 0.13 wants a tokenizer from the network even where the server counts tokens, so it cannot drive a GGUF file on a
machine without one; `vllm bench serve` needs all of vLLM beside every server, does not keep when a request was due, and
writes zeros where every request failed; GuideLLM needs a tokenizer too. None of them keeps, for each request, its due
time beside its send time together with text and error, which acceptance and the latency of an open loop rest on.
"""

from __future__ import annotations

import json
import shlex
import shutil
from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar

import jinja2
from pydantic import BaseModel, ConfigDict, Field

from collector.stacks import launch_files, model_weights, serving_output, training_launch
from collector.stacks.interface import (
    Adapter,
    Ending,
    Job,
    MissingPrerequisite,
    Observed,
    SettingsError,
    Trial,
    WorkloadError,
)
from collector.stacks.prompts import read_prompts
from ledger import traffic
from ledger.benchmark import Benchmark
from ledger.canonical import digest, file_digest
from ledger.errors import InputError
from ledger.run import Reason, Role
from ledger.workloads.fields import Seconds, Whole
from ledger.workloads.serve import ServeWorkload

SCRIPTS = ("serve.py", "drive.py", "processes.py")
TEMPLATE = training_launch.LAUNCH / "run_serve.sh.jinja"
PROFILED_CONCURRENCY = 1
OWN_ENVIRONMENT = (
    "name a requirements file with it as the stack's environment (`init --example smollm2-serving-cpu` brings some)"
)
"""How a server that pins much of what it needs is added."""


class ServingSettings(BaseModel):
    """What every server may be told."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str | None = None
    """This stack's own file or folder of the model, where it is in another format."""
    precision: str | None = None
    """Of weights and arithmetic; the workload's where not set."""
    threads: Annotated[Whole, Field(ge=1, le=4096)] | None = None
    port: Annotated[Whole, Field(ge=1, le=65535)] | None = None
    """A free one where not set."""
    startup_limit: Seconds = 300.0
    """From the start of the process until it answers that it is healthy."""
    request_timeout: Seconds = 120.0
    """Of one request."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """More keys of every request's body."""
    arguments: tuple[str, ...] = ()
    """More of the server's own arguments."""


class ServingAdapter(Adapter):
    """A server that speaks OpenAI's protocol."""

    workload_kinds: ClassVar[frozenset[str]] = frozenset({"serve"})
    roles: ClassVar[frozenset[Role]] = frozenset({Role.TIMED})
    client_requirements: ClassVar[Path | None] = Path(__file__).with_name("serving-client.txt")
    settings_model: ClassVar[type[ServingSettings]] = ServingSettings
    scripts: ClassVar[tuple[str, ...]] = ()
    """Launched beside the common ones."""
    metrics_path: ClassVar[str | None] = "/metrics"

    def resolve(self, settings: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
        """The settings with every default filled in. Raises SettingsError."""
        workload = benchmark.work(ServeWorkload)
        found = training_launch.checked(self.settings_model, settings).model_dump(mode="json")
        found["precision"] = found["precision"] or workload.model.precision
        return found

    def check(self, job: Job) -> None:
        """Model, data set and traffic are there and make sense. Raises SettingsError, WorkloadError, InputError."""
        workload = job.benchmark.work(ServeWorkload)
        self.check_model(job)
        read_prompts(job.find(workload.dataset.path), workload)
        if workload.load.from_log is not None:
            path = job.find(workload.load.from_log.path)
            if not path.is_file():
                what = f"no such traffic file {workload.load.from_log.path}"
                raise WorkloadError(("load", "from_log", "path"), what, "make it: stackproof workload from-log LOG")
            traffic.read(path)

    def check_model(self, job: Job) -> None:
        """The model is where the stack, or the workload, says. Raises SettingsError, WorkloadError."""
        own = job.settings["model"]
        path = self.model_path(job)
        problem = self.model_problem(path)
        if problem and own is not None:
            raise SettingsError("model", problem, tuple(self.settings_model.model_fields))
        if problem:
            raise WorkloadError(("model", "path"), problem, "fetch the model, or mend its path")

    def model_problem(self, path: Path) -> str | None:
        """What is wrong with a model's path; None where the server can try to load it."""
        if not path.exists():
            return f"no such model {path.name}: {path} is not there"
        if path.is_dir() and not (path / "config.json").is_file():
            return f"{path} is no model: it has no config.json"
        return None

    def model_path(self, job: Job) -> Path:
        """The model's file or folder."""
        return job.find(job.settings["model"] or job.benchmark.work(ServeWorkload).model.path)

    def model_name(self, job: Job) -> str:
        """What requests call the model."""
        model = job.benchmark.work(ServeWorkload).model
        return model.name or Path(model.path).stem

    def request_name(self, job: Job) -> str:
        """The `model` of every request; `{workspace}` stands for the workspace's root."""
        return self.model_name(job)

    def digests(self, job: Job) -> dict[str, str]:
        """Digests of the model's files, of prompts and traffic, and of all that is launched."""
        workload = job.benchmark.work(ServeWorkload)
        names = (*SCRIPTS, *self.scripts, TEMPLATE.name)
        scripts = {name: file_digest(training_launch.LAUNCH / name) for name in names}
        asked = {"prompts": file_digest(job.find(workload.dataset.path))}
        if workload.load.from_log is not None:
            asked["traffic"] = file_digest(job.find(workload.load.from_log.path))
        return {
            "model": self.model_digest(job),
            "dataset": digest(asked),
            "adapter": digest({**scripts, "client": file_digest(Path(__file__).with_name("serving-client.txt"))}),
        }

    def model_digest(self, job: Job) -> str:
        """Of the files that are served."""
        return launch_files.tree_digest(self.model_path(job))

    def weights(self, job: Job) -> dict[str, int] | None:
        """Bytes of weights that a decode iteration reads, and the devices that they are spread over; None if unknown.

        Metrics ask how fast memory is read for a token.
        """
        found = model_weights.bytes_read(self.model_path(job), job.settings["precision"])
        return None if found is None else {"bytes": found, "devices": job.settings.get("tensor_parallel_size") or 1}

    def missing(self, job: Job) -> MissingPrerequisite | None:
        """The server's packages, unless the stack has an environment of its own."""
        return training_launch.missing_distribution(job, self.requires, f"pip install {' '.join(self.requires)}")

    @abstractmethod
    def server(self, trial: Trial) -> dict[str, Any] | None:
        """The server's part of trial.json: {command, variables, health}; None where it is running already."""

    def write_launch(self, trial: Trial, folder: Path) -> None:
        """run.sh, the scripts, and trial.json with the whole load."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*SCRIPTS, *self.scripts):
            shutil.copyfile(training_launch.LAUNCH / name, folder / name)
        config = {**self._config(trial), "digests": self.digests(trial)}
        (folder / "trial.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
        limit = trial.stack.memory_limit
        values = {
            "variables": {name: shlex.quote(value) for name, value in trial.stack.environment.variables.items()},
            "memory_limit_kib": limit // 1024 if limit else None,
        }
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
        (folder / "run.sh").write_text(environment.from_string(TEMPLATE.read_text()).render(values))
        (folder / "run.sh").chmod(0o755)

    def _config(self, trial: Trial) -> dict[str, Any]:
        workload, settings = trial.benchmark.work(ServeWorkload), trial.settings
        server = self.server(trial)
        if server is not None:
            limits = {"startup_limit": settings["startup_limit"], "port": settings["port"]}
            server = {"health": "/health", "variables": {}, **limits, **server}
        dataset = {
            **workload.dataset.model_dump(),
            "path": launch_files.below(trial, trial.find(workload.dataset.path)),
        }
        return {
            "format": 1,
            "role": trial.role.value,
            "repeat": trial.repeat,
            "server": server,
            "address": settings.get("address"),
            "key_variable": settings.get("key_variable"),
            "metrics_path": self.metrics_path,
            "model_name": self.request_name(trial),
            "weights": self.weights(trial),
            "endpoint": workload.endpoint,
            "system": workload.system,
            "sampling": workload.sampling.model_dump(),
            "dataset": dataset,
            "max_output_tokens": workload.load.max_output_tokens,
            "request_timeout": settings["request_timeout"],
            "extra_body": settings["extra_body"],
            "phases": phases(trial),
        }

    def collect(self, trial: Trial, out: Path, run: Path) -> Observed:
        """Every request, judged; the server's log, metrics and traces."""
        workload = trial.benchmark.work(ServeWorkload)
        prompts = read_prompts(trial.find(workload.dataset.path), workload)
        planned = sum(phase["requests"] for phase in phases(trial))
        return serving_output.collect(workload, prompts, planned, out, run)

    def card(self, trial: Trial, run: Path) -> dict[str, Any]:
        """The card of a served model and its load."""
        return serving_output.card(trial, run, self.digests(trial), self.requires, self.model_name(trial))

    def failure_reason(self, ending: Ending) -> Reason | None:
        """By what serve.py says at the end, else by the server's log."""
        said = "\n".join(ending.log_tail)
        if "address already in use" in said.lower():
            return Reason.PORT_IN_USE
        known = training_launch.failure_reason(ending, "command", "torch")
        if known is Reason.OUT_OF_MEMORY:
            return known
        if "was not healthy" in said or "before it was healthy" in said:
            return Reason.UNHEALTHY
        return known


def phases(trial: Trial) -> list[dict[str, Any]]:
    """What a launch drives, in order: warm-up, the declared level, then the sweep; or, profiled, a few requests."""
    workload = trial.benchmark.work(ServeWorkload)
    load, seed = workload.load, workload.seed
    warmup = {"phase": "warmup", "level": None, "seed": seed + 1, "concurrency": 1, "requests": load.warmup_requests}
    found: list[dict[str, Any]] = [warmup] if load.warmup_requests else []
    if trial.role is Role.PROFILED:
        few = {"requests": load.profiled_requests, "concurrency": PROFILED_CONCURRENCY, "level": None}
        return [*found, {"phase": "profiled", "seed": seed, **few}]
    if trial.role is Role.WARMUP:
        return found
    found.append(_level(trial, "measured", load.level, seed))
    return [*found, *(_level(trial, "sweep", level, seed) for level in load.sweep)]


def _level(trial: Trial, phase: str, level: float, seed: int) -> dict[str, Any]:
    load = trial.benchmark.work(ServeWorkload).load
    common = {"phase": phase, "level": level, "seed": seed, "requests": load.requests}
    if load.concurrency is not None:
        return {**common, "concurrency": int(level)}
    if load.arrivals is not None:
        return {**common, "rate": level, "burstiness": load.arrivals.burstiness}
    if load.from_log is None:
        raise InputError("the load is neither open nor closed", todo="mend workload.load")
    return {
        **common,
        **_replayed(traffic.read(trial.find(load.from_log.path)), level, load.requests, load.max_output_tokens),
    }


def _replayed(recorded: traffic.Traffic, scale: float, requests: int, most: int) -> dict[str, Any]:
    """Arrivals and output lengths of recorded traffic, round and round where more are asked for than it has."""
    count = len(recorded.arrivals_s)
    gap = recorded.span_s / (count - 1) if count > 1 else 1.0
    around = recorded.span_s + gap
    due = [(recorded.arrivals_s[n % count] + n // count * around) / scale for n in range(requests)]
    lengths = [min(most, length) if length else most for length in recorded.output_lengths]
    limits = lengths if recorded.unit == "tokens" else []
    return {"arrivals_s": due, **({"output_lengths": limits} if limits else {})}
