"""The tables of one run folder, opened when a metric asks for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from ledger import parquet, traces
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


class Tables:
    """What metric functions read. `folder` is a run folder, sealed or about to be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def steps(self) -> pa.Table | None:
        """samples/steps.parquet (schema `ledger.parquet.STEPS`), or None."""
        return self._parquet("samples/steps.parquet")

    @cached_property
    def telemetry(self) -> pa.Table | None:
        """samples/telemetry.parquet (schema `ledger.parquet.TELEMETRY`), or None."""
        return self._parquet("samples/telemetry.parquet")

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
