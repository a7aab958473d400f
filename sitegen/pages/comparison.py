"""The page of one comparison: verdict first, then what it rests on, in the order in which a sceptic asks."""

from __future__ import annotations

import contextlib
import json
import shlex
from dataclasses import asdict
from pathlib import Path

from ledger import benchmark as benchmark_file
from ledger import imported
from ledger.benchmark import Benchmark
from ledger.errors import StackproofError
from ledger.metrics.tables import Tables
from ledger.workspace import Workspace
from sitegen import production
from sitegen.charts import interval, launches, parts, tuning
from sitegen.comparison import operation_rows, report, treatments
from sitegen.comparison.flips import demand, words
from sitegen.comparison.sentence import judged_text
from sitegen.comparison.verdict import Decision, FieldComparison, Sameness, Verdict
from sitegen.pages import flips, glossary
from sitegen.pages.snapshot import Snapshot
from sitegen.templates import render

ROOT = "../../"
"""From a comparison page to the top of the site."""

RUNS = f"{ROOT}runs/"

_STYLES = {
    Decision.WINS: ("good", "✓"),
    Decision.EQUIVALENT: ("even", "≈"),
    Decision.INCONCLUSIVE: ("open", "?"),
    Decision.NONE_QUALIFIES: ("bad", "✕"),
    Decision.NOT_COMPARABLE: ("bad", "≠"),
}
_TTFT = "(first_token_ns - coalesce(scheduled_ns, sent_ns)) / 1e9"
_E2E = "(ended_ns - coalesce(scheduled_ns, sent_ns)) / 1e9"
_DIFFERENCES_FIRST = (Sameness.DIFFERENT, Sameness.UNKNOWN, Sameness.SAME)


def path(verdict: Verdict, suffix: str) -> str:
    """Where the page (or its data) stands in the site."""
    return f"comparisons/{verdict.benchmark}/{verdict.slug}.{suffix}"


def style(verdict: Verdict) -> tuple[str, str]:
    """A decision's class and sign; the sign means the same without the colour."""
    return _STYLES[verdict.decision]


def page(verdict: Verdict, facts: Snapshot, workspace: Workspace) -> str:
    """The page's Markdown."""
    folders = _sealed(workspace.evidence, verdict, facts)
    declared = _declared(folders)
    runs = {row["run_id"]: row for row in facts.tables["runs"]}
    adapters = {runs[each]["adapter"] for each in verdict.evidence if each in runs}
    launched = adapters != {imported.ADAPTER}
    title = verdict.effect.title or verdict.effect.metric
    return render(
        "pages/comparison.md.jinja",
        v=verdict,
        title=title,
        judged=judged_text(verdict.effect),
        cancels=report.cancels(verdict.accounting),
        root=ROOT,
        style=style(verdict),
        known=glossary.known(),
        charts={
            "launches": launches.chart(verdict, title, RUNS),
            "interval": interval.chart(verdict, _band(verdict.declared.threshold)),
            "parts": parts.side_by_side(verdict),
            "waterfall": parts.waterfall(verdict),
            "tuning": {path.stack: tuning.chart(path, RUNS) for path in verdict.tuning},
        },
        fields=sorted(verdict.fields, key=_by_difference),
        seen_in_traces=[each.field for each in verdict.fields if each.field.startswith(treatments.FIELD)],
        shares=_shares(verdict),
        residual=report.residual_parts(verdict.accounting),
        words=words,
        flip_charts=flips.charts(verdict),
        operations_aligned=operation_rows.alignment(verdict.operations) if verdict.operations else "",
        runs=runs,
        launched=launched,
        production=_production(workspace, verdict, declared, folders),
        records=[row for row in facts.tables["status"] if row["run_id"] in _mentioned(verdict)],
        queries=_queries(verdict),
        commands=_commands(verdict, launched=launched),
    )


