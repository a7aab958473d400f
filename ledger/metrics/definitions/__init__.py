"""The definitions, one module a subject. Importing this package registers them all."""

from ledger.metrics.definitions import trace, trace_device, training

__all__ = ["trace", "trace_device", "training"]
