"""Which side is faster, over the length of input and of output of the declared load's requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import fmean

from ledger.benchmark import Benchmark
from ledger.metrics.registry import Missing
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.flips.curves import Launches, fill
from sitegen.comparison.flips.found import Curve
from sitegen.comparison.meaning import metric_of, title_of
from sitegen.comparison.request_rows import LengthBin
from sitegen.comparison.selection import Selection
from sitegen.format import count

LEAST_REQUESTS = 10
"""Requests that each launch of both sides has in a bin."""
MOST_BINS = 8
OTHER_COUNTS = 0.01
"""Share of the items that may have other counts of input tokens on the two sides."""
FASTER = "e2e.mean"


@dataclass(frozen=True)
class _Bin:
    """Neighbouring fine bins together, the same on both sides."""

    shortest: int
    longest: int
    tokens: float
    """Mean over all launches of both sides."""
    fewest: int
    """Requests of the launch that has fewest."""
    rows: dict[str, list[LengthBin]]
    """{run_id: its fine bins}."""

    @property
    def note(self) -> str:
        """What a point stands for."""
        lengths = f"{self.shortest:,}" if self.shortest == self.longest else f"{self.shortest:,} to {self.longest:,}"
        return f"{lengths} tokens, {count(self.fewest, 'request')} a launch or more"

    def mean(self, run_id: str, family: str) -> float | Missing:
        """Mean latency of one launch's requests in it."""
        sums = [row.sums[family] for row in self.rows.get(run_id, ())]
        told = sum(number for number, _ in sums)
        if told < LEAST_REQUESTS:
            return Missing(f"fewer than {LEAST_REQUESTS} requests of a launch tell it")
        return sum(total for _, total in sums) / told


def absent(selection: Selection, benchmark: Benchmark) -> str | None:
    """Why nothing can be told by length; None where it can."""
    workload = benchmark.workload
    if workload.kind == "train":
        return f"every step of a run is of the one declared length (sequence_length {workload.sequence_length:,})"
    runs = [run for side in selection.sides for run in side.timed]
    if not all(side.timed for side in selection.sides):
        return "a side has no timed launch that completed"
    if not any(run.lengths for run in runs):
        return "no request or attempt tells its tokens"
    return _counted_otherwise(selection)


def curves(selection: Selection, benchmark: Benchmark, runs: Launches) -> tuple[Curve, ...]:
    """The mean time to the whole result, and the mean of each other latency that the envelope limits; over both."""
    limited = {name.partition(".")[0] for name in benchmark.envelope.limits}
    metrics = [FASTER, *(f"{family}.mean" for family in ("ttft", "tpot") if family in limited)]
    return tuple(_curve(selection, benchmark, runs, metric, over) for over in ("input", "output") for metric in metrics)


def _curve(selection: Selection, benchmark: Benchmark, runs: Launches, metric: str, over: str) -> Curve:
    known = metric_of(metric, benchmark)
    empty = Curve(
        metric=metric,
        title=title_of(metric, benchmark),
        unit=known.unit if known else "s",
        lower_is_better=True,
        over=over,
        over_unit="tokens",
    )
    chosen = {*runs.sides[0], *runs.sides[1]}
    compared = [run for side in selection.sides for run in side.timed if run.run_id in chosen]
    bins = common_bins(compared, over)
    if len(bins) < 2:
        return replace(empty, absent=_one_length(compared, over))
    family = metric.partition(".")[0]
    values = {run.run_id: {each.tokens: each.mean(run.run_id, family) for each in bins} for run in compared}
    stacks = selection.baseline.stack, selection.candidate.stack
    return fill(empty, stacks, runs, values, {each.tokens: each.note for each in bins})


def common_bins(runs: Iterable[TrialRun], over: str) -> tuple[_Bin, ...]:
    """The same bins for every launch, shortest first: each with 10 requests of each launch, and an eighth of them."""
    rows: dict[int, dict[str, LengthBin]] = defaultdict(dict)
    runs = tuple(runs)
    for run in runs:
        for row in run.lengths:
            if row.side == over:
                rows[row.bin][run.run_id] = row
    names = [run.run_id for run in runs]
    totals = [sum(bin[name].requests for bin in rows.values() if name in bin) for name in names]
    needed = max(LEAST_REQUESTS, -(-min(totals, default=0) // MOST_BINS))
    groups: list[list[int]] = [[]]
    for number in sorted(rows):
        groups[-1].append(number)
        if _fewest([rows[each] for each in groups[-1]], names) >= needed:
            groups.append([])
    last = groups.pop()
    if groups:
        groups[-1] += last
    return tuple(_bin([rows[number] for number in group], names) for group in groups)


def _fewest(group: list[dict[str, LengthBin]], names: list[str]) -> int:
    return min(sum(bin[name].requests for bin in group if name in bin) for name in names)


def _bin(group: list[dict[str, LengthBin]], names: list[str]) -> _Bin:
    rows = {name: [bin[name] for bin in group if name in bin] for name in names}
    every = [row for found in rows.values() for row in found]
    return _Bin(
        shortest=min(row.shortest for row in every),
        longest=max(row.longest for row in every),
        tokens=sum(row.tokens for row in every) / sum(row.requests for row in every),
        fewest=_fewest(group, names),
        rows=rows,
    )


def _one_length(runs: list[TrialRun], over: str) -> str:
    """Why there are no two bins."""
    rows = [row for run in runs for row in run.lengths if row.side == over]
    if not rows:
        return f"no answer tells the tokens of its {over}"
    least, most = min(row.shortest for row in rows), max(row.longest for row in rows)
    return (
        f"lengths of {over} from {least:,} to {most:,} tokens do not fill two bins with {LEAST_REQUESTS} requests of "
        "each launch"
    )


def _counted_otherwise(selection: Selection) -> str | None:
    """Why the two sides' tokens are not the same measure, judged by the same items' input; None where they are."""
    sides: list[dict[str, float]] = []
    for side in selection.sides:
        found: dict[str, list[float]] = defaultdict(list)
        for run in side.timed:
            for name, item in run.items.items():
                if item.input_tokens is not None:
                    found[name].append(item.input_tokens)
        sides.append({name: fmean(values) for name, values in found.items()})
    shared = sides[0].keys() & sides[1].keys()
    if not shared:
        return "no item's input tokens are told on both sides, so that nothing shows that they are counted alike"
    other = sum(abs(sides[0][name] - sides[1][name]) > 1e-6 * sides[0][name] for name in shared)
    if other > OTHER_COUNTS * len(shared):
        return (
            f"{other:,} of {count(len(shared), 'item')} have other counts of input tokens on the two sides (another "
            "tokenizer, template or harness): their lengths are not the same measure"
        )
    return None