def _sealed(evidence: Path, verdict: Verdict, facts: Snapshot) -> dict[str, list[Path]]:
    """{stack: run folders of its completed timed launches}, baseline first."""
    paths = {row["run_id"]: evidence / row["path"] for row in facts.tables["runs"]}
    return {
        stack: [
            paths[launch.run_id]
            for launch in verdict.launches
            if launch.stack == stack and launch.state == "completed" and launch.run_id in paths
        ]
        for stack in (verdict.baseline, verdict.candidate)
    }


def _declared(folders: dict[str, list[Path]]) -> Benchmark | None:
    """The benchmark as the first timed launch sealed it."""
    first = next((path for paths in folders.values() for path in paths), None)
    return Tables(first).benchmark if first else None


def _production(
    workspace: Workspace, verdict: Verdict, declared: Benchmark | None, folders: dict[str, list[Path]]
) -> production.Production | str | None:
    """The load beside production's, whose log the file may have named after the launches."""
    if declared is None:
        return None
    with contextlib.suppress(StackproofError):
        now = benchmark_file.read(workspace.find_benchmark(verdict.benchmark)).benchmark
        if now.envelope.demand is not None and now.envelope.demand.traffic is not None:
            envelope = declared.envelope.model_copy(update={"demand": now.envelope.demand})
            declared = declared.model_copy(update={"envelope": envelope})
    return production.of(workspace.root, declared, folders)


