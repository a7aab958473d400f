"""Statements against the tables: what the tables say instead, or nothing where they do not contradict.

- A value must be one that a table shows for the stack, to the rounding of the number as written. What is said to be
  rough (`about 1.2 s`, a bound, a range) may also lie inside the 95 % interval.
- A difference must agree with the ratio of the two values to its own rounding, or lie inside the 95 % interval.
  `25 % faster` is understood as 1.25 times the speed or as 75 % of the time.
- An order must be that of the means; where the two stacks have a comparison on that metric, it must have been decided.
"""

from __future__ import annotations

from sitegen.comparison.verdict import Decision, Verdict
from sitegen.format import value
from sitegen.prose import pairs
from sitegen.prose.amounts import BARE, FACTOR, Amount, numbers
from sitegen.prose.pairs import Pair
from sitegen.prose.statements import Compared, Decided, Equal, Ratio, Statement, Superlative, Valued, Won
from sitegen.prose.tables import BenchmarkTables, MetricShown, Shown
from sitegen.prose.words import Meaning

_PURE = frozenset({"", "1", "count", "ratio", "level", "nats", "money", "share"})
"""Units that people leave out."""
_LEFT_IN = frozenset({"s", "B", "B/s", "1/s", "tokens/s", "tokens/J", "J", "W"})


def contradiction(statement: Statement, known: BenchmarkTables, about: tuple[Verdict, ...]) -> str | None:
    """What the tables of a benchmark say instead; None where they bear it out or cannot tell.

    `about` are the comparisons that the text around the statement is about.
    """
    match statement:
        case Valued():
            return _all([_value(statement, known.metrics[name], known) for name in _shown(statement, known)])
        case Compared():
            return _compared(statement, known, about)
        case Ratio():
            return _all(
                [_ratio(statement, known, name) for name in _metrics(statement.meaning, statement.metrics, known)]
            )
        case Superlative():
            names = _metrics(statement.meaning, statement.metrics, known)
            return _all([_superlative(statement, known, name) for name in names])
        case Won():
            return _won(statement, known, about)
        case Equal():
            return _equal(statement, known)
        case Decided():
            return _decided(statement, known)


def _all(found: list[str | None]) -> str | None:
    """The first contradiction where every meaning is contradicted."""
    return found[0] if found and all(each is not None for each in found) else None


def _metrics(meaning: Meaning, named: tuple[str, ...], known: BenchmarkTables) -> tuple[str, ...]:
    """The metrics that a statement may be about."""
    if named:
        return tuple(name for name in named if name in known.metrics)
    return known.meant_by(meaning.of)


def _sign(meaning: Meaning, metric: MetricShown) -> int:
    """1 where the first value is said to be the larger one, -1 the smaller one, 0 where nobody can tell."""
    if meaning.says in {"more", "less"}:
        return 1 if meaning.says == "more" else -1
    if metric.lower_is_better is None:
        return 0
    return 1 if (meaning.says == "better") is not metric.lower_is_better else -1


def _shown(statement: Valued, known: BenchmarkTables) -> list[str]:
    """The metrics that it may mean: those that the stack has, in a unit of the same kind."""
    return [
        name
        for name in statement.metrics
        if (statement.stack, name) in known.values and _same_kind(statement.amount, known.metrics[name].unit)
    ]


def _same_kind(amount: Amount, unit: str) -> bool:
    if amount.unit != BARE:
        return amount.unit == unit
    return unit in _PURE or unit not in _LEFT_IN


def _value(statement: Valued, metric: MetricShown, known: BenchmarkTables) -> str | None:
    shown = known.values[statement.stack, metric.id]
    if any(_agrees(statement.amount, each, metric.unit) for each in shown):
        return None
    return f"{metric.title.lower()} of {statement.stack} is {value(shown[0].value, metric.unit)}"


def _agrees(amount: Amount, shown: Shown, unit: str) -> bool:
    """Whether a number is the one that is shown, or is rounded from it."""
    printed = [each.readings[0].value for each in numbers(value(shown.value, unit))[:1]]
    for reading in amount.readings:
        if reading.holds(shown.value) or any(abs(reading.value - each) <= 1e-9 * abs(each) for each in printed):
            return True
        bounded = shown.low is not None and shown.high is not None
        if amount.approximate and bounded and reading.meets(shown.low or 0.0, shown.high or 0.0):
            return True
    return False


def _compared(statement: Compared, known: BenchmarkTables, about: tuple[Verdict, ...]) -> str | None:
    seconds = [statement.second] if statement.second else _others(statement.first, known, about)
    names = _metrics(statement.meaning, statement.metrics, known)
    return _all(
        [_difference(statement, Pair(known, statement.first, each, name)) for each in seconds for name in names]
    )


