"""What a comparison found: one structure that page, terminal, JSON and review all show.

Times are seconds, sizes bytes, shares 0 to 1. A value that is not there is None beside the reason for it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from ledger.run import Role
from sitegen.comparison.aligned import Operations
from sitegen.comparison.explanation import Claim, Prediction
from sitegen.comparison.flips.found import Flips
from sitegen.comparison.tuning_path import Transfer, TuningPath


class Decision(enum.StrEnum):
    """The verdict."""

    WINS = "wins"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    NONE_QUALIFIES = "none qualifies"
    NOT_COMPARABLE = "not comparable"


class Treatment(enum.StrEnum):
    """How a field takes part in a comparison."""

    INTENDED = "intended"
    HELD = "held"
    RECORDED = "recorded"


class Sameness(enum.StrEnum):
    """Whether two sides agree on a field. Unknown is neither same nor different."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class Standing(enum.StrEnum):
    """Whether a limit of the envelope is held."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Note:
    """A readiness reason or a downgrade: a stable code, a sentence, and the runs it rests on."""

    code: str
    text: str
    evidence: tuple[str, ...] = ()
    """Run ids."""


@dataclass(frozen=True)
class Readiness:
    """Whether the evidence is enough to decide on."""

    ready: bool
    reasons: tuple[Note, ...]
    """Why it is not ready; empty when it is."""
    next_run: str | None
    """The command whose launches would help; None when it is ready, and where no launch would."""
    next_step: str | None = None
    """What to do where no launch would help, in words."""


@dataclass(frozen=True)
class Launch:
    """One timed launch: one dot of the effect chart."""

    run_id: str
    stack: str
    repeat: int
    launch_order: int
    value: float | None
    """The objective's value; None when the launch failed or did not measure it."""
    state: str
    reason: str | None


@dataclass(frozen=True)
class Judged:
    """The interval of the effect that a verdict is read off: wider than 95 % where launches may be added."""

    low: float
    high: float
    level: float
    """Its confidence."""
    look: int
    """How often the timed launches were looked at, this time included: batches that added some."""
    launches: int
    """Launches a side at this look."""
    most: int
    """Launches a side that the benchmark file allows."""
    together: int = 1
    """Comparisons against the same baseline, among which the error is divided."""


@dataclass(frozen=True)
class Effect:
    """Ratio candidate / baseline of the objective, with its 95 % interval."""

    metric: str
    definition: str
    """`step_time@1`."""
    unit: str
    lower_is_better: bool
    baseline: float | None
    """Geometric mean over the baseline's launches."""
    candidate: float | None
    ratio: float | None
    low: float | None
    high: float | None
    method: str
    """How the interval was made, in words: `t interval on log ratios of 5 interleaved blocks`."""
    baseline_launches: int
    candidate_launches: int
    absent: str | None = None
    """Why there is no interval."""
    title: str = ""
    """What people call the metric."""
    judged: Judged | None = None
    """What the verdict is read off; None where there is no interval."""


@dataclass(frozen=True)
class WorkDone:
    """Work a second of both sides, offered where their steps do unequal work: it is shown, and decides nothing."""

    unit: str
    """`tokens/s` or `samples/s`."""
    baseline: float
    """Geometric mean over the baseline's timed launches of work of a step / time of a step."""
    candidate: float
    ratio: float
    """Candidate / baseline; more is better."""
    low: float | None
    """95 % interval of the ratio (Welch); None with fewer than 2 launches a side."""
    high: float | None
    turns_round: bool
    """Whether the side with the longer steps gets through more work."""


@dataclass(frozen=True)
class LimitCheck:
    """One limit of the envelope for one side."""

    stack: str
    metric: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    limit: str
    """As the benchmark file writes it, `<= 3.0`."""
    margin: float | None
    """Distance from the value to the bound; positive inside."""
    standing: Standing
    basis: str
    """What it rests on: `5 launches, t interval`."""


@dataclass(frozen=True)
class FieldComparison:
    """One field of the two sides lined up."""

    field: str
    treatment: Treatment
    sameness: Sameness
    baseline: str | None
    candidate: str | None
    title: str | None = None
    """What sentences call a held field, `batch size`, or a library that traces show."""


@dataclass(frozen=True)
class Part:
    """One row of the accounting: seconds a step on each side; None where a side has no such part."""

    id: str
    """Metric id: `compute`, `compute.gemm`, `idle`."""
    title: str
    parent: str | None
    baseline: float | None
    candidate: float | None

    @property
    def difference(self) -> float | None:
        """Candidate minus baseline, or None when a side is missing."""
        return None if self.baseline is None or self.candidate is None else self.candidate - self.baseline

    @property
    def shown(self) -> bool:
        """Whether it says anything: a part that takes no time on either side is left out."""
        return bool(self.baseline or self.candidate)


@dataclass(frozen=True)
class Factor:
    """One factor of a cost, and how much of the difference in cost it makes."""

    id: str
    title: str
    unit: str
    baseline: float
    candidate: float
    contribution: float
    """To candidate minus baseline, in money; all contributions add up to it."""


