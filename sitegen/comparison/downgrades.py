"""What makes a verdict less certain, apart from how large the effect is. Each note names what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from ledger import imported
from ledger.benchmark import Benchmark
from ledger.metrics import registry
from ledger.metrics.definitions.quality import MONEY
from ledger.run import Role
from sitegen.comparison.accounting import NO_DIFFERENCE, traced_runs
from sitegen.comparison.effect import Order
from sitegen.comparison.envelope import counted
from sitegen.comparison.evidence import TrialRun
from sitegen.comparison.selection import EARLIER, Selection
from sitegen.comparison.treatments import Seeing
from sitegen.comparison.tuning_path import Transfer
from sitegen.comparison.verdict import Accounting, Changed, Note
from sitegen.format import count, difference, ratio, ratios, share

GOOD_LAUNCHES = 5
"""Launches a side from which nothing is said about their number."""
GOOD_CLOSURE = 0.8
STALE_DAYS = 180
PRICED = frozenset(each.id for each in registry.newest() if each.unit == MONEY)
"""Metrics that a stated price enters; what a benchmark file names so itself is none of them."""


@dataclass(frozen=True)
class Case:
    """What the downgrades are read off."""

    selection: Selection
    benchmark: Benchmark
    order: Order
    accounting: Accounting
    changes: tuple[Changed, ...]
    """What the benchmark file declares differently now."""
    unequal_tuning: str | None
    """Words where the two sides were not searched equally long."""
    today: date
    moved: Transfer | None = None
    """What each side's best settings did on the other."""
    treatments: tuple[Seeing, ...] = ()
    """What each side is said to run with, and whether its traces show it."""

    @property
    def cited(self) -> tuple[TrialRun, ...]:
        """Runs of the two roles that are judged."""
        return tuple(
            run for role in (Role.TIMED, Role.PROFILED) for side in self.selection.sides for run in side.of(role)
        )

    @property
    def timed(self) -> tuple[TrialRun, ...]:
        """Timed launches of both sides that completed."""
        return tuple(run for side in self.selection.sides for run in side.timed)

    @property
    def judged(self) -> tuple[TrialRun, ...]:
        """What the page speaks of: the timed launches, or the traced ones where the page is within the traces."""
        if not self.accounting.within_traces:
            return self.timed
        return tuple(run for side in self.selection.sides for run in traced_runs(side))


def downgrades(case: Case) -> tuple[Note, ...]:
    """Every downgrade that applies, in a fixed order; none without a launch to say it about."""
    if not case.judged:
        return ()
    return (*(note for rule in _RULES if (note := rule(case))), *_treatments(case), *_changed(case))


def unobserved(selection: Selection) -> dict[str, str]:
    """{run id: what its source says was not seen of what the row is named for}."""
    field = f"card.{imported.CARD}.problems.treatment_not_observed"
    return {
        run.run_id: f"{run.stack}: {run.fields[field]}"
        for side in selection.sides
        for run in (*side.timed, *side.profiled)
        if field in run.fields
    }


def labels(runs: Iterable[TrialRun]) -> tuple[str, ...]:
    """What published rows among the runs are labelled with."""
    found = (run.fields.get(f"card.{imported.CARD}.label") for run in runs)
    return tuple(dict.fromkeys(each for each in found if each))


def _best_of_search(case: Case) -> Note | None:
    """A search's best is chosen for its luck too, and was not launched again."""
    field = f"card.{imported.CARD}.selected"
    runs = [run for run in case.timed if field in run.fields]
    if not runs:
        return None
    said = "; ".join(f"{run.stack} is {run.fields[field]}" for run in runs)
    text = f"{said}: the best of a search looks better than it is, and was not launched again"
    return Note("best_of_search", text, _ids(runs))


def _contradictions(case: Case) -> Note | None:
    """What a source says of a row that does not fit together."""
    start = f"card.{imported.CARD}.problems."
    said = {
        run.run_id: [
            f"{run.stack}: {run.fields[name]}"
            for name in sorted(run.fields)
            if name.startswith(start) and not name.endswith(".treatment_not_observed")
        ]
        for run in case.timed
    }
    texts = [text for each in said.values() for text in each]
    if not texts:
        return None
    return Note("source_inconsistent", "; ".join(texts), tuple(run for run, each in said.items() if each))


