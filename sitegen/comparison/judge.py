"""From the catalog to verdicts: loads, selects, and puts the findings together."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from ledger import benchmark as benchmark_file
from ledger import catalog as ledger_catalog
from ledger.benchmark import Benchmark, BenchmarkFile, Comparison
from ledger.catalog import Catalog
from ledger.run import Role
from ledger.run_folder import RunFolder
from ledger.verify import verify_run
from ledger.workspace import Workspace
from sitegen.comparison import (
    accounting,
    claims,
    comparability,
    counts,
    decision,
    declaration,
    downgrades,
    effect,
    envelope,
    interventions,
    items,
    operations,
    readiness,
    request_accounting,
    transfer,
    treatments,
    tuning,
    unequal_work,
)
from sitegen.comparison.claims.facts import Facts
from sitegen.comparison.evidence import Evidence, TrialRun, load
from sitegen.comparison.flips import finding
from sitegen.comparison.ranking import Ranking, rank
from sitegen.comparison.selection import Selection, select
from sitegen.comparison.sentence import sentence
from sitegen.comparison.verdict import Accounting, Effect, Note, Verdict


def judge(
    catalog: Catalog,
    file: BenchmarkFile,
    comparison: Comparison,
    *,
    evidence: Path | None = None,
    today: date | None = None,
) -> Verdict:
    """The verdict on one declared comparison.

    With `evidence`, the folder that the catalog was made from, cited runs are verified, and threshold, envelope and
    objective are those of the earliest cited run's own benchmark file. `today` decides what is stale.
    """
    return judge_evidence(load(catalog, file.benchmark.name), file, comparison, evidence, today)


def judge_file(
    catalog: Catalog, file: BenchmarkFile, evidence: Path, *, slug: str | None = None, today: date | None = None
) -> list[Verdict]:
    """The verdicts on all comparisons that a benchmark file declares, or on the one named `slug`.

    Where all evidence is of one short form, the comparisons are those that the short form keeps.
    """
    known = load(catalog, file.benchmark.name)
    file = _in_force(file, known)
    chosen = [comparison for comparison in file.benchmark.comparisons if slug in {None, comparison.slug}]
    return [judge_evidence(known, file, comparison, evidence, today) for comparison in chosen]


def judge_all(workspace: Workspace, today: date | None = None) -> list[Verdict]:
    """The verdicts on every comparison of every benchmark file of a workspace. Raises InputError."""
    files = [benchmark_file.read(path) for path in workspace.benchmark_files()]
    with ledger_catalog.open(workspace.evidence) as catalog:
        return [verdict for file in files for verdict in judge_file(catalog, file, workspace.evidence, today=today)]


def rank_all(workspace: Workspace) -> list[Ranking]:
    """All stacks of every benchmark file of a workspace beside each other. Raises InputError."""
    files = [benchmark_file.read(path) for path in workspace.benchmark_files()]
    with ledger_catalog.open(workspace.evidence) as catalog:
        loaded = [(file, load(catalog, file.benchmark.name)) for file in files]
    return [rank(known, _in_force(file, known)) for file, known in loaded]


def judge_evidence(
    known: Evidence,
    file: BenchmarkFile,
    comparison: Comparison,
    folder: Path | None = None,
    today: date | None = None,
) -> Verdict:
    """As `judge`, from evidence that was read already."""
    selection = select(known, file, comparison)
    now = _benchmark(file, selection.profile)
    declared = declaration.declaration(selection, now, comparison, folder)
    benchmark, threshold = declared.benchmark, declared.comparison.threshold
    objective = benchmark.envelope.objective
    wrong_way = decision.asks_for_the_worse(objective, benchmark)
    facts = _facts(selection, benchmark, declared.comparison)
    found, fields, account = facts.effect, facts.fields, facts.accounting
    differ = effect.definitions_differ(selection, objective.metric)
    limits = envelope.check_limits(selection, benchmark)
    seeing = treatments.observe(selection, (benchmark, now), known.libraries)
    fields = comparability.differences_first((*treatments.lines(selection, seeing), *fields))
    stated = downgrades.unobserved(selection)
    unobserved = (*(each.text() for each in seeing if each.observed is False), *stated.values())
    outcome = decision.withheld(
        decision.decide(selection, found, limits, fields, threshold, differ or wrong_way), bool(unobserved)
    )
    throughput = unequal_work.work_done(selection, objective.metric, fields)
    tested = interventions.predictions(
        known,
        now,
        comparison,
        facts,
        lambda moment: _facts(selection.before(moment), benchmark, declared.comparison),
        folder,
    )
    counted = counts.count_trials(selection)
    cited = _cited(selection)
    broken = _broken(known, cited, folder)
    searching = now.model_copy(update={"envelope": benchmark.envelope})
    effort = tuning.unequal(selection, searching)
    ready = readiness.assess(
        readiness.Findings(
            selection=selection,
            benchmark=now,
            outcome=outcome,
            effect=found,
            limits=limits,
            fields=fields,
            accounting=account,
            claims=facts.claims,
            predictions=tested,
            counts=counted,
            threshold=threshold,
            definitions_differ=differ,
            wrong_way=wrong_way,
            broken=broken,
            treatments=seeing,
            undeclared=declared.unreadable,
            unequal_tuning=effort,
            unobserved=stated,
        )
    )
    pair = comparison.baseline, comparison.candidate
    moved = transfer.matrix(known, benchmark, pair, selection.workload_digest)
    order = effect.launch_order(*(side.of(Role.TIMED) for side in selection.sides))
    day = today or datetime.now(UTC).date()
    case = downgrades.Case(selection, benchmark, order, account, declared.changes, effort, day, moved, seeing)
    return Verdict(
        benchmark=benchmark.name,
        slug=comparison.slug,
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        decision=outcome.decision,
        winner=outcome.winner,
        sentence=sentence(
            selection,
            benchmark,
            outcome,
            found,
            limits,
            fields,
            threshold,
            wrong_way,
            unobserved,
            throughput,
        ),
        readiness=ready,
        downgrades=downgrades.downgrades(case),
        declared=declaration.declared(declared, selection.profile),
        effect=found,
        launches=effect.launches(selection, objective.metric),
        limits=limits,
        fields=fields,
        accounting=account,
        counts=counted,
        unsuccessful=counts.unsuccessful(selection),
        evidence=tuple(run.run_id for run in cited),
        left_out=selection.left_out,
        items=facts.items,
        claims=interventions.withdraw(facts.claims, tested),
        predictions=tested,
        tuning=tuning.paths(selection, searching),
        transfer=moved,
        flips=finding.find(selection, benchmark, found, threshold),
        work_done=throughput,
        labels=downgrades.labels(cited),
        operations=operations.align(selection, folder),
    )


def _facts(selection: Selection, benchmark: Benchmark, comparison: Comparison) -> Facts:
    """What can be found in the selected runs without deciding anything, and the claims that rules make of it."""
    objective, kind = benchmark.envelope.objective, benchmark.workload.kind
    total = _total(selection, benchmark)
    facts = Facts(
        selection=selection,
        benchmark=benchmark,
        effect=effect.effect(selection, objective.metric, objective.minimise is not None, benchmark),
        total=total,
        accounting=_account(selection, benchmark, total),
        fields=comparability.line_up(*selection.sides, kind, comparison.intended, comparison.held),
        items=items.compare(selection),
    )
    return replace(facts, claims=claims.claims(facts))


def _in_requests(selection: Selection) -> bool:
    """Whether the work is done in requests, and not in steps."""
    return any(run.items for side in selection.sides for run in side.timed)


def _total(selection: Selection, benchmark: Benchmark) -> Effect:
    """The effect on what the accounting's parts are of."""
    name = request_accounting.TOTAL if _in_requests(selection) else accounting.TOTAL
    return effect.effect(selection, name, lower_is_better=True, benchmark=benchmark)


