"""Metric definitions, each one small function, and the registry that site, queries and schema read."""
