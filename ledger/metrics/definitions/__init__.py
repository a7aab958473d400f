"""The definitions, one module a subject. Importing this package registers them all."""

from ledger.metrics.definitions import communication, trace, trace_device, training

__all__ = ["communication", "trace", "trace_device", "training"]
