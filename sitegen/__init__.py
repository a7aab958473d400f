"""Reads evidence: compares, explains, decides, and writes the pages."""
