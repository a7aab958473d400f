"""The index of all runs, failed ones like any other; sorted and filtered in the browser, without a server."""

from __future__ import annotations

from sitegen.pages.snapshot import Snapshot
from sitegen.templates import render


def page(facts: Snapshot) -> str:
    """The page's Markdown."""
    runs = sorted(facts.tables["runs"], key=lambda row: (row["started_at"], row["run_id"]), reverse=True)
    return render(
        "pages/evidence.md.jinja",
        runs=runs,
        choices={name: sorted({str(row[name]) for row in runs}) for name in ("benchmark", "stack", "role", "state")},
        status=facts.by_run["status"],
        problems=facts.problems,
        excluded=[row for row in facts.tables["plans"] if row["state"] == "excluded"],
    )
