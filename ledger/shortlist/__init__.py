"""Candidates from what others have published: which rows fit a benchmark, and in which order, if any.

Pure functions over the catalog's `shortlist` tables. Both rooms need them: the collector drafts stacks from the rows,
the site shows them. Nothing here enters a verdict.
"""

from ledger.shortlist.rows import PublicRow, Published, read
from ledger.shortlist.selection import Asked, Entry, Fact, Group, Shortlist, Standing, asked, select

__all__ = [
    "Asked",
    "Entry",
    "Fact",
    "Group",
    "PublicRow",
    "Published",
    "Shortlist",
    "Standing",
    "asked",
    "read",
    "select",
]
