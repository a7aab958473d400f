"""A benchmark's load beside production's: how far lengths and arrivals of the two are apart, and what that does.

Production is a traffic file (`stackproof workload from-log`) that the benchmark file names; the benchmark's side is
what its timed launches recorded of each request. Both belong to the repository, so that the page can be checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ledger import distance, parquet, traffic
from ledger.benchmark import Benchmark
from ledger.canonical import file_digest
from ledger.errors import StackproofError
from ledger.metrics.requests import MEASURED, Floats, Requests, of_phase
from ledger.traffic import Traffic
from ledger.workloads.serve import ServeWorkload
from sitegen.charts import series
from sitegen.charts.chart import Chart
from sitegen.format import number, share

QUANTILES = (0.5, 0.9, 0.99)
ALIKE = 0.1
"""A Kolmogorov-Smirnov statistic up to which two distributions are called alike."""
_POINTS = np.linspace(0, 1, 201)


@dataclass(frozen=True)
class Sample:
    """One side's values of a quantity."""

    name: str
    """`production`, or the stack."""
    count: int
    mean: float
    quantiles: tuple[float, ...]
    """At `QUANTILES`."""
    moved: float | None
    """Wasserstein distance from production's, over production's mean; None for production itself."""
    apart: float | None
    """Kolmogorov-Smirnov statistic against production's."""


@dataclass(frozen=True)
class Quantity:
    """One thing that is compared."""

    id: str
    title: str
    unit: str
    samples: tuple[Sample, ...]
    """Production first."""
    chart: Chart | None
    said: tuple[str, ...]
    """What it means, one sentence a stack."""
    absent: str | None = None
    """Why it cannot be compared."""


@dataclass(frozen=True)
class Production:
    """Everything that the page shows of it."""

    path: str
    digest: str
    log: str
    requests: int
    requests_per_day: float | None
    shared_prefix: float | None
    """Share of production's input that an earlier request had begun with."""
    cached: dict[str, float]
    """{stack: share of its input that the server took from its cache}, where the server tells."""
    quantities: tuple[Quantity, ...]


@dataclass(frozen=True)
class Loads:
    """The launches' side: {stack: its launches' measured requests}."""

    workload: ServeWorkload
    requests: dict[str, list[Requests]]


def of(root: Path, benchmark: Benchmark, folders: dict[str, list[Path]]) -> Production | str | None:
    """The comparison, a reason why there is none, or None where the workload has no load.

    `root` is the workspace's, `folders` are the run folders of each stack's timed launches.
    """
    workload = benchmark.workload
    if not isinstance(workload, ServeWorkload):
        return None
    demand, replayed = benchmark.envelope.demand, workload.load.from_log
    named = (demand.traffic if demand else None) or (replayed.path if replayed else None)
    if named is None:
        return "no log of production's requests is named"
    path = root / named
    try:
        recorded = traffic.read(path)
    except StackproofError as error:
        return f"{named} {error.what}"
    requests = {stack: [found for each in paths if (found := _measured(each))] for stack, paths in folders.items()}
    loads = Loads(workload, {stack: found for stack, found in requests.items() if found})
    if not loads.requests:
        return "no timed launch has recorded its requests yet"
    return Production(
        path=named,
        digest=file_digest(path),
        log=str(recorded.source.get("log", "")),
        requests=len(recorded.arrivals_s),
        requests_per_day=recorded.requests_per_day,
        shared_prefix=recorded.shared_prefix(),
        cached=_cached(loads),
        quantities=(_inputs(recorded, loads), _outputs(recorded, loads), _gaps(recorded, loads)),
    )


def _measured(folder: Path) -> Requests | None:
    path = folder / "samples/requests.parquet"
    try:
        return of_phase(parquet.read(path), MEASURED) if path.is_file() else None
    except (StackproofError, KeyError):
        return None


def _inputs(recorded: Traffic, loads: Loads) -> Quantity:
    about = ("input", "Input length", "tokens")
    if recorded.unit != "tokens":
        return _absent(about, "the log counts characters, and the launches count tokens")
    return _quantity(about, _known(recorded.input_lengths), _lengths(loads, "input_tokens"), _INPUT)


def _outputs(recorded: Traffic, loads: Loads) -> Quantity:
    about = ("output", "Output length", "tokens")
    return _quantity(about, _known(recorded.output_lengths), _lengths(loads, "output_tokens"), _OUTPUT)


def _gaps(recorded: Traffic, loads: Loads) -> Quantity:
    """Gaps between arrivals over their mean: the shape of the arrivals, whatever the rate."""
    about = ("gaps", "Gap between arrivals", "mean gaps")
    if not loads.workload.load.is_open:
        return _absent(about, "the load is a closed loop, in which a request is sent when another one has ended")
    production = _over_mean(np.diff(np.asarray(recorded.arrivals_s)))
    sides = {
        stack: np.concatenate([_over_mean(np.diff(each.start)) for each in launches])
        for stack, launches in loads.requests.items()
    }
    return _quantity(about, production, sides, _GAPS)


