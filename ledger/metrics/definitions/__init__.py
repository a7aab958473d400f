"""The definitions, one module a subject. Importing this package registers them all."""

from ledger.metrics.definitions import (
    communication,
    decoding,
    demand,
    energy,
    quality,
    serving,
    trace,
    trace_device,
    training,
)

__all__ = [
    "communication",
    "decoding",
    "demand",
    "energy",
    "quality",
    "serving",
    "trace",
    "trace_device",
    "training",
]