def _ids(runs: Iterable[TrialRun]) -> tuple[str, ...]:
    return tuple(run.run_id for run in runs)


def _short_form(case: Case) -> Note | None:
    profile = case.selection.profile
    if profile is None:
        return None
    if profile == EARLIER:
        text = "the cited runs did the work of an earlier version of the benchmark file"
        return Note("earlier_workload", text, _ids(case.timed))
    text = f"the cited runs did the short form {profile!r}, not the benchmark in full"
    return Note("short_form", text, _ids(case.timed))


def _few_launches(case: Case) -> Note | None:
    launches = [len(side.timed) for side in case.selection.sides]
    if min(launches) >= GOOD_LAUNCHES:
        return None
    text = f"{launches[0]} timed launches of the baseline and {launches[1]} of the candidate completed"
    return Note("few_launches", f"{text}; {GOOD_LAUNCHES} a side are the default", _ids(case.timed))


def _failed_launches(case: Case) -> Note | None:
    failed = [run for side in case.selection.sides for run in counted(side) if run not in side.timed]
    if not failed:
        return None
    return Note("failed_launches", f"{count(len(failed), 'timed launch')} failed and gave no value", _ids(failed))


def _traces_alone(case: Case) -> Note | None:
    """Both the total and its parts come from the profiler."""
    found = case.accounting
    if not found.within_traces:
        return None
    launches = (
        f"{count(len(runs), 'traced launch')} of {side.stack}"
        for side, runs in zip(case.selection.sides, (found.baseline_runs, found.candidate_runs), strict=True)
    )
    text = f"what is said rests on {' and '.join(launches)} alone: nothing independent confirms the total"
    return Note("traces_alone", text, _ids(case.judged))


def _imported(case: Case) -> Note | None:
    """What was not launched here is known by its source's word."""
    runs = [run for run in case.cited if run.fields.get("run.adapter") == imported.ADAPTER]
    if not runs:
        return None
    sources = dict.fromkeys(run.fields.get(f"card.{imported.CARD}.source", "a source that is not told") for run in runs)
    text = f"{count(len(runs), 'launch')} imported, not made here; from {'; '.join(sources)}"
    return Note("self_reported_source", text, _ids(runs))


def _one_node(case: Case) -> Note | None:
    hosts = sorted({run.host for run in case.judged})
    if imported.HOST in hosts:
        return _untold_nodes(case)
    if len(hosts) >= 3:
        return None
    text = f"every launch ran on {hosts[0]}" if len(hosts) == 1 else f"every launch ran on {' and '.join(hosts)}"
    return Note("one_node", f"{text}; other machines of this class may differ", _ids(case.judged))


def _untold_nodes(case: Case) -> Note:
    """Machines that the source does not name are no more than there are launches on a side."""
    most = max(sum(run.stack == side.stack for run in case.judged) for side in case.selection.sides)
    text = "the source does not name the machines"
    text += ", and one launch a side ran on one" if most == 1 else ": they may all be one"
    return Note("one_node", f"{text}; other machines of this class may differ", _ids(case.judged))


def _order(case: Case) -> Note | None:
    if not case.timed:
        return None
    if not case.order.interleaved:
        text = "the recorded launch order does not prove that the two sides were interleaved: drift may favour one"
        return Note("not_interleaved", text, _ids(case.timed))
    if not case.order.balanced:
        text = "the same side went first in every block: drift within a block favours one"
        return Note("order_unbalanced", text, _ids(case.timed))
    return None


def _more_than_declared(case: Case) -> Note | None:
    launches = min(len(side.timed) for side in case.selection.sides)
    most = case.benchmark.repeats.max
    if launches <= most:
        return None
    text = f"{launches} launches a side were made where the file allows {most}: the error of a wrong win is not held"
    return Note("more_than_declared", text, _ids(case.timed))


def _residual(case: Case) -> Note | None:
    found = case.accounting
    if found.closure is None:
        nothing = found.within_traces or found.absent in {None, NO_DIFFERENCE}
        return None if nothing else Note("unexplained", f"where the difference lies is not known: {found.absent}")
    if found.closure >= GOOD_CLOSURE:
        return None
    text = f"the parts account for {share(max(0.0, found.closure))} of the difference; the rest is unexplained residual"
    return Note("unexplained_residual", text, found.baseline_runs + found.candidate_runs)


