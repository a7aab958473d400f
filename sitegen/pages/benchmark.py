"""The page of one benchmark: all its stacks beside each other, before any two are compared."""

from __future__ import annotations

import shlex
from itertools import islice

from ledger.public import LABEL
from sitegen.charts import front, tuning
from sitegen.charts.chart import Chart
from sitegen.comparison.public_ranks import PublicRanks
from sitegen.comparison.ranking import Column, Ranking
from sitegen.comparison.verdict import Verdict
from sitegen.format import count
from sitegen.pages import comparison, glossary, shortlist
from sitegen.templates import render

ROOT = "../"
"""From a benchmark's page to the top of the site."""
MOST_FIGURES = 3


def path(benchmark: str) -> str:
    """Where the page stands in the site."""
    return f"benchmarks/{benchmark}.md"


def page(ranking: Ranking, verdicts: list[Verdict], ranks: PublicRanks | None = None, candidates: int = 0) -> str:
    """The page's Markdown; `candidates` is how many public rows fit, on a page of their own."""
    own = [verdict for verdict in verdicts if verdict.benchmark == ranking.benchmark]
    names = ", ".join(f"'{column.metric}'" for column in ranking.columns)
    sql = (
        f"SELECT stack, metric, avg(value) AS mean, count(value) AS launches FROM metrics JOIN runs USING (run_id) "
        f"WHERE benchmark = '{ranking.benchmark}' AND role = 'timed' AND state = 'completed' AND metric IN ({names}) "
        "GROUP BY ALL ORDER BY metric, mean"
    )
    searched = [place.tuning for place in ranking.places if place.tuning]
    return render(
        "pages/benchmark.md.jinja",
        r=ranking,
        root=ROOT,
        known=glossary.known(),
        objective=next((each for each in ranking.columns if each.metric == ranking.objective), None),
        charts=list(islice(_charts(ranking), MOST_FIGURES)),
        verdicts=[(verdict, f"{ROOT}{comparison.path(verdict, 'html')}") for verdict in own],
        style=comparison.style,
        ranks=ranks,
        candidates=count(candidates, "public result") if candidates else None,
        candidates_page=shortlist.path(ranking.benchmark).replace(".md", ".html"),
        label=LABEL,
        query=f"stackproof query {shlex.quote(sql)}",
        tuning=searched,
        tuning_charts={path.stack: tuning.chart(path, f"{ROOT}runs/") for path in searched},
        tuning_query=f"stackproof query {shlex.quote(comparison.tuning_sql(ranking.benchmark, ranking.objective))}",
    )


def _charts(ranking: Ranking) -> list[Chart]:
    """The objective against each other metric that is better one way."""
    objective = next((each for each in ranking.columns if each.metric == ranking.objective), None)
    if objective is None or objective.lower_is_better is None or ranking.unordered:
        return []
    others = [each for each in ranking.columns if each.lower_is_better is not None and _differs(each, objective)]
    found = [front.chart(ranking, other, objective) for other in others]
    return [chart for chart in found if chart is not None]


def _differs(column: Column, objective: Column) -> bool:
    return column.metric != objective.metric
