"""Everything about where the order of two sides turns round, from the same launches as the effect."""

from __future__ import annotations

from ledger.benchmark import Benchmark
from sitegen.comparison.flips import curves, demand, length, load, price
from sitegen.comparison.flips.found import Flips
from sitegen.comparison.selection import Selection
from sitegen.comparison.verdict import Effect


def find(selection: Selection, benchmark: Benchmark, effect: Effect, threshold: float) -> Flips:
    """By load, length, price and demand. It takes part in no decision."""
    runs = curves.launches(selection)
    no_load, no_length = load.absent(benchmark), length.absent(selection, benchmark)
    return Flips(
        load=() if no_load else load.curves(selection, benchmark, runs, threshold),
        load_absent=no_load,
        held=() if no_load else load.held(selection, benchmark),
        length=() if no_length else length.curves(selection, benchmark, runs),
        length_absent=no_length,
        price=price.flip(selection, benchmark, effect),
        price_absent=price.absent(benchmark, effect),
        demand=demand.at_demand(selection, benchmark),
    )
