"""What evidence is known by that was not made by a launch of the collector, but brought in from elsewhere."""

from __future__ import annotations

ADAPTER = "imported"
"""Adapter of a stack whose run folders are imported: nothing launches it."""
HOST = "not told"
"""Stands for the host where the source does not name it."""
CARD = "imported"
"""Key of the card that says where a run comes from: `{format, source, files}`.

A published row adds `label`, `row`, `selected` where it is the best of several, and `problems`, {code: what}.
"""
