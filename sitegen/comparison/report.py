"""A verdict as text for a terminal, never wider than 80 columns nor than COLUMNS says, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from sitegen import format
from sitegen.comparison import flips_report, operation_rows
from sitegen.comparison.layout import INDENT, command_lines, heading, table, width, wrapped
from sitegen.comparison.sentence import judged_text, prediction_text, ratio_text
from sitegen.comparison.tuning_text import matrix_rows, path_lines
from sitegen.comparison.verdict import Accounting, Decision, FieldComparison, Note, Sameness, Verdict

SCHEMA = 1
"""Of the JSON; fields are only added within one number."""
CANCELLING = 1.5
"""Movement of the parts over the difference, from which it is said that they cancel."""


def to_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Plain JSON data: {schema, verdicts}, each verdict with the fields of `sitegen.comparison.verdict.Verdict`."""
    return {"schema": SCHEMA, "verdicts": [_verdict_json(verdict) for verdict in verdicts]}


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `to_json`; further fields may be added to any object within one number of the schema."""
    from pydantic import TypeAdapter  # noqa: PLC0415 (slow to import)

    verdict = TypeAdapter(Verdict).json_schema(mode="serialization", ref_template="#/$defs/{model}")
    definitions = verdict.pop("$defs")
    verdict.pop("title", None)
    part = definitions["Part"]
    part["properties"]["difference"] = {
        "anyOf": [{"type": "number"}, {"type": "null"}],
        "description": "Candidate minus baseline, seconds.",
    }
    part["required"] = [*part["required"], "difference"]
    return {
        "type": "object",
        "required": ["schema", "verdicts"],
        "properties": {"schema": {"const": SCHEMA}, "verdicts": {"type": "array", "items": verdict}},
        "$defs": definitions,
    }


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    data = asdict(verdict)
    differences = [part.difference for part in verdict.accounting.parts]
    for part, difference in zip(data["accounting"]["parts"], differences, strict=True):
        part["difference"] = difference
    return data


def to_text(verdict: Verdict) -> str:
    """The whole verdict: what was decided first, then what it rests on, then the next run to make."""
    sections = [
        _head(verdict),
        _readiness(verdict),
        _notes("Downgrades", verdict.downgrades),
        _effect(verdict),
        _envelope(verdict),
        _differences(verdict),
        _time(verdict),
        _operations(verdict),
        _cost(verdict),
        _claims(verdict),
        _predictions(verdict),
        _items(verdict),
        _flips(verdict),
        _tuning(verdict),
        _transfer(verdict),
        _trials(verdict),
        _notes("Left out", verdict.left_out),
        _next(verdict),
    ]
    return "\n\n".join("\n".join(heading(section[0]) + section[1:]) for section in sections if section)


def _head(verdict: Verdict) -> list[str]:
    title = f"{verdict.benchmark}: {verdict.candidate} against {verdict.baseline}"
    decision = f"{verdict.winner} {verdict.decision}" if verdict.decision is Decision.WINS else str(verdict.decision)
    state = "ready to decide on" if verdict.readiness.ready else "not ready to decide on"
    return [
        title,
        "=" * min(len(title), width()),
        *wrapped(f"Verdict: {decision} ({state})"),
        *(line for label in verdict.labels for line in wrapped(label)),
        *wrapped(verdict.sentence),
    ]


def _readiness(verdict: Verdict) -> list[str]:
    if verdict.readiness.ready:
        return []
    return _notes("Not ready, because", verdict.readiness.reasons)


def _notes(title: str, notes: Iterable[Note]) -> list[str]:
    lines = [line for note in notes for line in wrapped(f"{note.code}: {note.text}", "- ")]
    return [title, *lines] if lines else []


def _effect(verdict: Verdict) -> list[str]:
    effect = verdict.effect
    lines = [
        f"Effect on {effect.metric} ({effect.definition}, {'lower' if effect.lower_is_better else 'higher'} is better)"
    ]
    rows = [
        (stack, format.value(mean, effect.unit), format.count(launches, "launch"))
        for stack, mean, launches in (
            (verdict.baseline, effect.baseline, effect.baseline_launches),
            (verdict.candidate, effect.candidate, effect.candidate_launches),
        )
    ]
    lines += table(rows, "lrl")
    if effect.ratio is not None:
        found = ratio_text(effect, verdict.candidate, verdict.baseline)
        lines += wrapped(f"{found}; threshold {format.share(verdict.declared.threshold)}")
    lines += wrapped(f"no interval: {effect.absent}" if effect.absent else effect.method)
    lines += wrapped(said) if (said := judged_text(effect)) else []
    shown = [f"{each.stack} {_launch(each.value, effect.unit, each.reason)}" for each in verdict.launches]
    return lines + (wrapped(f"launches in order: {', '.join(shown)}") if shown else [])


def _launch(value: float | None, unit: str, reason: str | None) -> str:
    return format.value(value, unit) if value is not None else (reason or "not measured")


def _envelope(verdict: Verdict) -> list[str]:
    if not verdict.limits:
        return ["Envelope: no limits declared"]
    rows = [("stack", "limit", "value", "95 % interval", "")]
    rows += [
        (
            check.stack,
            f"{check.metric} {check.limit}",
            format.value(check.value, check.unit),
            format.interval(check.low, check.high, check.unit),
            str(check.standing),
        )
        for check in verdict.limits
    ]
    return ["Envelope", *table(rows, "llrll")]


def _differences(verdict: Verdict) -> list[str]:
    apart = [field for field in verdict.fields if field.sameness is not Sameness.SAME]
    same = len(verdict.fields) - len(apart)
    rows = [("field", "", verdict.baseline, verdict.candidate)] + [_field_row(field) for field in apart]
    lines = table(rows, "llll") if apart else wrapped("none found")
    return ["Differences", *lines, *wrapped(f"{format.count(same, 'field')} held or intended and the same")]


def _field_row(field: FieldComparison) -> tuple[str, ...]:
    name = field.title or field.field.removeprefix("card.").removeprefix("environment.")
    return (
        name,
        f"{field.treatment}, {field.sameness}",
        field.baseline or format.ABSENT,
        field.candidate or format.ABSENT,
    )


def _time(verdict: Verdict) -> list[str]:
    account = verdict.accounting
    if account.factors and not account.parts:
        return []
    lines = [f"Where the {account.total} goes (means over {account.of})"]
    rows = [("part", verdict.baseline, verdict.candidate, "difference")]
    rows += [
        (
            f"{INDENT if part.parent else ''}{part.title}",
            format.seconds(part.baseline),
            format.seconds(part.candidate),
            format.difference(part.difference, "s"),
        )
        for part in account.parts
        if part.shown
    ]
    if account.parts:
        rows.append(("Residual", "", "", format.difference(account.residual, "s")))
        for title, amount in residual_parts(account):
            rows.append((f"{INDENT}{title}", "", "", format.difference(amount, "s")))
        total = "Traced steps" if account.within_traces else "Timed launches"
        rows.append((total, "", "", format.difference(account.difference, "s")))
        lines += table(rows, "lrrr")
    return lines + _closing(account)


def _operations(verdict: Verdict) -> list[str]:
    found = verdict.operations
    if found is None:
        return []
    lines = ["The traced step by operation"]
    if found.absent:
        return [*lines, *wrapped(f"not known: {found.absent}")]
    lines += table(operation_rows.rows(found, verdict.baseline, verdict.candidate), "llrrr")
    return [*lines, *wrapped(operation_rows.alignment(found))]


def _cost(verdict: Verdict) -> list[str]:
    factors = verdict.accounting.factors
    if not factors:
        return []
    rows = [("factor", verdict.baseline, verdict.candidate, "makes of the difference")]
    rows += [
        (
            each.title,
            format.value(each.baseline, each.unit),
            format.value(each.candidate, each.unit),
            format.difference(each.contribution, "money"),
        )
        for each in factors
    ]
    total = sum(each.contribution for each in factors)
    rows.append(("Cost per accepted result", "", "", format.difference(total, "money")))
    return ["What an accepted result costs is made of (in the prices' currency)", *table(rows, "lrrr")]


def _claims(verdict: Verdict) -> list[str]:
    """Why: each claim, and what would refute it."""
    lines = ["Why (accounts for, not yet: causes)"] if verdict.claims else []
    for claim in verdict.claims:
        lines += wrapped(f"{'withdrawn, as a test refuted it: ' if claim.withdrawn else ''}{claim.text}", "- ")
        lines += wrapped(f"wrong if {claim.refuted_by}", "    ")
    return lines


def _predictions(verdict: Verdict) -> list[str]:
    """Tests of claims: what was changed, what was predicted, what was seen."""
    lines = ["Tests of these claims"] if verdict.predictions else []
    for each in verdict.predictions:
        lines += wrapped(f"{each.name}, of {each.claim}: {each.stack} with {each.change}", "- ")
        lines += wrapped(prediction_text(each), "    ")
    return lines


def _items(verdict: Verdict) -> list[str]:
    found = verdict.items
    if found is None:
        return []
    shared = found.both + found.neither + found.only_baseline + found.only_candidate
    lines = [f"Item by item ({format.count(shared, 'item')} on both sides)"]
    lines += wrapped(
        f"accepted of both {found.both}, of {verdict.baseline} alone {found.only_baseline}, of {verdict.candidate} "
        f"alone {found.only_candidate}, of neither {found.neither}; McNemar's exact p {format.number(found.p_value)}"
    )
    if found.alone:
        lines += wrapped(f"{format.count(found.alone, 'item')} of one side only, left out")
    return lines


def _flips(verdict: Verdict) -> list[str]:
    """Where it flips: by load, length, price and demand."""
    lines = ["Where it flips"]
    for each in flips_report.flips(verdict):
        if isinstance(each, str):
            lines += wrapped(each, "- ")
        else:
            lines += table(each.rows, "l" + "r" * (len(each.rows[0]) - 1))
    return lines


def _tuning(verdict: Verdict) -> list[str]:
    lines = [line for path in verdict.tuning for bullet, text in path_lines(path) for line in wrapped(text, bullet)]
    return ["How the settings were found (the search chooses, timed launches decide)", *lines] if lines else []


def _transfer(verdict: Verdict) -> list[str]:
    moved = verdict.transfer
    return ["One side's best settings on the other", *table(matrix_rows(moved), "llrlr")] if moved else []


def residual_parts(account: Accounting) -> list[tuple[str, float]]:
    """What the residual is made of, where the profiled launches' own clock tells: (words, seconds)."""
    if account.residual_launches is None or account.residual_profiler is None:
        return []
    return [("Launches differed", account.residual_launches), ("Profiler", account.residual_profiler)]


