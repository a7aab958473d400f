"""The `train` workload: a fixed number of optimizer steps over seeded data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ledger.workloads.acceptance import Threshold
from ledger.workloads.fields import Number, Part, Seed, Text, Whole, different


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
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(different)]
    """Repeat n uses seed n (round and round), the same on every stack."""
    optimizer: Optimizer
    acceptance: Threshold

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
