"""Writes evidence: plans trials, launches them, watches them, seals and commits what happened."""
