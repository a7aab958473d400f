"""The tables of one run folder, opened when a metric asks for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from ledger import parquet, traces
from ledger.benchmark import Benchmark, Price
from ledger.benchmark import read as read_benchmark
from ledger.errors import StackproofError
from ledger.metrics.registry import Missing
from ledger.traces.breakdown import Breakdown, explain
from ledger.traces.collectives import across, of_rank
from ledger.traces.device_use import DeviceUse, device_use
from ledger.traces.integrity import Integrity, inspect
from ledger.traces.trace import Trace


@dataclass(frozen=True)
class _Traced:
    """What is kept of one trace."""

    file: str
    breakdown: Breakdown
    device_use: DeviceUse
    integrity: Integrity
    calls: pa.Table

    @classmethod
    def of(cls, trace: Trace) -> Self:
        """Everything that metrics ask of a trace."""
        breakdown = explain(trace)
        return cls(trace.path.name, breakdown, device_use(trace, breakdown), inspect(trace), of_rank(trace, breakdown))


@dataclass(frozen=True)
class Launch:
    """What a launch was one of."""

    stack: str
    profile: str | None = None
    """The short form of its benchmark, where it was one."""


class Tables:
    """What metric functions read. `folder` is a run folder, sealed or about to be."""

    def __init__(self, folder: Path, launch: Launch | None = None) -> None:
        self.folder = folder
        self._launch = launch

    @cached_property
    def benchmark(self) -> Benchmark | None:
        """The benchmark as the launch's own file declares it, its short form merged over it; None where it has none."""
        return self._declared[0] if self._declared else None

    @cached_property
    def prices(self) -> tuple[Price, ...] | None:
        """What the launch's stack costs; None where its benchmark file does not say."""
        stack = self._declared[0].stacks.get(self._declared[1].stack) if self._declared else None
        return stack.price or None if stack else None

    @cached_property
    def devices(self) -> tuple[dict[str, Any], ...]:
        """Accelerators of the machine, as environment.json describes each; empty where it has none."""
        path = self.folder / "environment.json"
        hardware = json.loads(path.read_bytes()).get("hardware", {}) if path.is_file() else {}
        return tuple(hardware.get("devices") or ())

    @property
    def device_count(self) -> int:
        """Accelerators of the machine, 0 where it has none."""
        return len(self.devices)

    @cached_property
    def trial(self) -> dict[str, Any]:
        """launch/trial.json: what was launched, with everything resolved; empty where there is none."""
        path = self.folder / "launch/trial.json"
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}

    @cached_property
    def _declared(self) -> tuple[Benchmark, Launch] | None:
        path = self.folder / "benchmark.yaml"
        launch = self._launch or self._sealed_launch()
        if launch is None or not path.is_file():
            return None
        try:
            return read_benchmark(path, launch.profile).benchmark, launch
        except StackproofError:
            return None  # an earlier version took files that are refused today

    def _sealed_launch(self) -> Launch | None:
        path = self.folder / "run.json"
        if not path.is_file():
            return None
        run = json.loads(path.read_bytes())
        return Launch(str(run["stack"]), run["benchmark"].get("profile"))

    @cached_property
    def steps(self) -> pa.Table | None:
        """samples/steps.parquet (schema `ledger.parquet.STEPS`), or None."""
        return self._parquet("samples/steps.parquet")

    @cached_property
    def requests(self) -> pa.Table | None:
        """samples/requests.parquet (schema `ledger.parquet.REQUESTS`), or None."""
        return self._parquet("samples/requests.parquet")

    @cached_property
    def telemetry(self) -> pa.Table | None:
        """samples/telemetry.parquet (schema `ledger.parquet.TELEMETRY`), or None."""
        found = self._parquet("samples/telemetry.parquet")
        return None if found is None else parquet.widened(found, parquet.TELEMETRY)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """samples/summary.json: scalars that the trial reported about itself; empty when it reported none."""
        path = self.folder / "samples/summary.json"
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}

    @property
    def traces(self) -> tuple[Breakdown, ...] | Missing:
        """Where the time goes on each rank of traces/rank-N.json(.gz), or why that is not known.

        One trace that cannot be read, or whose integrity record forbids an explanation, leaves all of them out: a mean
        over the ranks that happen to be whole would mislead.
        """
        found = self._traced
        return found if isinstance(found, Missing) else tuple(each.breakdown for each in found)

    @property
    def device_use(self) -> tuple[DeviceUse, ...] | Missing:
        """How the device is used on each rank, beside `traces` and missing for the same reasons."""
        found = self._traced
        return found if isinstance(found, Missing) else tuple(each.device_use for each in found)

    @cached_property
    def collectives(self) -> pa.Table | Missing:
        """All ranks' collectives (schema `ledger.traces.collectives.COLLECTIVES`), missing for the same reasons."""
        found = self._traced
        return found if isinstance(found, Missing) else across([each.calls for each in found])

    @cached_property
    def _traced(self) -> tuple[_Traced, ...] | Missing:
        """Each trace is read once, and let go."""
        files = [path for path in sorted(self.folder.glob(traces.PATTERN)) if not path.name.endswith(".external.json")]
        if not files:
            return Missing("no trace: the trial was not profiled")
        try:
            found = tuple(map(_Traced.of, traces.read_ranks(files)))  # nothing but `of` holds a trace
        except StackproofError as error:
            return Missing(f"the trace cannot be read: {Path(error.where or '').name} {error.what}")
        unusable = [f"{each.file}: {each.integrity.reason}" for each in found if not each.integrity.usable]
        return Missing(f"the trace explains nothing: {'; '.join(unusable)}") if unusable else found

    def _parquet(self, name: str) -> pa.Table | None:
        path = self.folder / name
        return parquet.read(path) if path.is_file() else None