def _others(first: str, known: BenchmarkTables, about: tuple[Verdict, ...]) -> list[str]:
    """Whom a stack is compared with where the sentence does not say: in the comparisons that the text is about."""
    found = [stack for each in about for stack in (each.baseline, each.candidate) if stack != first]
    if not found and len(known.stacks) == 2:
        found = [stack for stack in known.stacks if stack != first]
    return list(dict.fromkeys(found))


def _difference(statement: Compared, pair: Pair) -> str | None:
    sign = _sign(statement.meaning, pair.metric)
    if not sign:
        return None
    amount = statement.amount
    absolute = amount is not None and amount.unit not in {"share", FACTOR}
    if absolute and not (statement.plain and statement.metrics):
        return None  # `549 ms longer`: of what, nobody says
    wrong = pair.order(sign)
    if amount is None or wrong is not None:
        return wrong
    if absolute:
        return None if amount.unit != pair.metric.unit or pair.is_apart_by(amount) else pair.in_words
    ranges = pairs.ratios(amount, sign, plain=statement.plain)
    return None if not ranges or pair.lies_in(ranges, amount.approximate) else pair.in_words


def _ratio(statement: Ratio, known: BenchmarkTables, name: str) -> str | None:
    """A ratio of two values says no more than that; one of speeds or prices says which side is ahead, too."""
    pair = Pair(known, statement.first, statement.second, name)
    sign = _sign(statement.meaning, pair.metric)
    ranges = [(reading.low, reading.high) for reading in statement.amount.readings]
    if not sign or any(low <= 0 for low, _ in ranges):
        return None
    if sign < 0:
        ranges = [(1 / high, 1 / low) for low, high in ranges]
    if statement.meaning.says != "more" and any(low > 1 or high < 1 for low, high in ranges):
        wrong = pair.order(1 if ranges[0][0] > 1 else -1)
        if wrong is not None:
            return wrong
    return None if pair.lies_in(ranges, statement.amount.approximate) else pair.in_words


def _superlative(statement: Superlative, known: BenchmarkTables, name: str) -> str | None:
    """Ahead of the stacks that the sentence names, of all others, or of those that hold the envelope: any will do."""
    metric, stack = known.metrics[name], statement.stack
    sign = _sign(statement.meaning, metric)
    means = {each: mean for each in known.stacks if (mean := known.mean(each, name)) is not None}
    named, others, holding = set(statement.others) & set(means), set(means) - {stack}, set(means) & known.holding
    groups = [group for group in (named, others) if group] + ([holding - {stack}] if stack in holding else [])
    if not sign or stack not in means or not others:
        return None
    if stack in known.failing and (statement.meaning.of, statement.meaning.says) == ("objective", "better"):
        return f"{stack} fails its limits"
    leads = [group for group in groups if all(sign * (means[stack] - means[each]) >= 0 for each in group)]
    if not leads:
        first = max(means, key=lambda each: sign * means[each])
        return Pair(known, first, stack, name).in_words
    undecided = [Pair(known, stack, each, name).undecided(sign) for each in sorted(leads[0])]
    return next((each for each in undecided if each is not None), None)


def _won(statement: Won, known: BenchmarkTables, about: tuple[Verdict, ...]) -> str | None:
    if statement.second is not None:
        found = known.between(statement.first, statement.second)
        if not found:
            better = Meaning("objective", "better")
            return _compared(Compared(statement.first, statement.second, better, (), None), known, ())
    else:
        own = tuple(each for each in known.verdicts if statement.first in {each.baseline, each.candidate})
        found = about or own
    if not found or any(each.winner == statement.first for each in found):
        return None
    return pairs.said(found[0])


def _equal(statement: Equal, known: BenchmarkTables) -> str | None:
    found = known.between(statement.first, statement.second)
    if statement.meaning is not None:
        meant = known.meant_by(statement.meaning.of)
        found = tuple(each for each in found if each.effect.metric in meant)
        bears_out = [each.decision is not Decision.WINS for each in found]
    else:
        bears_out = [each.decision is Decision.EQUIVALENT for each in found]
    return pairs.said(found[0]) if found and not any(bears_out) else None


def _decided(statement: Decided, known: BenchmarkTables) -> str | None:
    if statement.slug is not None:
        found = tuple(each for each in known.verdicts if each.slug == statement.slug)
    else:
        found = known.between(statement.first or "", statement.second or "")
    if not found or any(each.readiness.ready for each in found):
        return None
    reasons = "; ".join(note.text for note in found[0].readiness.reasons[:1])
    return f"{found[0].slug} is not ready to decide on: {reasons}"
