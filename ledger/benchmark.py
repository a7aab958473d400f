"""The benchmark file: one workload, the candidate stacks, the envelope, and the comparisons to publish.

Both rooms read it: `collector` plans trials from it, `sitegen` takes the question, thresholds and limits from it.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ledger import benchmark_checks, benchmark_errors, quantity
from ledger.canonical import digest
from ledger.errors import InputError
from ledger.suggestion import nearest
from ledger.yaml_file import Location, YamlFile, parse_yaml, read_yaml

NAME = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
RESERVED = frozenset({"status", "signatures"})

MOST_REPEATS = 1_000
"""Launches of one stack in one role."""
LONGEST_S = 30 * 86_400
LEAST_BYTES, MOST_BYTES = 2**20, 2**60
"""No process starts with less, and no machine has more."""
MOST_SEED = 2**63 - 1


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("must say something, got nothing")
    return text


def _as_date(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        if date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise ValueError(f"must be a day such as 2026-11-30, got {quantity.shown(value)}")


def _different(values: tuple[Any, ...]) -> tuple[Any, ...]:
    twice = next((value for place, value in enumerate(values) if value in values[:place]), None)
    if twice is not None:
        raise ValueError(f"must hold each value once, got {twice} twice")
    return values


def _a_wait(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_S:
        raise ValueError(f"must be more than 0 s and at most {LONGEST_S // 86_400} days, got {seconds:g} s")
    return seconds


def _a_size(size: int) -> int:
    if not LEAST_BYTES <= size <= MOST_BYTES:
        raise ValueError(f"must be from {LEAST_BYTES >> 20} MiB to {MOST_BYTES >> 40} TiB, got {size:.4g} B")
    return size


Name = Annotated[str, Field(pattern=NAME)]
Text = Annotated[str, AfterValidator(_says_something)]
Day = Annotated[str, BeforeValidator(_as_date), Field(json_schema_extra={"format": "date"})]
Whole = Annotated[int, BeforeValidator(quantity.whole)]
Launches = Annotated[int, Field(ge=1, le=MOST_REPEATS), BeforeValidator(quantity.whole)]
Seed = Annotated[int, Field(ge=0, le=MOST_SEED), BeforeValidator(quantity.whole)]
Number = Annotated[float, BeforeValidator(quantity.number)]
Seconds = Annotated[float, BeforeValidator(quantity.duration, float | str), AfterValidator(_a_wait)]
Bytes = Annotated[int, BeforeValidator(quantity.size, int | str), AfterValidator(_a_size)]
Share = Annotated[float, Field(gt=0, lt=1), BeforeValidator(quantity.share, float | str)]


def _as_limit(value: Any) -> quantity.Limit:
    return value if isinstance(value, quantity.Limit) else quantity.limit(value)


Limit = Annotated[quantity.Limit, BeforeValidator(_as_limit, json_schema_input_type=str)]


class Part(BaseModel):
    """A part of the file: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Acceptance(Part):
    """What makes a unit of work an accepted result."""

    kind: Literal["threshold"]
    field: str
    """The metric that is judged."""
    rule: Limit
    """For `threshold`: the bound that the field must hold, such as `<= 3.0`."""


class SyntheticDataset(Part):
    """Seeded token data made on the spot: a Markov chain that a language model can learn."""

    synthetic: Literal["markov"]
    seed: Seed
    tokens: Whole = Field(ge=1_000, le=100_000_000)
    branching: Whole = Field(ge=1, le=64)
    """Successors that each token has."""


class TransformerConfig(Part):
    """Shape of a Llama-style decoder."""

    layers: Whole = Field(ge=1, le=10_000)
    hidden_size: Whole = Field(ge=8, le=1_000_000)
    heads: Whole = Field(ge=1, le=10_000)
    intermediate_size: Whole = Field(ge=8, le=10_000_000)
    vocabulary_size: Whole = Field(ge=2, le=10_000_000)

    @model_validator(mode="after")
    def _heads_divide(self) -> TransformerConfig:
        if self.hidden_size % (2 * self.heads):
            raise ValueError(
                f"hidden_size must be a multiple of 2 x heads, got {self.hidden_size} and {self.heads} heads"
            )
        return self


