"""The tables of one run folder, opened when a metric asks for them."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger import parquet, traces
from ledger.errors import StackproofError
from ledger.metrics.registry import Missing
from ledger.traces.breakdown import Breakdown, explain
from ledger.traces.device_use import DeviceUse, device_use
from ledger.traces.trace import Trace


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

        A trace that cannot be read leaves all of them out: a mean over the ranks that happen to be whole would mislead.
        """
        found = self._traced
        return found if isinstance(found, Missing) else tuple(breakdown for breakdown, _ in found)

    @property
    def device_use(self) -> tuple[DeviceUse, ...] | Missing:
        """How the device is used on each rank, beside `traces` and missing for the same reasons."""
        found = self._traced
        return found if isinstance(found, Missing) else tuple(use for _, use in found)

    @cached_property
    def _traced(self) -> tuple[tuple[Breakdown, DeviceUse], ...] | Missing:
        """Each trace is read once, and let go."""
        files = [path for path in sorted(self.folder.glob(traces.PATTERN)) if not path.name.endswith(".external.json")]
        if not files:
            return Missing("no trace: the trial was not profiled")
        try:
            return tuple(_traced(traces.read(path)) for path in files)
        except StackproofError as error:
            return Missing(f"the trace cannot be read: {Path(error.where or '').name} {error.what}")

    def _parquet(self, name: str) -> pa.Table | None:
        path = self.folder / name
        return parquet.read(path) if path.is_file() else None


def _traced(trace: Trace) -> tuple[Breakdown, DeviceUse]:
    breakdown = explain(trace)
    return breakdown, device_use(trace, breakdown)
