"""The track record of explanations: every prediction that any comparison made, and what came of it."""

from __future__ import annotations

from collections import Counter

from sitegen.comparison.explanation import Fate, Prediction
from sitegen.comparison.verdict import Verdict
from sitegen.format import count
from sitegen.pages import comparison
from sitegen.templates import render

PATH = "predictions.md"
"""Where the page stands in the site."""


def page(verdicts: list[Verdict]) -> str | None:
    """The page's Markdown, newest tests first; None while no benchmark declares a test."""
    rows = [(verdict, each, comparison.path(verdict, "html")) for verdict in verdicts for each in verdict.predictions]
    if not rows:
        return None
    rows.sort(key=lambda row: row[1].first or "", reverse=True)
    return render("pages/predictions.md.jinja", rows=rows, record=record([each for _, each, _ in rows]))


def record(made: list[Prediction]) -> str:
    """`Of 3 predictions that were tested, 2 were fulfilled and 1 was refuted; 1 is not tested yet.`"""
    fates = Counter(each.fate for each in made)
    tested = len(made) - fates[Fate.NOT_RUN]
    ends = [f"{fates[fate]} {fate}" for fate in (Fate.FULFILLED, Fate.REFUTED, Fate.UNDECIDED)]
    said = f"{count(tested, 'prediction')} tested: {', '.join(ends)}"
    return f"{said}; {fates[Fate.NOT_RUN]} not tested yet." if fates[Fate.NOT_RUN] else f"{said}."