class TrainModel(Part):
    """The model that is trained, with random weights."""

    name: Text
    architecture: Literal["llama"]
    config: TransformerConfig
    precision: Literal["float32", "bfloat16"] = "float32"


class Optimizer(Part):
    """AdamW's settings."""

    name: Literal["adamw"] = "adamw"
    learning_rate: Number = Field(gt=0)
    weight_decay: Number = Field(ge=0, default=0.0)


class TrainWorkload(Part):
    """A training job: a fixed number of optimizer steps over seeded data."""

    kind: Literal["train"]
    model: TrainModel
    dataset: SyntheticDataset
    steps: Whole = Field(ge=1, le=10_000_000)
    """Optimizer steps of one launch, the warm-up steps among them."""
    warmup_steps: Whole = Field(ge=0, le=10_000_000)
    """First steps, recorded apart and left out of rates."""
    profiled_steps: Whole = Field(ge=1, le=1_000, default=4)
    """Steps that the profiler records in a profiled launch."""
    global_batch_size: Whole = Field(ge=1, le=1_000_000)
    sequence_length: Whole = Field(ge=2, le=10_000_000)
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_different)]
    """Repeat n uses seed n (round and round), the same on every stack."""
    optimizer: Optimizer
    acceptance: Acceptance

    @model_validator(mode="after")
    def _data_suffices(self) -> TrainWorkload:
        if self.dataset.branching > self.model.config.vocabulary_size:
            most = self.model.config.vocabulary_size
            raise ValueError(
                f"dataset.branching must be at most vocabulary_size ({most}), got {self.dataset.branching}"
            )
        least = 10 * (self.sequence_length + 1)
        if self.dataset.tokens < least:
            raise ValueError(f"dataset.tokens must hold at least ten sequences ({least}), got {self.dataset.tokens}")
        return self

    @model_validator(mode="after")
    def _has_measured_steps(self) -> TrainWorkload:
        if self.steps <= self.warmup_steps + self.profiled_steps:
            least = self.warmup_steps + self.profiled_steps + 1
            raise ValueError(f"steps must be at least {least} (warmup_steps + profiled_steps + 1), got {self.steps}")
        return self


class Price(Part):
    """What the hardware costs, by whose word, and when."""

    amount: Number = Field(ge=0)
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    per: Literal["device_hour", "node_hour"]
    commitment: Text | None = None
    source: Text
    as_of: Day


class Environment(Part):
    """What the trial's process gets beside its settings."""

    variables: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str] = {}


class Stack(Part):
    """One complete configuration."""

    adapter: str
    description: str | None = None
    settings: dict[str, Any] = {}
    """Checked by the adapter."""
    environment: Environment = Environment()
    memory_limit: Bytes | None = None
    """What one process of the trial may allocate; the launcher sets it."""
    repeats: Launches | None = None
    """Timed launches of this stack, where they differ from the benchmark's."""
    roles: Annotated[
        tuple[Literal["warmup", "timed", "profiled"], ...], Field(min_length=1), AfterValidator(_different)
    ] = ("warmup", "timed", "profiled")
    """What it is launched for."""
    price: Price | None = None


class Objective(Part):
    """The one metric to rank by."""

    minimise: str | None = None
    maximise: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Objective:
        if (self.minimise is None) == (self.maximise is None):
            raise ValueError("must have exactly one of minimise and maximise")
        return self

    @property
    def metric(self) -> str:
        """The metric's id."""
        return str(self.maximise if self.minimise is None else self.minimise)


class Envelope(Part):
    """The limits that a stack must hold, and the objective to rank by among those that do."""

    limits: dict[str, Limit] = {}
    objective: Objective


class Comparison(Part):
    """A declared pair of stacks, judged on one page."""

    baseline: str
    candidate: str
    threshold: Share
    """Smallest relative difference that matters, declared before the launches."""
    question: Text | None = None

    @property
    def slug(self) -> str:
        """Its name in addresses: `baseline-vs-candidate`."""
        return f"{self.baseline}-vs-{self.candidate}"


