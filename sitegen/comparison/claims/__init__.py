"""Why the sides differ: claims that rules make from numbers, each with its evidence and what would refute it.

A claim that names a part of the accounting says how much of the measured difference lies in it, and says "accounts
for": only a run in which the cause was removed shows that it causes anything. The claim that accounts for most leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sitegen.comparison.claims import serving, steps, worth
from sitegen.comparison.claims.facts import Facts
from sitegen.comparison.explanation import Claim

Rule = Callable[[Facts], Iterable[Claim]]

RULES: tuple[Rule, ...] = (*steps.RULES, *serving.RULES, *worth.RULES)
"""Every rule; where two claims account for as much, the earlier rule's goes first."""


def claims(facts: Facts) -> tuple[Claim, ...]:
    """All that can be said, the claim that accounts for most of the difference first; none without launches.

    Without timed ones, traces of both sides alone: what they say is of the traced steps.
    """
    if not all(side.timed for side in facts.selection.sides) and not facts.accounting.within_traces:
        return ()
    found = [claim for rule in RULES for claim in rule(facts)]
    return tuple(sorted(found, key=lambda claim: -(claim.share if claim.share is not None else -1.0)))