@dataclass(frozen=True)
class ItemRow:
    """One item: the share of its attempts that each side got accepted."""

    item: str
    baseline: float
    candidate: float

    @property
    def difference(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


@dataclass(frozen=True)
class ItemComparison:
    """Both sides item by item; an item counts as accepted from half of its attempts on."""

    both: int
    only_baseline: int
    only_candidate: int
    neither: int
    p_value: float
    """McNemar's exact test, two-sided."""
    apart: tuple[ItemRow, ...]
    """Items on which the sides differ, the largest differences first, up to a limit."""
    apart_count: int
    """How many there are in all."""
    alone: int
    """Items that only one side was given or judged on; they are left out."""


@dataclass(frozen=True)
class Accounting:
    """Where the difference lies: parts from the profiled launches beside the total from the timed ones."""

    parts: tuple[Part, ...]
    difference: float | None
    """Of the timed launches' step time, candidate minus baseline."""
    residual: float | None
    """What the parts do not account for."""
    closure: float | None
    explained_share: float | None
    profiler_overhead: dict[str, float]
    """{stack: profiled step / unprofiled step of the same launches - 1}, else as `overhead_basis` says."""
    baseline_runs: tuple[str, ...]
    candidate_runs: tuple[str, ...]
    absent: str | None = None
    """Why there is no accounting."""
    left_out: tuple[Note, ...] = ()
    """Profiled launches whose trace gives no parts, and why."""
    overhead_basis: dict[str, str] = field(default_factory=dict)
    """{stack: what its profiler's overhead was compared with}, in words."""
    residual_launches: float | None = None
    """Part of the residual: timed launches and the profiled launches' unprofiled steps do not differ alike."""
    residual_profiler: float | None = None
    """The rest of it: the profiler changes the two sides' steps unequally."""
    total: str = "step time"
    """What the parts are of."""
    of: str = "the profiled launches"
    """What the parts are measured in."""
    per: str = "step"
    """What one total is the time of: a step, or a result."""
    factors: tuple[Factor, ...] = ()
    """What the cost of an accepted result is the product of."""
    gross: float | None = None
    """Sum of the parts' differences without their signs, seconds: much more than the difference where parts cancel."""
    coverage: dict[str, float] = field(default_factory=dict)
    """{stack: share of its profiled launches' own step time that the parts add up to}."""
    within_traces: bool = False
    """Whether the total comes from the traces as the parts do: nothing independent confirms it."""


@dataclass(frozen=True)
class Count:
    """planned = completed + failed + excluded (+ missing, while the batch is unfinished)."""

    stack: str
    role: Role
    planned: int
    completed: int
    failed: int
    excluded: int
    missing: int


@dataclass(frozen=True)
class Unsuccessful:
    """A failed or excluded trial of either side."""

    stack: str
    role: Role
    repeat: int
    state: str
    """`failed` or `excluded`."""
    reason: str
    detail: str | None
    run_id: str | None
    """None for an excluded trial: it was not launched."""


@dataclass(frozen=True)
class Changed:
    """One declared field that the benchmark file changed after the launches."""

    code: str
    """`threshold_changed`, `fields_changed`, `envelope_changed`, `objective_changed` or `comparison_changed`."""
    what: str
    """`the limit on peak_memory`."""
    then: str
    """What was declared before the launches, and is judged by; `not declared` where nothing was."""
    now: str


@dataclass(frozen=True)
class Declared:
    """What was declared before the launches, and where that stands."""

    question: str
    objective: str
    """`minimise step_time`."""
    threshold: float
    limits: tuple[str, ...]
    """`evaluation_loss <= 3.0`."""
    commit: str | None
    blob: str | None
    profile: str | None
    """The short form that the cited runs used; None for the full benchmark."""
    changes: tuple[Changed, ...] = ()
    """Where the file says something else now."""


@dataclass(frozen=True)
class Verdict:
    """Everything that a comparison page says."""

    benchmark: str
    slug: str
    """`baseline-vs-candidate`."""
    baseline: str
    candidate: str
    decision: Decision
    winner: str | None
    sentence: str
    """The verdict in one sentence, for people."""
    readiness: Readiness
    downgrades: tuple[Note, ...]
    declared: Declared
    effect: Effect
    launches: tuple[Launch, ...]
    limits: tuple[LimitCheck, ...]
    fields: tuple[FieldComparison, ...]
    accounting: Accounting
    counts: tuple[Count, ...]
    unsuccessful: tuple[Unsuccessful, ...]
    evidence: tuple[str, ...]
    """Run ids of all that is cited."""
    left_out: tuple[Note, ...] = ()
    """Runs of these two stacks that are not cited, and why."""
    items: ItemComparison | None = None
    """Results item by item, where the work has items."""
    claims: tuple[Claim, ...] = ()
    """Why the sides differ, the claim that accounts for most first; withdrawn ones last."""
    predictions: tuple[Prediction, ...] = ()
    """The tests of these claims, those that are declared and not run yet too."""
    work_done: WorkDone | None = None
    """Where steps of unequal work cannot be compared: throughput instead."""
    labels: tuple[str, ...] = ()
    """What must stand wherever the page is shown: `public, not verified here`."""
    operations: Operations | None = None
    """The traced steps aligned by operation; None where one side has no trace that gives parts."""
    flips: Flips = field(default_factory=Flips)
    """Where the order of the sides turns round, by load, length, price and demand; it decides nothing."""
    tuning: tuple[TuningPath, ...] = ()
    """How the settings of each side were found, where a search did."""
    transfer: Transfer | None = None
    """Each side with the other's best settings; None where nothing of that was launched."""
