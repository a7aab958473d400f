"""The benchmark file: one workload, the candidate stacks, the envelope, and the comparisons to publish.

Both rooms read it: `collector` plans trials from it, `sitegen` takes the question, thresholds and limits from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ledger import quantity
from ledger.canonical import digest
from ledger.errors import InputError
from ledger.suggestion import nearest
from ledger.yaml_file import Location, YamlFile, parse_yaml, read_yaml

NAME = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
RESERVED = frozenset({"status", "signatures"})

Name = Annotated[str, Field(pattern=NAME)]
Seconds = Annotated[float, BeforeValidator(quantity.duration), Field(gt=0)]
Bytes = Annotated[int, BeforeValidator(quantity.size), Field(gt=0)]
Share = Annotated[float, BeforeValidator(quantity.share), Field(gt=0, lt=1)]


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
    seed: int = Field(ge=0)
    tokens: int = Field(ge=1_000, le=100_000_000)
    branching: int = Field(ge=1, le=64)
    """Successors that each token has."""


class TransformerConfig(Part):
    """Shape of a Llama-style decoder."""

    layers: int = Field(ge=1)
    hidden_size: int = Field(ge=8)
    heads: int = Field(ge=1)
    intermediate_size: int = Field(ge=8)
    vocabulary_size: int = Field(ge=2)

    @model_validator(mode="after")
    def _heads_divide(self) -> TransformerConfig:
        if self.hidden_size % (2 * self.heads):
            raise ValueError(
                f"hidden_size must be a multiple of 2 x heads, got {self.hidden_size} and {self.heads} heads"
            )
        return self


class TrainModel(Part):
    """The model that is trained, with random weights."""

    name: str
    architecture: Literal["llama"]
    config: TransformerConfig
    precision: Literal["float32", "bfloat16"] = "float32"


class Optimizer(Part):
    """AdamW's settings."""

    name: Literal["adamw"] = "adamw"
    learning_rate: float = Field(gt=0)
    weight_decay: float = Field(ge=0, default=0.0)


class TrainWorkload(Part):
    """A training job: a fixed number of optimizer steps over seeded data."""

    kind: Literal["train"]
    model: TrainModel
    dataset: SyntheticDataset
    steps: int = Field(ge=1)
    """Optimizer steps of one launch, the warm-up steps among them."""
    warmup_steps: int = Field(ge=0)
    """First steps, recorded apart and left out of rates."""
    profiled_steps: int = Field(ge=1, default=4)
    """Steps that the profiler records in a profiled launch."""
    global_batch_size: int = Field(ge=1)
    sequence_length: int = Field(ge=2)
    seeds: tuple[int, ...] = Field(min_length=1)
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

    amount: float = Field(ge=0)
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    per: Literal["device_hour", "node_hour"]
    commitment: str | None = None
    source: str
    as_of: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")


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
    repeats: int | None = Field(ge=1, default=None)
    """Timed launches of this stack, where they differ from the benchmark's."""
    roles: tuple[Literal["warmup", "timed", "profiled"], ...] = ("warmup", "timed", "profiled")
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
        return str(self.minimise or self.maximise)


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
    question: str | None = None

    @property
    def slug(self) -> str:
        """Its name in addresses: `baseline-vs-candidate`."""
        return f"{self.baseline}-vs-{self.candidate}"


class Repeats(Part):
    """Launches of each stack: how many to start with, and the most that may be added."""

    initial: int = Field(ge=1, default=5)
    max: int = Field(ge=1, default=10)
    profiled: int = Field(ge=0, default=3)
    """Launches under the profiler, apart from the timed ones."""

    @model_validator(mode="after")
    def _in_order(self) -> Repeats:
        if self.max < self.initial:
            raise ValueError(f"max must be at least initial ({self.initial}), got {self.max}")
        return self


class Benchmark(Part):
    """The whole file, checked."""

    name: Name
    question: str
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
        return InputError(f"{_dotted(location)}: {what}", where=self.source.where(location), todo=todo)


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
    for name in benchmark.profiles:
        merged = _validate(source, _merge(source.data, benchmark.profiles[name]), prefix=("profiles", name))
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
        raise _explain(source, error, prefix) from None
    result = BenchmarkFile(source, benchmark, None)
    for index, comparison in enumerate(benchmark.comparisons):
        for side in ("baseline", "candidate"):
            stack = getattr(comparison, side)
            if stack not in benchmark.stacks:
                raise result.error(
                    (*prefix, "comparisons", index, side),
                    f"no stack {stack!r}",
                    nearest(stack, list(benchmark.stacks)),
                )
        if comparison.baseline == comparison.candidate:
            raise result.error(
                (*prefix, "comparisons", index), "compares a stack with itself", "declare it twice under two names"
            )
    return benchmark


def _explain(source: YamlFile, error: ValidationError, prefix: Location) -> InputError:
    """One problem of a ValidationError as one line: key, what was expected, nearest known key.

    A key nobody knows comes first: a misspelt key is also a missing one, and the misspelling is the cause.
    """
    problems = error.errors()
    problem = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    location = tuple(part for part in problem["loc"] if part != "[key]")
    what, todo = problem["msg"], None
    if problem["type"] == "extra_forbidden":
        known = _known_keys(location[:-1])
        what, todo = "unknown key", nearest(str(location[-1]), known)
    elif problem["type"] == "missing":
        what = "is missing"
    elif problem["type"] == "too_short":
        what = "must have at least one entry"
    elif problem["type"].startswith("greater_than") or problem["type"].startswith("less_than"):
        bound = next(iter(problem["ctx"].values()))
        words = {
            "greater_than_equal": "at least",
            "greater_than": "more than",
            "less_than": "less than",
            "less_than_equal": "at most",
        }
        what = f"must be {words[problem['type']]} {bound}, got {problem['input']}"
    elif problem["type"] == "value_error":
        what = str(problem["ctx"]["error"])
    elif problem["type"] == "string_pattern_mismatch":
        what = f"must match {problem['ctx']['pattern']}, got {problem['input']!r}"
    else:
        what = f"{what[0].lower()}{what[1:].removeprefix('nput ')}" if what.startswith("Input ") else what
        what = f"{what.removeprefix('i')}, got {_short(problem['input'])}"
    return InputError(f"{_dotted(location) or 'file'}: {what}", where=source.where((*prefix, *location)), todo=todo)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _known_keys(location: Location) -> list[str]:
    """The keys that may stand at `location`, read off the models."""
    model: Any = Benchmark
    for part in location:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part) if hasattr(model, "model_fields") else None
        model = _inner_model(field.annotation) if field else model
    return list(model.model_fields) if hasattr(model, "model_fields") else []


def _inner_model(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    inner = [found for found in map(_inner_model, getattr(annotation, "__args__", ())) if found is not None]
    return inner[-1] if inner else None


def _dotted(location: Location) -> str:
    return ".".join(str(part) for part in location)


def _merge(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    merged = {key: value for key, value in base.items() if not (key in over and over[key] is None)}
    for key, value in over.items():
        if value is not None:
            merged[key] = _merge(base.get(key), value)
    return merged
