"""Do the verdicts' statistics hold what they say? Launches are made up, judged by the functions that judge real ones.

    python tests/performance/verdict_simulation.py [--comparisons 2000] [--smoke]

A launch's value is drawn as the true time of its side, times a log-normal run-to-run spread (1 or 3 %), times a drift
of the machine over the launches in their interleaved order, times now and then an outlier. Printed are, for each cell:

- false wins of one stack against itself, all launches at once, and when launches are added look by look until something
  is found or the most are made: at most 5 % is asked for;
- how often the 95 % interval holds the true ratio: 93 to 97 % is asked for;
- how often a true difference of twice the threshold is found with as many launches as the planner asks for: 80 %.

Ends with 1 where one of them is missed by more than the simulation's own chance (three standard errors).
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from ledger.power import POWER, launches_for, power
from sitegen.comparison.statistics import Interval, look_level, paired_ratio

INITIAL, MOST = 5, 10
THRESHOLD = 0.05
WORLDS = {
    "steady": (0.0, 0.0),
    "drift": (0.02, 0.0),
    "outliers": (0.0, 0.03),
    "drift and outliers": (0.02, 0.03),
}
"""{name: (relative drift over all launches, share of launches that are outliers)}."""
OUTLIER = 0.15
"""How much longer an outlier takes at the most; it lasts for one launch."""

Block = tuple[float, float]


@dataclass(frozen=True)
class World:
    """How launches scatter."""

    spread: float
    drift: float
    outliers: float


def blocks(world: World, ratio: float, count: int, chance: random.Random) -> list[Block]:
    """`count` interleaved blocks of (baseline, candidate): A B, B A, A B, …"""
    found = []
    for block in range(count):
        values = {}
        for place, side in enumerate((0, 1) if block % 2 == 0 else (1, 0)):
            at = (2 * block + place) / (2 * MOST)
            value = (1.0, ratio)[side] * math.exp(chance.gauss(0, world.spread)) * (1 + world.drift * at)
            if chance.random() < world.outliers:
                value *= 1 + chance.uniform(0, OUTLIER)
            values[side] = value
        found.append((values[0], values[1]))
    return found


def wins(found: list[Block], level: float, threshold: float) -> bool:
    """Whether the interval clears the threshold, either way."""
    interval = paired_ratio(found, level)
    low, high = 1 / (1 + threshold), 1 + threshold
    return isinstance(interval, Interval) and (interval.high < low or interval.low > high)


def wins_in_the_end(found: list[Block], threshold: float, *, boundary: bool) -> bool:
    """Looked at after the first launches and after each one more; `boundary`: judged as the verdicts are."""
    before = 0
    for now in range(INITIAL, MOST + 1):
        level = look_level(now / MOST, before / MOST) if boundary else 0.95
        if wins(found[:now], level, threshold):
            return True
        before = now
    return False


def cells() -> Iterator[tuple[str, World]]:
    """Every kind of scatter."""
    for spread in (0.01, 0.03):
        for name, (drift, outliers) in WORLDS.items():
            yield f"{spread:.0%} spread, {name}", World(spread, drift, outliers)


def planned(world: World, chance: random.Random) -> int | None:
    """What the planner asks for from the spread of a pilot of the initial launches, for twice the threshold."""
    pilot = [math.log(b / a) for a, b in blocks(world, 1.0, INITIAL, chance)]
    middle = sum(pilot) / len(pilot)
    spread = math.sqrt(sum((each - middle) ** 2 for each in pilot) / (len(pilot) - 1))
    return launches_for(spread, INITIAL, 1 + 2 * THRESHOLD, THRESHOLD)


def check(name: str, hits: int, of: int, *, least: float = 0.0, most: float = 1.0) -> tuple[str, bool]:
    """A share as text, and whether it is within bounds but for the simulation's own chance."""
    share = hits / of
    slack = 3 * math.sqrt(max(share * (1 - share), 1 / of) / of)
    return f"{share:7.1%}", least - slack <= share <= most + slack


def main() -> int:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=2000, help="of each cell")
    parser.add_argument("--seed", type=int, default=20261201)
    parser.add_argument("--smoke", action="store_true", help="200 of each cell")
    asked = parser.parse_args()
    count = 200 if asked.smoke else asked.comparisons
    chance = random.Random(asked.seed)  # noqa: S311 (no secret is made)
    print(f"{count} comparisons a cell; {INITIAL} launches at first, at most {MOST}; threshold {THRESHOLD:.0%}")
    print("false wins: of A against A. at any difference: threshold 0, which is the plain test")
    head = ("at once", "any diff.", "looking", "no bound.", "covers", "finds 10 %", "with", "power at 5")
    print(f"{'':34}" + "".join(f"{word:>11}" for word in head))
    good = True
    for name, world in cells():
        row, fine = _row(world, count, chance)
        good = good and fine
        print(f"{name:34}" + "".join(f"{each:>11}" for each in row) + ("" if fine else "   missed"))
    return 0 if good else 1


def _row(world: World, count: int, chance: random.Random) -> tuple[list[str], bool]:
    same = [blocks(world, 1.0, MOST, chance) for _ in range(count)]
    at_once = check("false wins", sum(wins(each[:INITIAL], 0.95, THRESHOLD) for each in same), count, most=0.05)
    plain = check("any", sum(wins(each[:INITIAL], 0.95, 0.0) for each in same), count, most=0.05)
    looking = check("looking", sum(wins_in_the_end(each, 0.0, boundary=True) for each in same), count, most=0.05)
    unbounded = sum(wins_in_the_end(each, 0.0, boundary=False) for each in same) / count
    covered = 0
    for each in same:
        found = paired_ratio(each[:INITIAL])
        covered += isinstance(found, Interval) and found.low <= 1 <= found.high
    covers = check("covers", covered, count, least=0.93, most=0.97 if not world.outliers else 1.0)
    wanted = [planned(world, chance) for _ in range(count)]
    known = [each for each in wanted if each is not None]
    found = sum(wins(blocks(world, 1 + 2 * THRESHOLD, n, chance), 0.95, THRESHOLD) for n in known)
    finds = check("finds", found, len(known), least=POWER)
    middle = sorted(known)[len(known) // 2]
    at_five = power(INITIAL, world.spread * math.sqrt(2), 1 + 2 * THRESHOLD, THRESHOLD)
    checks = (at_once, plain, looking, covers, finds)
    row = [at_once[0], plain[0], looking[0], f"{unbounded:7.1%}", covers[0], finds[0], f"{middle}", f"{at_five:.0%}"]
    return row, all(fine for _, fine in checks)


if __name__ == "__main__":
    sys.exit(main())
