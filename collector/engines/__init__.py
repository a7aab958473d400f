"""Engines: where a launch runs. One interface, one file each."""
