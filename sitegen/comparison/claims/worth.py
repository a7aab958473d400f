"""Claims about what the difference is worth: cost, quality, and the one setting that the sides differ in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ledger.run import Role
from sitegen.comparison.claims.facts import Facts
from sitegen.comparison.comparability import SETTING
from sitegen.comparison.explanation import Claim
from sitegen.comparison.verdict import Sameness
from sitegen.format import share, times

PRICE, COST, QUALITY = "price", "cost_per_accepted_result", "acceptance_rate"
SURE = 0.05
"""p of McNemar's test from which one side's answers are called worse."""


def cheaper_hour(facts: Facts) -> Iterable[Claim]:
    """Cheaper by the hour, and dearer by the accepted result."""
    factors = {factor.id: factor for factor in facts.accounting.factors}
    price, costs = factors.get(PRICE), facts.both(COST)
    if price is None or costs is None or price.baseline == price.candidate:
        return
    cheap = int(price.candidate < price.baseline)
    if costs[cheap] <= costs[1 - cheap]:
        return
    yield facts.claim(
        "cheaper_hour",
        f"An hour of {facts.names[cheap]} is cheaper than one of {facts.names[1 - cheap]}, and an accepted result "
        f"costs {times(costs[cheap] / costs[1 - cheap])} times as much.",
        metrics=(COST, "accepted_throughput"),
        refuted_by="at a load that both carry, its accepted results cost less",
        role=Role.TIMED,
    )


def answers_worse(facts: Facts) -> Iterable[Claim]:
    """The quicker side answers worse."""
    rates, items = facts.both(QUALITY), facts.items
    if rates is None or items is None or facts.slower is None or items.p_value >= SURE:
        return
    fast = 1 - facts.slower
    if rates[fast] >= rates[facts.slower]:
        return
    yield facts.claim(
        "answers_worse",
        f"{facts.names[fast]} is quicker and answers worse: {share(rates[fast])} of its results are accepted, "
        f"{share(rates[facts.slower])} of {facts.names[facts.slower]}'s.",
        metrics=(QUALITY, COST),
        refuted_by="on more items both are accepted as often",
        intervention="ask both with the same weights and precision",
        role=Role.TIMED,
    )


def one_setting(facts: Facts) -> Iterable[Claim]:
    """The sides differ in a single setting."""
    differ = [field for field in facts.fields if field.sameness is not Sameness.SAME]
    settings = [field for field in differ if field.field.startswith(SETTING)]
    others = [field for field in differ if field.field in {"run.adapter", "run.environment_digest"}]
    if len(settings) != 1 or others or facts.effect.ratio is None:
        return
    (only,) = settings
    name = only.field.removeprefix(SETTING)
    yield facts.claim(
        "one_setting",
        f"The two stacks differ in one setting, {name} ({only.baseline} against {only.candidate}): the whole "
        "difference is its doing.",
        metrics=(facts.effect.metric,),
        refuted_by=f"launches that swap {name} between the stacks do not swap the result",
        role=Role.TIMED,
    )


RULES: tuple[Callable[[Facts], Iterable[Claim]], ...] = (cheaper_hour, answers_worse, one_setting)