def cancels(account: Accounting) -> bool:
    """Whether parts move so much against each other that the difference alone misleads."""
    return bool(account.gross and account.difference and account.gross > CANCELLING * abs(account.difference))


def _closing(account: Accounting) -> list[str]:
    said = []
    if account.explained_share is not None:
        said.append(f"closure {format.share(account.closure)}, explained share {format.share(account.explained_share)}")
    if account.absent:
        said.append(account.absent)
    if cancels(account):
        said.append(f"parts move by {format.seconds(account.gross)} in all: some cancel others")
    if account.coverage:
        told = ", ".join(f"{stack} {format.share(covered)}" for stack, covered in account.coverage.items())
        said.append(f"traces cover of the profiled steps: {told}")
    for basis in dict.fromkeys(account.overhead_basis.values()):
        costs = [
            f"{stack} {format.difference(amount, 'share')}"
            for stack, amount in account.profiler_overhead.items()
            if account.overhead_basis[stack] == basis
        ]
        said.append(f"profiler overhead: {', '.join(costs)} (against the {basis})")
    return [line for each in said for line in wrapped(each)]


def _trials(verdict: Verdict) -> list[str]:
    rows: list[tuple[str, ...]] = [("stack", "role", "planned", "completed", "failed", "excluded", "missing")]
    rows += [
        (
            each.stack,
            str(each.role),
            *map(str, (each.planned, each.completed, each.failed, each.excluded, each.missing)),
        )
        for each in verdict.counts
    ]
    lines = ["Trials", *(table(rows, "llrrrrr") if verdict.counts else wrapped("none planned, none run"))]
    for each in verdict.unsuccessful:
        why = f"{each.reason} ({each.detail})" if each.detail else each.reason
        lines += wrapped(f"{each.stack} {each.role} {each.repeat} {each.state}: {why}", "- ")
    return lines


def _next(verdict: Verdict) -> list[str]:
    command, step = verdict.readiness.next_run, verdict.readiness.next_step
    if command:
        return ["Next run", *command_lines(command)]
    return ["Next step (no run)", *wrapped(step)] if step else []
