"""The first page: each benchmark's question, its comparisons with verdict, effect and readiness."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from ledger import benchmark as benchmark_file
from ledger.workspace import Workspace
from sitegen.comparison.verdict import Verdict
from sitegen.pages import comparison
from sitegen.pages.snapshot import Row, Snapshot
from sitegen.templates import render


@dataclass(frozen=True)
class Answer:
    """One benchmark on the first page."""

    name: str
    question: str
    verdicts: list[Verdict]
    completed: int
    failed: int
    stacks: int
    uncited: list[Row]
    """Failed runs that no comparison shows, with why they were to be launched at all."""
    descriptions: dict[str, str]
    """What the file says about the stacks of `uncited`."""


def page(workspace: Workspace, facts: Snapshot, verdicts: list[Verdict], introduction: str | None) -> str:
    """The page's Markdown: benchmarks with runs first. `introduction` is the hand-written index page."""
    files = workspace.benchmark_files()
    answers = [_answer(path.stem, benchmark_file.read(path), facts, verdicts) for path in files]
    return render(
        "pages/home.md.jinja",
        introduction=Markup(introduction or ""),  # noqa: S704 (the workspace's own page, not evidence)
        own_title=(introduction or "").startswith(("# ", "---")),
        answers=sorted(answers, key=lambda each: not (each.completed or each.failed)),
        runs=len(facts.tables["runs"]),
        address=lambda verdict: comparison.path(verdict, "html"),
        style=comparison.style,
    )


def _answer(name: str, file: benchmark_file.BenchmarkFile, facts: Snapshot, verdicts: list[Verdict]) -> Answer:
    runs = [row for row in facts.tables["runs"] if row["benchmark"] == name]
    states = [row["state"] for row in runs]
    uncited = [row for row in runs if row["state"] == "failed" and row["run_id"] not in _shown(verdicts)]
    declared = file.benchmark.stacks
    return Answer(
        name=name,
        question=file.benchmark.question,
        verdicts=[verdict for verdict in verdicts if verdict.benchmark == name],
        completed=states.count("completed"),
        failed=states.count("failed"),
        stacks=len(declared),
        uncited=uncited,
        descriptions={
            stack: text
            for stack in {row["stack"] for row in uncited}
            if stack in declared and (text := declared[stack].description)
        },
    )


def _shown(verdicts: list[Verdict]) -> set[str]:
    """Ids of the runs that a comparison's page names, failed ones too."""
    return {
        run_id
        for verdict in verdicts
        for run_id in (*verdict.evidence, *(trial.run_id for trial in verdict.unsuccessful))
        if run_id
    }
