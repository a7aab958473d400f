"""The definitions, one module a subject. Importing this package registers them all."""

from ledger.metrics.definitions import training

__all__ = ["training"]
