"""All pages of a workspace, written to one folder: what MkDocs, or another builder of Markdown, takes from there."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ledger import benchmark as benchmark_file
from ledger.benchmark import Benchmark
from ledger.run_folder import scan
from ledger.workspace import Workspace
from sitegen import prose, site_folder
from sitegen.comparison import judge_all, public_ranks
from sitegen.comparison.judge import rank_all
from sitegen.comparison.verdict import Verdict
from sitegen.pages import (
    benchmark,
    comparison,
    evidence,
    glossary,
    handwritten,
    home,
    predictions,
    run,
    shortlist,
    snapshot,
    traces,
)
from sitegen.pages.tree import Tree
from sitegen.templates import ASSETS

ASSETS_PATH = "assets/stackproof"
FIRST = "index.md"


@dataclass(frozen=True)
class Finding:
    """Something wrong that a strict build must not publish: which page, and what."""

    page: str
    what: str

    def __str__(self) -> str:
        return f"{self.page}: {self.what}"


@dataclass(frozen=True)
class Site:
    """What was written: the navigation (as mkdocs.yml writes one) and the findings."""

    navigation: list[Any]
    findings: tuple[Finding, ...]


def write(workspace: Workspace, target: Path, docs: Path | None = None, title: str = "stackproof") -> Site:
    """Write every page of `workspace` below `target`; what stood there and belongs to no page is removed.

    `docs` holds the hand-written pages (default: `docs` in the workspace). Raises InputError on an evidence folder or a
    benchmark file that cannot be read, StorageError when `target` cannot be written.
    """
    site_folder.check_own(target)
    docs = docs or workspace.root / "docs"
    viewer = traces.viewer(workspace)
    facts = snapshot.take(workspace.evidence, workspace.traces)
    verdicts = judge_all(workspace)
    tree = Tree(target)
    handwritten.copy(tree, docs, skip=FIRST)
    tree.text(FIRST, home.page(workspace, facts, verdicts, introduction=handwritten.text(docs / FIRST)))
    for verdict in verdicts:
        tree.text(comparison.path(verdict, "md"), comparison.page(verdict, facts, workspace))
        tree.text(comparison.path(verdict, "json"), comparison.download(verdict))
    rankings = rank_all(workspace)
    names = [ranking.benchmark for ranking in rankings]
    files = {path.stem: benchmark_file.read(path).benchmark for path in workspace.benchmark_files()}
    fitting = _shortlists(tree, workspace, facts, list(files.values()))
    for ranking in rankings:
        ranks = public_ranks.beside(ranking, files[ranking.benchmark], facts.public)
        page = benchmark.page(ranking, verdicts, ranks, fitting.get(ranking.benchmark, 0))
        tree.text(benchmark.path(ranking.benchmark), page)
    tested = predictions.page(verdicts)
    if tested is not None:
        tree.text(predictions.PATH, tested)
    tree.text("evidence.md", evidence.page(facts))
    tree.text("glossary.md", glossary.page(facts))
    known = {row["run_id"] for row in facts.tables["runs"]}
    shared = run.Site(title, facts, verdicts, workspace.traces, viewer)
    for folder in scan(workspace.evidence):
        if folder.run_id in known:
            run.write(tree, folder, shared)
    _assets(tree)
    tree.finish()
    broken = [Finding("evidence.md", f"leaves out broken evidence: {problem}") for problem in facts.problems]
    said = _contradicted(docs, verdicts, prose.tables(verdicts, rankings))
    return Site(
        _navigation(docs, names, verdicts, fitting if facts.public else None),
        (*broken, *_unknown_rows(facts, files), *_retracted(facts, verdicts), *_retracted_in(docs, facts), *said),
    )


def _shortlists(tree: Tree, workspace: Workspace, facts: snapshot.Snapshot, files: list[Benchmark]) -> dict[str, int]:
    """Write the pages of public results; {benchmark: rows that fit it}, of those that have a page."""
    if not facts.public:
        return {}
    imported = shortlist.sources(workspace.evidence)
    for path, source in imported:
        tree.copy(source.address, path)
    lists = {each.name: (each, shortlist.fits(each, facts.public)) for each in files}
    fitting = {name: len(listed.entries) for name, (_, listed) in lists.items() if listed.entries}
    tree.text(shortlist.PATH, shortlist.page(facts.public, [source for _, source in imported], fitting.items()))
    for name in fitting:
        tree.text(shortlist.path(name), shortlist.benchmark_page(*lists[name]))
    return fitting


def _unknown_rows(facts: snapshot.Snapshot, files: dict[str, Benchmark]) -> list[Finding]:
    known = {row.link for row in facts.public}
    return [
        Finding(
            benchmark.path(name), f"stack {stack} is drafted from {each.public}, which no imported collection holds"
        )
        for name, file in files.items()
        for stack, each in file.stacks.items()
        if each.public is not None and each.public not in known
    ]


def _assets(tree: Tree) -> None:
    for path in sorted(ASSETS.iterdir()):
        tree.copy(f"{ASSETS_PATH}/{path.name}", path)
    with resources.as_file(resources.files("plotly") / "package_data" / "plotly.min.js") as script:
        tree.copy(f"{ASSETS_PATH}/plotly.min.js", script)


def _navigation(docs: Path, names: list[str], verdicts: list[Verdict], fitting: dict[str, int] | None) -> list[Any]:
    """Overview, benchmarks with their comparisons, evidence, glossary, hand-written pages. Run pages stay out of it.

    `fitting` are the benchmarks with a page of public candidates; None where nothing public was imported.
    """
    groups: dict[str, list[dict[str, str]]] = {name: [{"All stacks": benchmark.path(name)}] for name in names}
    for verdict in verdicts:
        groups.setdefault(verdict.benchmark, []).append(
            {f"{verdict.baseline} vs {verdict.candidate}": comparison.path(verdict, "md")}
        )
    for name in fitting or ():
        groups[name].append({"Public candidates": shortlist.path(name)})
    written = [name for name in handwritten.pages(docs) if name != FIRST]
    return [
        {"Overview": FIRST},
        *([{"Benchmarks": [{name: pages} for name, pages in groups.items()]}] if groups else []),
        *([{"Predictions": predictions.PATH}] if any(verdict.predictions for verdict in verdicts) else []),
        {"Evidence": "evidence.md"},
        *([{"Public results": shortlist.PATH}] if fitting is not None else []),
        {"Glossary": "glossary.md"},
        *written,
    ]


def _retracted(facts: snapshot.Snapshot, verdicts: list[Verdict]) -> list[Finding]:
    gone = retracted(facts)
    return [
        Finding(comparison.path(verdict, "md"), f"cites the retracted run {run_id}")
        for verdict in verdicts
        for run_id in dict.fromkeys((*verdict.evidence, *(launch.run_id for launch in verdict.launches)))
        if run_id in gone
    ]


def _retracted_in(docs: Path, facts: snapshot.Snapshot) -> list[Finding]:
    texts = {name: handwritten.text(docs / name) or "" for name in handwritten.pages(docs)}
    return [
        Finding(name, f"cites the retracted run {run_id}")
        for name, text in texts.items()
        for run_id in sorted(retracted(facts))
        if run_id in text
    ]


def _contradicted(docs: Path, verdicts: list[Verdict], known: prose.Tables) -> list[Finding]:
    """What hand-written pages and generated sentences say against the tables."""
    written = [
        Finding(f"{name}:{found.line}", found.what)
        for name in handwritten.pages(docs)
        for found in prose.check_page(handwritten.text(docs / name) or "", known)
    ]
    made = [
        Finding(comparison.path(verdict, "md"), found.what)
        for verdict in verdicts
        for found in prose.check_verdict(verdict, known)
    ]
    return written + made


def retracted(facts: snapshot.Snapshot) -> set[str]:
    """Ids of the runs that were taken back."""
    return {row["run_id"] for row in facts.tables["status"] if row["kind"] == "retracted"}
