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

    @cached_property
    def traces(self) -> tuple[Breakdown, ...] | Missing:
        """Where the time goes on each rank of traces/rank-N.json(.gz), or why that is not known.

        A trace that cannot be read leaves all of them out: a mean over the ranks that happen to be whole would mislead.
        """
        files = [path for path in sorted(self.folder.glob(traces.PATTERN)) if not path.name.endswith(".external.json")]
        if not files:
            return Missing("no trace: the trial was not profiled")
        try:
            return tuple(explain(traces.read(path)) for path in files)
        except StackproofError as error:
            return Missing(f"the trace cannot be read: {Path(error.where or '').name} {error.what}")

    def _parquet(self, name: str) -> pa.Table | None:
        path = self.folder / name
        return parquet.read(path) if path.is_file() else None
