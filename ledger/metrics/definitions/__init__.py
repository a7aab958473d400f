"""The definitions, one module a subject. Importing this package registers them all."""

from ledger.metrics.definitions import trace, training

__all__ = ["trace", "training"]
