"""The identity and outcome of one trial: what `run.json` holds, format 1."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ledger.canonical import short_digest
from ledger.errors import EvidenceError

FORMAT = 1


class State(enum.StrEnum):
    """How a trial ended. Everything finer is a reason."""

    COMPLETED = "completed"
    FAILED = "failed"


class Role(enum.StrEnum):
    """What a trial is for. Only `timed` enters effect, envelope and cost."""

    TIMED = "timed"
    PROFILED = "profiled"
    WARMUP = "warmup"
    SEARCH = "search"
    TRANSFER = "transfer"
    INTERVENTION = "intervention"
    REPRODUCTION = "reproduction"

    @property
    def is_like_timed(self) -> bool:
        """Whether its launches do exactly what timed ones do, though only those are judged."""
        return self not in {Role.PROFILED, Role.WARMUP}


class Reason(enum.StrEnum):
    """Why a trial failed: a closed list."""

    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    LAUNCH_FAILED = "launch_failed"
    PORT_IN_USE = "port_in_use"
    UNHEALTHY = "unhealthy"
    NO_OUTPUT = "no_output"
    PARTIAL_OUTPUT = "partial_output"
    NOT_ACCEPTED = "not_accepted"
    CANCELLED = "cancelled"
    LOST_NODE = "lost_node"
    ENVIRONMENT_FAILED = "environment_failed"


@dataclass(frozen=True)
class Outcome:
    """How the launch ended."""

    state: State
    reason: Reason | None = None
    detail: str | None = None
    """One sentence for people: what was seen."""
    exit_code: int | None = None
    signal: str | None = None
    last_log_lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.state is State.FAILED) != (self.reason is not None):
            raise ValueError(
                f"a failed trial has a reason and a completed one has none, got {self.state} and {self.reason}"
            )


@dataclass(frozen=True)
class Arm:
    """Which launch of an intervention a trial is: with the change, or the same stack as it is, launched beside it."""

    intervention: str
    """Its name in the benchmark file."""
    changed: bool

    @property
    def label(self) -> str:
        """`fewer-launches changed`, or `fewer-launches as it is`."""
        return f"{self.intervention} {'changed' if self.changed else 'as it is'}"


@dataclass(frozen=True)
class SearchStep:
    """What chose the settings of a `search` trial."""

    method: str
    seed: int
    space: str
    """Digest of all that is searched and held: trials with the same one are one tuning path."""
    number: int
    """Its place in the tuning path, from 1."""
    parameters: dict[str, Any]
    """{setting: value} of what is searched."""
    chosen_by: str
    """In words: `TPE, told 12 trials`."""
    after: tuple[str, ...] = ()
    """Ids of the runs whose results it knew."""

    @property
    def label(self) -> str:
        """`threads=2`."""
        return ", ".join(f"{name}={value}" for name, value in self.parameters.items())


@dataclass(frozen=True)
class Tuned:
    """Where a trial's settings come from, when a search chose them."""

    stack: str
    """Whose best settings they are: the trial's own stack, or in a `transfer` trial any."""
    run_id: str
    """Of the search trial that was best."""


@dataclass(frozen=True)
class BenchmarkOrigin:
    """Which benchmark file a trial came from; commit and blob are None where the file is not committed."""

    name: str
    commit: str | None = None
    blob: str | None = None
    profile: str | None = None


_LATER = {"arm": Arm, "search": SearchStep, "tuned": Tuned}
"""Fields that only some trials have; a run without one does not name it."""


@dataclass(frozen=True)
class Run:
    """Everything in run.json. Times are RFC 3339 in UTC with microseconds."""

    benchmark: BenchmarkOrigin
    stack: str
    adapter: str
    settings: dict[str, Any]
    """Resolved: every setting with its value, defaults too."""
    role: Role
    repeat: int
    """Counts from 1 within stack and role."""
    attempt: int
    trial_key: str
    workload_digest: str
    environment_digest: str
    batch: str
    """The plan's id: `plan-<batch>.json` beside the run."""
    launch_order: int
    """Position in the batch's launch sequence, from 1; proof of interleaving."""
    started_at: str
    ended_at: str
    host: str
    outcome: Outcome
    accepted: bool | None = None
    """Whether the result passed the workload's acceptance check; None where it was not judged."""
    absent: dict[str, str] = field(default_factory=dict)
    """What was not measured, and why (`power: no power sensor on this host`)."""
    redactions: tuple[str, ...] = ()
    """Files in which something was redacted."""
    duplicate_of_attempt: bool = False
    """True when another process held the claim: sealed, but never counted."""
    arm: Arm | None = None
    """None for a trial of any other role than `intervention`."""
    search: SearchStep | None = None
    """None for a trial of any other role than `search`."""
    tuned: Tuned | None = None
    """None where the settings are the benchmark file's."""
    format: int = FORMAT

    @property
    def date(self) -> str:
        """UTC date of the start, `YYYY-MM-DD`: the shard's name."""
        return self.started_at[:10]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        data = asdict(self)
        return {name: value for name, value in data.items() if name not in _LATER or value is not None}

    @classmethod
    def from_json(cls, data: Any, where: str) -> Run:
        """The checked view of a parsed run.json. Raises EvidenceError naming what is wrong."""
        try:
            found = data["format"]
            if found != FORMAT:
                raise EvidenceError(
                    f"run.json has format {found!r}, this version reads {FORMAT}",
                    where=where,
                    todo="upgrade stackproof",
                )
            outcome = dict(data["outcome"])
            outcome["state"] = State(outcome["state"])
            outcome["reason"] = None if outcome.get("reason") is None else Reason(outcome["reason"])
            outcome["last_log_lines"] = tuple(outcome.get("last_log_lines", ()))
            fields = dict(data)
            fields["benchmark"] = BenchmarkOrigin(**data["benchmark"])
            fields["outcome"] = Outcome(**outcome)
            fields["role"] = Role(data["role"])
            for name, kind in _LATER.items():
                fields[name] = kind(**data[name]) if data.get(name) is not None else None
            if fields["search"] is not None:
                fields["search"] = replace(fields["search"], after=tuple(fields["search"].after))
            fields["redactions"] = tuple(data.get("redactions", ()))
            return cls(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise EvidenceError(
                f"run.json does not hold a run ({type(error).__name__}: {error})",
                where=where,
                todo="restore it from git",
            ) from None


def trial_key(
    *,
    benchmark: str,
    workload: dict[str, Any],
    digests: dict[str, str],
    stack: str,
    settings: dict[str, Any],
    environment_digest: str,
    role: str,
    repeat: int,
    arm: Arm | None = None,
    tuned_on: str | None = None,
) -> str:
    """The identity of a planned launch (rule 1): price, envelope, comments and the number of repeats are outside it.

    `digests` holds those of model, dataset and adapter sources; `settings` the resolved ones and the limits set by the
    launcher; `tuned_on` is the stack whose best settings a `transfer` trial has.
    """
    return short_digest(
        {
            "benchmark": benchmark,
            "workload": workload,
            "digests": digests,
            "stack": stack,
            "settings": settings,
            "environment": environment_digest,
            "role": role,
            "repeat": repeat,
            **({} if arm is None else {"arm": asdict(arm)}),
            **({} if tuned_on is None else {"tuned_on": tuned_on}),
        }
    )