def _account(selection: Selection, benchmark: Benchmark, total: Effect) -> Accounting:
    """Where the difference lies: by requests where the work is done in them, else by the traces of steps."""
    if _in_requests(selection):
        return request_accounting.account(selection, benchmark)
    return accounting.account(selection, total)


def _in_force(file: BenchmarkFile, known: Evidence) -> BenchmarkFile:
    """The file with a short form merged over it, where the evidence is of that short form and of nothing else."""
    profiles = {run.profile for run in known.runs} | {row.profile for row in known.plans}
    profile = next(iter(profiles)) if len(profiles) == 1 else None
    if profile is None or profile == file.profile or profile not in file.benchmark.profiles:
        return file
    return benchmark_file.parse(file.source.text, file.source.path, profile)


def _benchmark(file: BenchmarkFile, profile: str | None) -> Benchmark:
    """The file with the judged short form merged over it; as it is where the file no longer has that form."""
    if profile is None or profile == file.profile or profile not in file.benchmark.profiles:
        return file.benchmark
    return benchmark_file.parse(file.source.text, file.source.path, profile).benchmark


def _cited(selection: Selection) -> tuple[TrialRun, ...]:
    """Timed and profiled runs, failed ones too, in the order in which they started."""
    runs = [run for side in selection.sides for role in (Role.TIMED, Role.PROFILED) for run in side.of(role)]
    return tuple(sorted(runs, key=lambda run: (run.started_at, run.launch_order)))


def _broken(known: Evidence, cited: tuple[TrialRun, ...], folder: Path | None) -> tuple[Note, ...]:
    """What the catalog had to leave out, and the first thing that verification finds in each cited run."""
    notes = [Note("evidence_broken", line) for line in known.broken]
    folders = [(run, RunFolder(folder / run.path)) for run in cited] if folder else []
    for run, sealed in folders:
        notes += [Note("evidence_broken", finding.line(), (run.run_id,)) for finding in verify_run(sealed)[:1]]
    return tuple(notes)
