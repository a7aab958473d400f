"""The benchmark file: one workload, the candidate stacks, the envelope, and the comparisons to publish.

Both rooms read it: `collector` plans trials from it, `sitegen` takes the question, thresholds and limits from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from ledger import benchmark_checks, benchmark_errors
from ledger.canonical import digest
from ledger.errors import InputError
from ledger.schedule import Schedule
from ledger.search import Search, Space
from ledger.suggestion import nearest
from ledger.workloads import Workload
from ledger.workloads.fields import (
    MOST_REPEATS,
    Bytes,
    Day,
    Launches,
    Limit,
    Name,
    Number,
    Part,
    Positive,
    Seconds,
    Share,
    Text,
    Whole,
    different,
)
from ledger.yaml_file import Location, YamlFile, parse_yaml, read_yaml

W = TypeVar("W", bound=Part)
RESERVED = frozenset({"status", "signatures"})


class Price(Part):
    """What the hardware, or a service, costs, by whose word, and when."""

    amount: Number = Field(ge=0)
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    per: Literal[
        "device_hour",
        "node_hour",
        "million_input_tokens",
        "million_cached_tokens",
        "million_output_tokens",
        "request",
    ]
    commitment: Text | None = None
    source: Text
    as_of: Day


Variables = dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str]


class Environment(Part):
    """What the trial's process gets beside its settings."""

    variables: Variables = Field(default_factory=dict)
    requirements: Text | None = None
    """A pip requirements file, from the workspace's root: the stack runs in a virtual environment made from it."""


def _as_rows(value: Any) -> Any:
    return [] if value is None else [value] if isinstance(value, dict) else value


Prices = Annotated[tuple[Price, ...], BeforeValidator(_as_rows, Price | list[Price] | None)]
"""One price, or one for each thing that is charged (tokens in, tokens out)."""


class Stack(Part):
    """One complete configuration."""

    adapter: str
    description: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """Checked by the adapter."""
    search: Space = Field(default_factory=dict)
    """Settings to search, with the values that each may take: the best are what the stack is launched with."""
    environment: Environment = Environment()
    memory_limit: Bytes | None = None
    """What one process of the trial may allocate; the launcher sets it."""
    repeats: Launches | None = None
    """Timed launches of this stack, where they differ from the benchmark's."""
    roles: Annotated[
        tuple[Literal["warmup", "timed", "profiled"], ...], Field(min_length=1), AfterValidator(different)
    ] = ("warmup", "timed", "profiled")
    """What it is launched for."""
    price: Prices = ()
    observe: Annotated[tuple[Text, ...], AfterValidator(different)] = ()
    """Libraries that the traces of its profiled launches must show, such as `mscclpp` or `flash_attention`, beside what
    its settings imply: a stack that is said to use one and does not wins nothing."""
    public: Annotated[str, Field(pattern=r"^[0-9a-f]{16}/\S")] | None = None
    """The public row that it was drafted from, `<collection>/<row>`: for showing the two side by side, never judged."""


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


class Demand(Part):
    """The work that is to be paid for, so that cost can be told in whole devices."""

    requests_per_day: Positive | None = None
    """Requests, tasks or training runs, whatever one unit of the workload is."""
    peak_factor: Annotated[Number, Field(ge=1)] = 1.0
    """The busiest time's rate over the mean: machines are counted for that."""
    traffic: Text | None = None
    """A traffic file that `stackproof workload from-log` wrote, from the workspace's root: the benchmark's load is set
    beside it. A load that replays a log needs no other."""
    horizon: Seconds = 30 * 86_400.0
    """Over which one-off costs (start-up, compilation) are spread."""


class Envelope(Part):
    """The limits that a stack must hold, and the objective to rank by among those that do."""

    limits: dict[str, Limit] = Field(default_factory=dict)
    objective: Objective
    demand: Demand | None = None


class Intervention(Part):
    """A change of one stack that takes the cause away which a claim names: a test of that claim."""

    description: Text
    """What is changed, and why that takes the cause away."""
    stack: Name
    """The stack that is launched changed: either side of the comparison."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings that replace the stack's own; null takes one away. Checked by the adapter."""
    variables: Variables = Field(default_factory=dict)
    """Environment variables beside the stack's own."""
    claim: Text
    """Code of the claim that it tests, such as `host_bound`."""

    @model_validator(mode="after")
    def _changes_something(self) -> Intervention:
        if not self.settings and not self.variables:
            raise ValueError("changes nothing: give it settings or variables")
        return self


class Comparison(Part):
    """A declared pair of stacks, judged on one page."""

    baseline: str
    candidate: str
    threshold: Share
    """Smallest relative difference that matters, declared before the launches."""
    question: Text | None = None
    intended: tuple[Text, ...] = ()
    """Fields that are the thing compared though they are held otherwise, such as `card.workload.model.precision`."""
    held: tuple[Text, ...] = ()
    """Further fields that must be the same on both sides, such as `setting.threads` or `environment.source.commit`."""
    interventions: dict[Name, Intervention] = Field(default_factory=dict)
    """Tests of what explains the difference, launched by `collect --interventions`."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Comparison:
        both = sorted(set(self.intended) & set(self.held))
        if both:
            raise ValueError(f"{both[0]} cannot be both intended and held")
        return self

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
    workload: Workload
    stacks: dict[Name, Stack] = Field(min_length=1)
    envelope: Envelope
    comparisons: tuple[Comparison, ...] = ()
    repeats: Repeats = Repeats()
    timeout: Seconds = 600.0
    search: Search | None = None
    """How the stacks' spaces are searched, before anything is compared."""
    schedule: Schedule | None = None
    """When an agent launches again what has a run already."""
    profiles: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    """Named short forms: each is merged over the file; null takes a key away."""

    @model_validator(mode="after")
    def _name_is_free(self) -> Benchmark:
        if self.name in RESERVED:
            raise ValueError(f"the name {self.name!r} is reserved")
        return self

    def work(self, kind: type[W]) -> W:
        """The workload, which must be of this kind: an adapter that asks has said that it runs no other."""
        if not isinstance(self.workload, kind):
            raise TypeError(f"the workload is a {type(self.workload).__name__}, not a {kind.__name__}")
        return self.workload

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

    def changed(self, name: str) -> BenchmarkFile:
        """The file with the stack of the intervention `name` changed as that says. Raises StopIteration."""
        change = next(each.interventions[name] for each in self.benchmark.comparisons if name in each.interventions)
        stack = self.benchmark.stacks[change.stack]
        variables = {**stack.environment.variables, **change.variables}
        changed = stack.model_copy(
            update={
                "settings": _merge(stack.settings, change.settings),
                "environment": stack.environment.model_copy(update={"variables": variables}),
            }
        )
        return self._with(change.stack, changed)

    def tuned(self, name: str, settings: dict[str, Any]) -> BenchmarkFile:
        """The file with `settings` over those of the stack `name`."""
        stack = self.benchmark.stacks[name]
        return self._with(name, stack.model_copy(update={"settings": {**stack.settings, **settings}}))

    def _with(self, name: str, stack: Stack) -> BenchmarkFile:
        stacks = {**self.benchmark.stacks, name: stack}
        return BenchmarkFile(self.source, self.benchmark.model_copy(update={"stacks": stacks}), self.profile)


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
        location, what, todo = benchmark_errors.explain(error, Benchmark, data)
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