def download(verdict: Verdict) -> str:
    """The verdict as JSON: what the page says, for programs."""
    return json.dumps(asdict(verdict), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _band(threshold: float) -> tuple[float, float]:
    """Ratios that differ by less than matters; symmetric in logarithms, as the decision is."""
    return 1 / (1 + threshold), 1 + threshold


def _by_difference(field: FieldComparison) -> tuple[int, str, str]:
    return _DIFFERENCES_FIRST.index(field.sameness), field.treatment, field.field


def _mentioned(verdict: Verdict) -> set[str]:
    return {*verdict.evidence, *(launch.run_id for launch in verdict.launches)}


def _shares(verdict: Verdict) -> tuple[float, float]:
    """Traced step time of each side: what the parts' shares are of; 0 where there is no trace."""
    top = [part for part in verdict.accounting.parts if part.parent is None]
    return sum(part.baseline or 0.0 for part in top), sum(part.candidate or 0.0 for part in top)


def _queries(verdict: Verdict) -> dict[str, str]:
    """The query behind each table, ready for a shell."""
    stacks = f"benchmark = '{verdict.benchmark}' AND stack IN ('{verdict.baseline}', '{verdict.candidate}')"
    joined = "FROM metrics JOIN runs USING (run_id) WHERE"
    names = ", ".join(f"'{part.id}'" for part in verdict.accounting.parts)
    claimed = ", ".join(f"'{name}'" for name in dict.fromkeys(n.metric for c in verdict.claims for n in c.numbers))
    limits = ", ".join(f"'{check.metric}'" for check in verdict.limits)
    tested = next((each.metric for each in verdict.predictions), "")
    queries = {
        "launches": f"SELECT run_id, stack, repeat, launch_order, value, missing_reason {joined} {stacks} "
        f"AND role = 'timed' AND metric = '{verdict.effect.metric}' ORDER BY started_at",
        "limits": f"SELECT run_id, stack, metric, value {joined} {stacks} AND role = 'timed' AND metric IN ({limits}) "
        "ORDER BY metric, started_at",
        "parts": f"SELECT stack, metric, avg(value) AS seconds {joined} {stacks} AND role = 'profiled' "
        f"AND metric IN ({names}) GROUP BY ALL ORDER BY metric, stack",
        "demand": f"SELECT run_id, stack, metric, value, missing_reason {joined} {stacks} AND role = 'timed' "
        f"AND metric IN ({', '.join(repr(name) for name in demand.METRICS)}) ORDER BY ALL",
        "levels": "SELECT stack, run_id, level, count(*) AS requests, sum(CAST(requests.accepted AS INT)) AS accepted, "
        f"avg({_TTFT}) AS ttft_mean, quantile_cont({_TTFT}, 0.95) AS ttft_p95, avg({_E2E}) AS e2e_mean, "
        f"quantile_cont({_E2E}, 0.95) AS e2e_p95 FROM requests JOIN runs USING (run_id) WHERE {stacks} "
        "AND role = 'timed' AND phase IN ('measured', 'sweep') AND error IS NULL GROUP BY ALL ORDER BY ALL",
        "lengths": f"SELECT stack, run_id, input_tokens, output_tokens, count(*) AS requests, avg({_E2E}) AS e2e_mean "
        f"FROM requests JOIN runs USING (run_id) WHERE {stacks} AND role = 'timed' AND phase = 'measured' "
        "AND error IS NULL GROUP BY ALL ORDER BY ALL",
        "requests": "SELECT item, stack, avg(CAST(requests.accepted AS DOUBLE)) AS accepted, min(why) AS why, "
        f"min(text) AS text FROM requests JOIN runs USING (run_id) WHERE {stacks} AND role = 'timed' "
        "AND phase = 'measured' GROUP BY ALL ORDER BY ALL",
        "claims": f"SELECT stack, role, metric, rank, avg(value) AS mean {joined} {stacks} AND state = 'completed' "
        f"AND metric IN ({claimed}) GROUP BY ALL ORDER BY ALL",
        "tests": f"SELECT intervention, repeat, stack, changed, value, run_id {joined} {stacks} "
        f"AND role = 'intervention' AND metric = '{tested}' ORDER BY intervention, started_at",
        "trials": f"SELECT run_id, stack, role, repeat, state, reason, detail FROM runs WHERE {stacks} "
        "ORDER BY started_at",
        "plans": f"SELECT stack, role, repeat, state, reason, install FROM plans WHERE {stacks} ORDER BY created_at",
        "tuning": tuning_sql(
            verdict.benchmark,
            verdict.effect.metric,
            f" AND stack IN ('{verdict.baseline}', '{verdict.candidate}')",
        ),
        "transfer": f"SELECT batch, repeat, stack, tuned_stack, state, reason, value, run_id {joined} {stacks} "
        f"AND role = 'transfer' AND metric = '{verdict.effect.metric}' ORDER BY started_at",
        "fields": f"SELECT stack, field, value FROM cards JOIN runs USING (run_id) WHERE {stacks} ORDER BY ALL",
        "libraries": "SELECT stack, run_id, rank, library, events, example FROM trace_libraries JOIN runs USING "
        f"(run_id) WHERE {stacks} ORDER BY ALL",
    }
    return {name: f"stackproof query {shlex.quote(sql)}" for name, sql in queries.items()}


def tuning_sql(benchmark: str, metric: str, also: str = "") -> str:
    """The query behind tuning paths."""
    return (
        "SELECT stack, space, number, parameters, chosen_by, state, reason, value, run_id FROM searches "
        f"JOIN runs USING (run_id) LEFT JOIN metrics ON metrics.run_id = runs.run_id AND metric = '{metric}' "
        f"AND rank IS NULL WHERE benchmark = '{benchmark}'{also} ORDER BY stack, space, number"
    )


def _commands(verdict: Verdict, *, launched: bool) -> list[tuple[str, str]]:
    """(what for, command): from a clone to this page; `launched` where `collect` made some of the evidence."""
    declared = verdict.declared
    profile = f" --profile {declared.profile}" if declared.profile else ""
    commit = (
        [("Check out the benchmark as it was declared", f"git checkout {declared.commit}")] if declared.commit else []
    )
    launches = [
        ("See the launches and the time they take", f"stackproof collect {verdict.benchmark}{profile} --dry-run"),
        ("Run what is missing on your machine", f"stackproof collect {verdict.benchmark}{profile}"),
    ]
    return [
        *commit,
        ("Check that no byte of the evidence changed", "stackproof verify"),
        *(launches if launched else []),
        ("Judge again, in the terminal", f"stackproof compare {verdict.benchmark}"),
        ("Write this site", "stackproof build"),
    ]
