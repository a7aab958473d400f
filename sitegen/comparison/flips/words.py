"""Where the order turns round, in sentences: the page and the terminal say the same."""

from __future__ import annotations

from sitegen.comparison.flips.found import AtDemand, Crossing, Curve, DemandRow, Held, PriceFlip, Stretch
from sitegen.format import count, interval, number, share, times, value

DESCRIBES = "This describes: nothing here decides, and of many curves one may cross by chance."
COST = "cost_per_accepted_result"
OVER = {"load": "load", "input": "length of the input", "output": "length of the output"}


def curve(found: Curve) -> tuple[str, ...]:
    """What is to be said of one curve: where it crosses, or that it does not."""
    if found.absent:
        return (f"Not told: {found.absent}.",)
    said = [_crossing(found, each) for each in found.crossings]
    if not said:
        said = [_none(found)]
    if found.crossing and not found.crossings:
        said.append(f"In {found.crossing} of {count(found.compared, 'pair')} of launches it does.")
    elif found.crossings and found.compared:
        said.append(f"The order changes in {found.crossing} of {count(found.compared, 'pair')} of launches.")
    if found.crossings and found.no_bounds:
        said.append(f"No interval: {found.no_bounds}.")
    if found.over == "load" and found.metric == COST:
        said.append("This is what a result costs at one load on both sides; the verdict takes each side's capacity.")
    if _within(found):
        said.append(f"At every point the difference is within the {share(found.threshold)} threshold.")
    left_out = [point for point in found.points if point.absent]
    if left_out:
        places = ", ".join(number(point.at) for point in left_out)
        said.append(f"Left out at {places} {found.over_unit}: {left_out[0].absent}.")
    return tuple(said)


def _within(found: Curve) -> bool:
    """Whether the two sides differ by less than matters wherever they were compared."""
    ratios = [point.ratio for point in found.points if point.ratio is not None]
    if found.threshold is None:
        return False
    return all(1 / (1 + found.threshold) <= each <= 1 + found.threshold for each in ratios)


def _crossing(found: Curve, crossing: Crossing) -> str:
    at = f"{number(crossing.at)} {found.over_unit}"
    bounds = "" if found.no_bounds else f" ({_bounds(found, crossing)})"
    return f"Up to {at}{bounds} {crossing.below} is better, beyond it {crossing.above}."


def _bounds(found: Curve, crossing: Crossing) -> str:
    unit = found.over_unit
    if crossing.low is None and crossing.high is None:
        return "95 % interval open on both sides: chance alone may have made it"
    if crossing.low is None:
        return f"95 % interval up to {number(crossing.high)} {unit}, open below"
    if crossing.high is None:
        return f"95 % interval from {number(crossing.low)} {unit}, open above"
    return f"95 % interval {number(crossing.low)} to {number(crossing.high)}"


def _none(found: Curve) -> str:
    kept = [point for point in found.points if point.absent is None]
    where = f"Up to {number(kept[-1].at)} {found.over_unit}"
    if found.over != "load":
        where = f"From {number(kept[0].at)} to {number(kept[-1].at)} {found.over_unit}"
    if found.better is None:
        return f"{where} no change of the order can be told from chance."
    clear = sum(point.low is not None and point.high is not None and not point.low <= 1 <= point.high for point in kept)
    return (
        f"{where} the order does not change: {found.better} is better at each of {len(kept)} points, by more than "
        f"chance at {clear}."
    )


def held(found: Held) -> str:
    """How far one side holds its limits."""
    unit = found.unit
    if found.absent:
        return f"{found.stack}: not told: {found.absent}."
    why = f"; first to break: {found.breaks}" if found.breaks else ""
    if found.held_none:
        lowest = f"In {found.held_none} of {count(found.launches, 'launch')} not even the lowest driven load held"
        return f"{found.stack}: {lowest[0].lower()}{lowest[1:]}{why}."
    if found.held_all:
        every = "every launch" if found.held_all == found.launches else f"{found.held_all} of {found.launches} launches"
        least = "" if found.held_all == found.launches else f", each at least up to {number(found.least)}"
        driven = f"all that was driven, up to {number(found.most)} {unit}"
        return f"{found.stack}: {every} held {driven}{least}{why}."
    if found.low is None:
        bounds = f"no interval: {found.basis}"
    else:
        bounds = f"95 % interval {number(found.low)} to {number(found.high)}; {found.basis}"
    return f"{found.stack}: up to {number(found.load)} {unit} ({bounds}){why}."


def price(found: PriceFlip) -> str:
    """At which price both sides' accepted results would cost the same."""
    interval_ = f" ({times(found.low)} to {times(found.high)})" if found.low is not None else ""
    charged = ""
    if found.amount is not None:
        charged = f", {number(found.amount)} {found.currency} a {(found.per or '').replace('_', ' ')}"
        if found.amount_low is not None:
            charged += f" ({number(found.amount_low)} to {number(found.amount_high)})"
        charged += ","
    said = (
        f"The price of {found.cheaper} could be {times(found.factor)} times what it is{interval_}{charged} before an "
        f"accepted result of {found.dearer}, at its price of today, costs as much."
    )
    if found.absent:
        return f"{said} No interval: {found.absent}."
    if found.low is not None and found.low <= 1:
        return f"{said} Today's price lies in the interval: which side is cheaper is not told from chance."
    return said


def demand(found: AtDemand) -> tuple[str, ...]:
    """One sentence a stretch."""
    return tuple(_stretch(each, last=each is found.stretches[-1]) for each in found.stretches)


def _stretch(stretch: Stretch, *, last: bool) -> str:
    where = f"From {number(stretch.start)} to {number(stretch.end)} requests a day"
    if stretch.start == 0:
        where = f"Up to {number(stretch.end)} requests a day"
    elif last:
        where = f"From {number(stretch.start)} requests a day on, as far as was looked ({number(stretch.end)})"
    if stretch.cheaper is None:
        return f"{where} both cost the same a month."
    return f"{where} {stretch.cheaper} costs less a month."


def amount(low: float | None, high: float | None, unit: str) -> str:
    """`2`, or `2 to 3`."""
    return value(low, unit) if value(low, unit) == value(high, unit) else interval(low, high, unit)


def row(found: DemandRow, stacks: tuple[str, str]) -> str:
    """One metric at the demand, of both sides in a line."""
    sides = (
        f"{stack} {each.missing or amount(each.low, each.high, found.unit)}"
        for stack, each in zip(stacks, (found.baseline, found.candidate), strict=True)
    )
    return f"{found.title}: {', '.join(sides)}"


def heading(found: Curve) -> str:
    """`Time to the whole result (mean), by length of the input`."""
    return f"{found.title}, by {OVER[found.over]}"
