"""Traces: reading them into columns, interval arithmetic, and where the time of a step goes."""

from __future__ import annotations

from ledger.traces.reading import FORMATS, read, read_ranks

__all__ = ["FORMATS", "PATTERN", "read", "read_ranks"]

PATTERN = "traces/rank-*"
"""Where a run folder keeps its traces, one file a rank."""
