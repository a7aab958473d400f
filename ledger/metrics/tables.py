"""The tables of one run folder, opened when a metric asks for them."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ledger import parquet


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

    def _parquet(self, name: str) -> pa.Table | None:
        path = self.folder / name
        return parquet.read(path) if path.is_file() else None
