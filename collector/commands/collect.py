"""`stackproof collect`: plan, launch, seal and commit what a benchmark still lacks."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime

import click

from collector import batch, pilot
from collector.engines.local import LocalEngine
from collector.interrupts import Interrupts
from collector.plan import Plan, Purpose
from collector.progress import Progress
from collector.settled import SealedRuns
from ledger import benchmark as benchmark_file
from ledger import workspace as workspaces
from ledger.benchmark import BenchmarkFile
from ledger.plain_text import neutral
from ledger.run import Role, State
from ledger.search import text
from ledger.workloads.fields import MOST_REPEATS

ENGINES = {"local": LocalEngine}


@click.command(epilog="Example: stackproof collect cpu-training --profile demo")
@click.argument("benchmark")
@click.option("--stack", "stacks", multiple=True, metavar="NAME", help="Only this stack (may be given again).")
@click.option(
    "--repeats", type=click.IntRange(1, MOST_REPEATS), help="Timed launches of each stack, instead of the file's."
)
@click.option(
    "--profiled", type=click.IntRange(0, MOST_REPEATS), help="Profiled launches of each stack, instead of the file's."
)
@click.option("--profile", metavar="NAME", help="A named short form in the file, such as `demo`.")
@click.option(
    "--interventions",
    is_flag=True,
    help="Launch the tests of explanations that the file declares: both stacks as they are, and the changed one.",
)
@click.option(
    "--transfer",
    is_flag=True,
    help="Launch every searched stack with its own best settings and with every other's.",
)
@click.option("--engine", type=click.Choice(list(ENGINES)), default="local", show_default=True, help="Where to launch.")
@click.option("--retry-failed", is_flag=True, help="Launch failed trials again.")
@click.option("--dry-run", is_flag=True, help="Print the plan and launch nothing.")
@click.option("--no-commit", is_flag=True, help="Seal, but leave the git commit to you.")
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
def command(
    benchmark: str,
    stacks: tuple[str, ...],
    repeats: int | None,
    profiled: int | None,
    profile: str | None,
    interventions: bool,
    transfer: bool,
    engine: str,
    retry_failed: bool,
    dry_run: bool,
    no_commit: bool,
    output: str,
) -> int:
    """Run what BENCHMARK still lacks: plan, launch, seal and commit its trials.

    BENCHMARK is a file or a name in the workspace's benchmarks. Run it again and it does only what is missing. Ctrl-C
    stops it: the trial that runs is ended and sealed as cancelled, and nothing more is launched.

    The commit holds the new evidence and nothing else, whatever is staged; it is made without git's commit hooks.
    """
    workspace = workspaces.find()
    file = benchmark_file.read(workspace.find_benchmark(benchmark), profile)
    if interventions and transfer:
        raise click.UsageError("--interventions and --transfer are two batches; run one after the other")
    purpose = Purpose.INTERVENTIONS if interventions else Purpose.TRANSFER if transfer else Purpose.COMPARISON
    options = batch.Options(stacks, repeats, profiled, retry_failed, not no_commit, purpose)
    if dry_run:
        plan = batch.make_plan(workspace, file, options)
        for warning in plan.warnings:
            click.echo(f"warning: {neutral(warning)}", err=True)
        _print_plan(plan, file, workspace, output)
        return 0
    interrupts = Interrupts()
    with interrupts.caught():
        result = batch.collect(workspace, file, ENGINES[engine](), options, Progress(), interrupts)
        _print_result(result, file, output)
    return 130 if result.interrupted else 0


def _print_plan(plan: Plan, file: BenchmarkFile, workspace: workspaces.Workspace, output: str) -> None:
    if output == "json":
        click.echo(json.dumps(plan.to_json(created_at=""), indent=2))
        return
    if plan.launches:
        click.echo(f"{'order':>5}  {'stack':<24} {'role':<12} {'repeat':>6}  trial key")
    for order, trial in enumerate(plan.launches, 1):
        change = f"  {said}" if (said := trial.said) else ""
        click.echo(f"{order:>5}  {trial.stack_name:<24} {trial.role:<12} {trial.repeat:>6}  {trial.trial_key}{change}")
    _print_excluded(plan)
    click.echo(f"{len(plan.launches)} to launch, {len(plan.excluded)} excluded, {len(plan.settled)} sealed already")
    if plan.launches:
        click.echo(_expected(plan, file, SealedRuns(workspace.evidence, file.benchmark.name)))
    _print_searches(plan, file)
    if all(trial.role in {Role.TIMED, Role.PROFILED, Role.WARMUP} for trial in plan.launches):
        for line in pilot.notes(workspace, file.benchmark):
            click.echo(line)


def _expected(plan: Plan, file: BenchmarkFile, sealed: SealedRuns) -> str:
    """How long the launches will take, by earlier ones of the same stack, role and workload; else their limit."""
    sealed.refresh()
    seen: dict[tuple[str, str], list[float]] = {}
    for run in sealed.all():
        if run.workload_digest == plan.workload_digest:
            took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)
            seen.setdefault((run.stack, _alike(run.role)), []).append(took.total_seconds())
    known = [seen[key] for each in plan.launches if (key := (each.stack_name, _alike(each.role))) in seen]
    expected = sum(sum(times) / len(times) for times in known)
    unknown = len(plan.launches) - len(known)
    words = (
        [f"expected time: about {expected / 60:.1f} min for {len(known)} of them, by earlier launches"] if known else []
    )
    if unknown:
        limit, most = file.benchmark.timeout, unknown * file.benchmark.timeout / 60
        count = f"{unknown} launch{'es' if unknown != 1 else ''} never made before"
        words.append(f"{count}: time unknown, the limit is {limit:g} s each (at most {most:.0f} min)")
    return "; ".join(words)


def _alike(role: Role) -> Role:
    """The role whose launches take as long: a test of an explanation does the work of a timed launch."""
    return Role.TIMED if role.is_like_timed else role


def _print_excluded(plan: Plan) -> None:
    grouped = Counter((each.trial.stack_name, each.why.what, each.why.install) for each in plan.excluded)
    for (stack, what, install), count in grouped.items():
        todo = f"; install it with: {install}" if install else ""
        click.echo(f"excluded: {stack} ({count} trial{'s' if count != 1 else ''}): {what}{todo}")


def _print_searches(plan: Plan, file: BenchmarkFile) -> None:
    """How far each search is, and the best that it found."""
    metric = file.benchmark.envelope.objective.metric
    for each in plan.searches:
        failed = sum(tried.value is None for tried in each.tried)
        done = f"{len(each.tried)} of {each.budget.text} done" + (f", {failed} without a value" if failed else "")
        best = each.best
        found = f"; best so far: {text(best.parameters)} ({metric} {best.value:.4g})" if best else ""
        click.echo(f"search of {each.stack}: {done}{found}")


def _print_result(result: batch.Result, file: BenchmarkFile, output: str) -> None:
    failed = [run for run in result.runs if run.outcome.state is State.FAILED]
    counts = {
        "launched": len(result.runs),
        "completed": len(result.runs) - len(failed),
        "failed": len(failed),
        "excluded": len(result.plan.excluded),
        "sealed_already": len(result.plan.settled),
        "elsewhere": result.elsewhere,
    }
    if output == "json":
        click.echo(json.dumps({**counts, "commit": result.commit, "interrupted": result.interrupted}, indent=2))
        return
    _print_excluded(result.plan)
    _print_searches(result.plan, file)
    launched = f"{len(result.runs)} launched: {counts['completed']} completed, {len(failed)} failed"
    click.echo(f"{launched}; {counts['excluded']} excluded, {counts['sealed_already']} sealed already")
    if result.elsewhere:
        click.echo(f"{result.elsewhere} left to another collector that runs on this evidence")
    if result.interrupted:
        click.echo("interrupted: run the same command again to go on")