def _unusable_traces(case: Case) -> Note | None:
    left_out = case.accounting.left_out
    if not left_out:
        return None
    text = "; ".join(note.text for note in left_out)
    return Note("trace_unusable", text, tuple(run_id for note in left_out for run_id in note.evidence))


def _cancelling(case: Case) -> Note | None:
    """A small residual can be two large errors that cancel."""
    found = case.accounting
    drift, cost, closure = found.residual_launches, found.residual_profiler, found.closure
    if drift is None or cost is None or closure is None or not found.difference or closure < GOOD_CLOSURE:
        return None
    if abs(drift) + abs(cost) <= (1 - GOOD_CLOSURE) * abs(found.difference):
        return None
    text = (
        f"the residual is small because two parts of it cancel: timed and profiled launches differed "
        f"({difference(drift, 's')}), and the profiler weighs unequally ({difference(cost, 's')})"
    )
    return Note("residual_cancels", text, found.baseline_runs + found.candidate_runs)


def _tuning(case: Case) -> Note | None:
    return Note("unequal_tuning", case.unequal_tuning) if case.unequal_tuning else None


def _missed(case: Case) -> Note | None:
    cells = case.moved.missed if case.moved else ()
    if not cells:
        return None
    said = ", ".join(
        f"{each.stack} is better with the settings of {each.settings_of} than with its own best "
        f"({case.benchmark.envelope.objective.metric} × {ratio(each.slowdown, each.low, each.high)}, "
        f"{ratios(each.low, each.high, each.slowdown)})"
        for each in cells
    )
    text = f"{said}: its search missed them, so it could do better than it was judged by"
    return Note("search_missed_better", text, tuple(name for each in cells for name in each.evidence))


def _price(case: Case) -> Note | None:
    envelope = case.benchmark.envelope
    if not PRICED.intersection((envelope.objective.metric, *envelope.limits)):
        return None
    return Note("self_reported_price", "prices are those that the benchmark file states, by the source it names")


def _history(case: Case) -> Note | None:
    unknown = [run for run in case.cited if run.commit is None or run.blob is None]
    if not unknown:
        return None
    text = "the benchmark file was not committed as it was used, so nothing shows what was declared when"
    return Note("history_unknown", text, _ids(unknown))


def _changed(case: Case) -> Iterable[Note]:
    """One note for each kind of declaration that the file changed after the launches, with all its values."""
    for code in dict.fromkeys(each.code for each in case.changes):
        said = [f"{each.what} was {each.then} and is {each.now} now" for each in case.changes if each.code == code]
        text = f"the benchmark file was changed after the launches: {'; '.join(said)}"
        yield Note(code, f"{text}; what was declared then is judged by", _ids(case.timed[:1]))


def _treatments(case: Case) -> Iterable[Note]:
    """What no trace shows that was to be seen, and what traces show beside something else that does the same."""
    for each in case.treatments:
        if each.explicit and each.observed is None:
            yield Note("treatment_unknown", f"whether {each.stack} runs with {each.title} is not known: no trace tells")
        elif each.mixed:
            text = f"beside {each.title} the traces of {each.stack} show {' and '.join(each.instead)}"
            yield Note("treatment_mixed", f"{text}, which does the same", each.evidence)


def _stale(case: Case) -> Note | None:
    newest = max(run.started_at for run in case.judged)[:10]
    if (case.today - date.fromisoformat(newest)).days <= STALE_DAYS:
        return None
    return Note("stale", f"the newest launch is of {newest}, more than {STALE_DAYS} days ago", _ids(case.judged))


_RULES: tuple[Callable[[Case], Note | None], ...] = (
    _short_form,
    _few_launches,
    _failed_launches,
    _traces_alone,
    _imported,
    _best_of_search,
    _contradictions,
    _one_node,
    _order,
    _more_than_declared,
    _residual,
    _unusable_traces,
    _cancelling,
    _tuning,
    _missed,
    _price,
    _history,
    _stale,
)
