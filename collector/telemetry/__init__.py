"""Telemetry beside a trial: what the host and its devices did while it ran, one sample a device at a steady interval.

A sensor that is not there leaves nulls in its column and one reason in `absent`; it never leaves zeros.
"""
