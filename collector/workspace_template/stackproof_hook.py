"""Lets `mkdocs build` and `mkdocs serve` write the pages of evidence/ first: stackproof does the work."""

from sitegen.hook import on_config, on_serve

__all__ = ["on_config", "on_serve"]