_INPUT = (
    "shorter than production's: time to first token and memory will look better than they will be",
    "longer than production's: time to first token and memory will look worse than they will be",
)
_OUTPUT = (
    "shorter than production's: time to the whole result and cost will look better than they will be",
    "longer than production's: time to the whole result and cost will look worse than they will be",
)
_GAPS = (
    "steadier than production's: waiting in the queue will look shorter than it will be",
    "burstier than production's: waiting in the queue will look longer than it will be",
)


def _quantity(
    about: tuple[str, str, str], production: Floats, sides: dict[str, Floats], words: tuple[str, str]
) -> Quantity:
    if not len(production):
        return _absent(about, "the log does not tell it")
    known = {stack: values for stack, values in sides.items() if len(values)}
    if not known:
        return _absent(about, "no launch tells it")
    samples = [_sample("production", production, None)]
    samples += [_sample(stack, values, production) for stack, values in known.items()]
    spread = about[0] == "gaps"
    said = tuple(
        f"{sample.name}: {_sentence(production, known[sample.name], sample, words, spread=spread)}."
        for sample in samples[1:]
    )
    return Quantity(*about, tuple(samples), _chart(about, {**known, "production": production}), said)


def _absent(about: tuple[str, str, str], why: str) -> Quantity:
    return Quantity(*about, (), None, (), why)


def _sample(name: str, values: Floats, production: Floats | None) -> Sample:
    moved = apart = None
    if production is not None:
        mean = float(production.mean())
        moved = distance.wasserstein(production, values) / mean if mean > 0 else None
        apart = distance.kolmogorov_smirnov(production, values)
    quantiles = tuple(float(each) for each in np.quantile(values, QUANTILES))
    return Sample(name, len(values), float(values.mean()), quantiles, moved, apart)


def _sentence(production: Floats, values: Floats, sample: Sample, words: tuple[str, str], *, spread: bool) -> str:
    """What the difference does; gaps are told apart by their spread, since their mean is 1."""
    if sample.apart is not None and sample.apart <= ALIKE:
        return f"much like production's (they differ for at most {share(sample.apart)} of the requests)"
    ours, theirs = (float(each.std() if spread else each.mean()) for each in (values, production))
    if ours <= 0 or theirs <= 0:
        return f"all alike; production's are not: {words[0].split(': ')[1]}" if ours < theirs else words[1]
    if ours < theirs:
        return f"{_times(theirs / ours)}{words[0]}" if theirs / ours > 1.1 else _like(sample)
    return f"{_times(ours / theirs)}{words[1]}" if ours / theirs > 1.1 else _like(sample)


def _times(ratio: float) -> str:
    return f"{number(ratio)} times " if ratio >= 1.1 else ""


def _like(sample: Sample) -> str:
    return f"like production's on average, but spread differently ({share(sample.apart or 0.0)} of the requests apart)"


def _chart(about: tuple[str, str, str], samples: dict[str, Floats]) -> Chart | None:
    """Cumulative distributions, up to the 99th percentile of the longest: the tail is in the table."""
    end = max(float(np.quantile(values, 0.99)) for values in samples.values())
    lines = []
    for name, values in samples.items():
        places = np.quantile(values, _POINTS)
        shown = places <= max(end, float(places[0]))
        lines.append(series.Line(name, [float(each) for each in places[shown]], [float(p) for p in _POINTS[shown]]))
    return series.chart(
        f"load-{about[0]}",
        f"{about[1]}: share of the requests at or below",
        lines,
        x_title=f"{about[1]} ({about[2]})",
        y_title="Share of requests",
        unit="share",
        from_zero=True,
    )


def _known(lengths: Sequence[int | None]) -> Floats:
    return np.array([each for each in lengths if each is not None], dtype=np.float64)


def _lengths(loads: Loads, column: str) -> dict[str, Floats]:
    return {
        stack: _known([length for each in launches for length in each.table[column].to_pylist()])
        for stack, launches in loads.requests.items()
    }


def _over_mean(gaps: Floats) -> Floats:
    """Gaps in units of their mean; to six digits, so that the rounding of clocks tells no two apart."""
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return np.round(gaps / mean, 6) if mean > 0 else np.empty(0)


def _cached(loads: Loads) -> dict[str, float]:
    found = {}
    for stack, launches in loads.requests.items():
        rows = [
            (cached, whole)
            for each in launches
            for cached, whole in zip(
                each.table["cached_tokens"].to_pylist(), each.table["input_tokens"].to_pylist(), strict=True
            )
            if cached is not None and whole
        ]
        if rows:
            found[stack] = sum(cached for cached, _ in rows) / sum(whole for _, whole in rows)
    return found
