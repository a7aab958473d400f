"""Do the bounds of a crossing hold what they say? Launches are made up, judged by the functions that judge real ones.

    python tests/performance/crossing_simulation.py [--comparisons 5000] [--smoke]

Two sides' latencies over five levels of load cross at a known level. Each launch has a factor of its own (2 or 10 %),
the same at all its levels, and scatters a little more at each level (1 %). Printed is how often the 95 % interval holds
the planted level, in interleaved pairs (93 to 97 % is asked for) and with each side for itself, where degrees of
freedom err on the safe side (at least 93 %); how often it is open; and beside it what the t interval over the launches'
own crossings would do, which leaves out the launches that do not cross.

Ends with 1 where one is missed by more than the simulation's own chance (three standard errors).
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from sitegen.comparison.flips.crossing import MeanCurve, changes_sign, difference, mean_curve, zeros
from sitegen.comparison.statistics import Interval, t_interval

AT = tuple(math.log(level) for level in (1, 2, 4, 8, 16))
PLANTED = math.log(5)
SLOPE = 0.2
"""Of the log ratio over the log level: from 16 times the load on, one side is 1.7 times as slow as it was."""
LAUNCHES = 5

Curves = list[list[float]]


def sides(chance: random.Random, spread: float) -> tuple[Curves, Curves]:
    """Log latencies of both sides' launches at each level."""
    found: tuple[Curves, Curves] = ([], [])
    for _ in range(LAUNCHES):
        for side, slope in zip(found, (0.0, SLOPE), strict=True):
            factor = chance.gauss(0, spread)
            side.append([factor + slope * (at - PLANTED) + chance.gauss(0, 0.01) for at in AT])
    return found


def pairs(baseline: Curves, candidate: Curves) -> Curves:
    """Log ratios of each pair of launches."""
    return [[b - a for a, b in zip(*each, strict=True)] for each in zip(baseline, candidate, strict=True)]


def curve(baseline: Curves, candidate: Curves, *, paired: bool) -> MeanCurve:
    """As comparisons make it."""
    if paired:
        return mean_curve(AT, pairs(baseline, candidate))
    return difference(mean_curve(AT, baseline), mean_curve(AT, candidate))


def holds(mean: MeanCurve) -> bool:
    """Whether a crossing's bounds hold the planted one; an open bound holds all that lies beyond it."""
    found = zeros(mean)
    if not found:
        return True  # no crossing is claimed, so that nothing wrong is said
    return any(
        (each.low is None or each.low <= PLANTED) and (each.high is None or each.high >= PLANTED) for each in found
    )


def covered(chance: random.Random, *, paired: bool, spread: float = 0.1) -> bool:
    """Whether one made-up comparison's bounds hold the planted crossing."""
    return holds(curve(*sides(chance, spread), paired=paired))


def own_crossings(found: Curves) -> bool:
    """Whether the t interval over the crossings of those launches that cross holds the planted one."""
    own = [zeros(mean_curve(AT, [each]))[0].at for each in found if changes_sign(each)]
    interval = t_interval(own)
    return isinstance(interval, Interval) and interval.low <= PLANTED <= interval.high


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=5000, help="of each cell")
    parser.add_argument("--seed", type=int, default=20261207)
    parser.add_argument("--smoke", action="store_true", help="500 of each cell")
    asked = parser.parse_args()
    count = 500 if asked.smoke else asked.comparisons
    chance = random.Random(asked.seed)  # noqa: S311 (no secret is made)
    slack = 3 * math.sqrt(0.95 * 0.05 / count)
    good = True
    print(f"{count} comparisons a cell, {LAUNCHES} launches a side, levels 1 to 16, planted crossing at 5")
    print(f"{'launches scatter by':24}{'pairs':>10}{'apart':>10}{'open':>10}{'own crossings':>16}")
    for spread in (0.02, 0.1, 0.3):
        drawn = [sides(chance, spread) for _ in range(count)]
        paired = [curve(*each, paired=True) for each in drawn]
        in_pairs = sum(map(holds, paired)) / count
        apart = sum(holds(curve(*each, paired=False)) for each in drawn) / count
        opened = sum(any(z.low is None or z.high is None for z in zeros(each)) for each in paired) / count
        own = sum(own_crossings(pairs(*each)) for each in drawn) / count
        fine = 0.93 - slack <= in_pairs <= (0.97 if spread < 0.2 else 1.0) + slack and apart >= 0.93 - slack
        good = good and fine
        print(
            f"{spread:<24.0%}{in_pairs:>10.1%}{apart:>10.1%}{opened:>10.1%}{own:>16.1%}" + ("" if fine else "   missed")
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
