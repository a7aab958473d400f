"""The definitions, one module a subject. Importing this package registers them all."""

from ledger.metrics.definitions import communication, energy, quality, serving, trace, trace_device, training

__all__ = ["communication", "energy", "quality", "serving", "trace", "trace_device", "training"]