class Repeats(Part):
    """Launches of each stack: how many to start with, and the most that may be added."""

    initial: Launches = 5
    max: Launches = 10
    profiled: Whole = Field(ge=0, le=MOST_REPEATS, default=3)
    """Launches under the profiler, apart from the timed ones."""

    @model_validator(mode="after")
    def _in_order(self) -> Repeats:
        if self.max < self.initial:
            raise ValueError(f"max must be at least initial ({self.initial}), got {self.max}")
        return self


class Benchmark(Part):
    """The whole file, checked."""

    name: Name
    question: Text
    workload: TrainWorkload
    stacks: dict[Name, Stack] = Field(min_length=1)
    envelope: Envelope
    comparisons: tuple[Comparison, ...] = ()
    repeats: Repeats = Repeats()
    timeout: Seconds = 600.0
    profiles: dict[Name, dict[str, Any]] = {}
    """Named short forms: each is merged over the file; null takes a key away."""

    @model_validator(mode="after")
    def _name_is_free(self) -> Benchmark:
        if self.name in RESERVED:
            raise ValueError(f"the name {self.name!r} is reserved")
        return self

    @property
    def workload_digest(self) -> str:
        """Digest of the workload as declared: runs with different ones did different work."""
        return digest(self.workload.model_dump(mode="json"))


class BenchmarkFile:
    """A checked benchmark with the file that it came from, so that later checks can name lines too."""

    def __init__(self, source: YamlFile, benchmark: Benchmark, profile: str | None) -> None:
        self.source = source
        self.benchmark = benchmark
        self.profile = profile

    def error(self, location: Location, what: str, todo: str | None = None) -> InputError:
        """An InputError that names file, line and key."""
        return _error(self.source, location, what, todo)


def read(path: Path, profile: str | None = None) -> BenchmarkFile:
    """Read and check a benchmark file, with `profile` merged over it. Raises InputError."""
    return _check(read_yaml(path), profile)


def parse(text: str, path: Path, profile: str | None = None) -> BenchmarkFile:
    """As `read`, from text: a sealed `benchmark.yaml`, or a file at another revision."""
    return _check(parse_yaml(text, path), profile)


def json_schema() -> dict[str, Any]:
    """JSON Schema of the file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Benchmark.model_json_schema()}


def _check(source: YamlFile, profile: str | None) -> BenchmarkFile:
    benchmark = _validate(source, source.data)
    if benchmark.name != source.path.stem and source.path.name != "benchmark.yaml":
        raise InputError(
            f"name: must equal the file's stem {source.path.stem!r}, got {benchmark.name!r}",
            where=source.where(("name",)),
            todo="rename the file or the benchmark",
        )
    for name, short in benchmark.profiles.items():
        at = ("profiles", name)
        for problem in benchmark_checks.nothing_to_take_away(source.data, short, at):
            raise _error(source, problem.location, problem.what, problem.todo)
        merged = _validate(source, _merge(source.data, short), prefix=at)
        if name == profile:
            benchmark = merged
    if profile is not None and profile not in benchmark.profiles:
        raise InputError(
            f"no profile {profile!r}",
            where=source.where(("profiles",)),
            todo=nearest(profile, list(benchmark.profiles)),
        )
    return BenchmarkFile(source, benchmark, profile)


def _validate(source: YamlFile, data: Any, prefix: Location = ()) -> Benchmark:
    try:
        benchmark = Benchmark.model_validate(data)
    except ValidationError as error:
        location, what, todo = benchmark_errors.explain(error, Benchmark)
        raise _error(source, (*prefix, *location), what, todo) from None
    for problem in benchmark_checks.problems(benchmark, data):
        raise _error(source, (*prefix, *problem.location), problem.what, problem.todo)
    return benchmark


def _error(source: YamlFile, location: Location, what: str, todo: str | None) -> InputError:
    key = ".".join(str(part) for part in location) or "file"
    return InputError(f"{key}: {what}", where=source.where(location), todo=todo)


def _merge(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    merged = {key: value for key, value in base.items() if not (key in over and over[key] is None)}
    for key, value in over.items():
        if value is not None:
            merged[key] = _merge(base.get(key), value)
    return merged
