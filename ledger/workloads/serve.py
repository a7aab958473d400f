"""The `serve` workload: requests to a server that is started for the launch, at a declared load."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ledger.workloads.acceptance import AnswerAcceptance
from ledger.workloads.fields import Number, Part, Positive, Seed, Text, Whole, different

MOST_REQUESTS = 1_000_000


class ServedModel(Part):
    """The model that every stack serves; a stack may name a file of its own in another format."""

    path: Text
    """Folder or file, from the workspace's root."""
    name: Text | None = None
    """What requests call it; the last part of the path where not set."""
    precision: Text = "float32"
    """Of weights and arithmetic, such as `float32`, `bfloat16` or `Q4_1`."""


class PromptDataset(Part):
    """A JSONL file, one prompt a line."""

    path: Text
    """From the workspace's root."""
    id: Text = "id"
    """Key of the item's name; the line's number where a row has none."""
    prompt: Text = "prompt"
    """Key of the prompt: text, or a list of chat messages."""


class Arrivals(Part):
    """Open loop: requests come when they come, whether or not the server keeps up."""

    rate: Positive
    """Requests a second, on average."""
    burstiness: Positive = 1.0
    """Shape of the gamma distribution of the gaps: 1 is a Poisson process, more is steadier."""


class FromLog(Part):
    """Arrival times and lengths of one's own log, replayed."""

    path: Text
    """A traffic file that `stackproof workload from-log` wrote, from the workspace's root."""
    scale: Positive = 1.0
    """How many times production's rate: 2 halves every gap."""


class Load(Part):
    """Either open loop (`arrivals`, `from_log`) or closed loop (`concurrency`), never both."""

    arrivals: Arrivals | None = None
    concurrency: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    """Requests in flight: the next is sent when one has ended."""
    from_log: FromLog | None = None
    requests: Whole = Field(ge=1, le=MOST_REQUESTS)
    """Measured requests of one launch, at each level."""
    warmup_requests: Whole = Field(ge=0, le=MOST_REQUESTS, default=4)
    """Sent before, recorded apart."""
    profiled_requests: Whole = Field(ge=1, le=10_000, default=8)
    """What a profiled launch sends while the profiler records."""
    max_output_tokens: Whole = Field(ge=1, le=10_000_000)
    sweep: Annotated[tuple[Positive, ...], AfterValidator(different)] = ()
    """More levels of the same load (rates, concurrencies or scales), each driven after the declared one."""

    @model_validator(mode="after")
    def _one_kind(self) -> Load:
        given = [name for name in ("arrivals", "concurrency", "from_log") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"must have exactly one of arrivals, concurrency and from_log, got {len(given)}")
        if self.concurrency is not None and any(level != int(level) for level in self.sweep):
            raise ValueError("sweep must hold whole numbers of requests in flight, as concurrency does")
        return self

    @property
    def is_open(self) -> bool:
        """Whether requests come by a clock, and not when others have ended."""
        return self.concurrency is None

    @property
    def level(self) -> float:
        """The declared level: requests a second, requests in flight, or times production's rate."""
        if self.arrivals is not None:
            return self.arrivals.rate
        return self.from_log.scale if self.from_log is not None else float(self.concurrency or 0)


class Sampling(Part):
    """How the server picks tokens; the defaults make answers as repeatable as they can be."""

    temperature: Annotated[Number, Field(ge=0, le=10)] = 0.0
    seed: Seed = 0


class ServeWorkload(Part):
    """A serving job."""

    kind: Literal["serve"]
    model: ServedModel
    dataset: PromptDataset
    load: Load
    endpoint: Literal["chat", "completions"] = "chat"
    system: Text | None = None
    """The system message, for `chat`."""
    sampling: Sampling = Sampling()
    seed: Seed = 0
    """Of the order of prompts and of the gaps between arrivals: the same for every stack."""
    acceptance: AnswerAcceptance

    @model_validator(mode="after")
    def _system_needs_chat(self) -> ServeWorkload:
        if self.system is not None and self.endpoint != "chat":
            raise ValueError("system has no meaning with `endpoint: completions`")
        return self
