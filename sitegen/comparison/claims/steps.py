"""Claims about steps, from the parts of profiled launches and what traces count."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ledger.run import Role
from sitegen.comparison.accounting import INNER
from sitegen.comparison.claims.facts import ALIKE, MATTERS, Facts
from sitegen.comparison.explanation import Claim
from sitegen.format import seconds, share, times

TRACED = Role.PROFILED
THROTTLED = 0.05
"""Share of samples from which throttling is worth a claim."""
IMBALANCED = 1.1
"""Compute of the slowest rank over the mean from which a rank is called a straggler."""


def _leads(facts: Facts, part: str) -> float | None:
    """Seconds that the slower side spends more in a part, where they matter."""
    more = facts.more(part)
    return more if facts.slower is not None and facts.share_of(more) >= MATTERS else None


def _accounts(facts: Facts, amount: float) -> str:
    found = facts.share_of(amount)
    of = "of the traced difference" if facts.accounting.within_traces else "of the difference"
    others = ", more than all of it, as other parts move the other way" if found > 1 + ALIKE else ""
    return f"that accounts for {share(found)} {of}{others}"


def _slow_fast(facts: Facts) -> tuple[str, str]:
    slower = facts.slower or 0
    return facts.names[slower], facts.names[1 - slower]


def input_wait(facts: Facts) -> Iterable[Claim]:
    """A side's device waits for input data."""
    more = _leads(facts, "input_wait")
    if more is None:
        return
    slow, fast = _slow_fast(facts)
    yield facts.claim(
        "input_wait",
        f"{slow} waits {seconds(more)} a step longer for input than {fast} does; {_accounts(facts, more)}.",
        metrics=("input_wait",),
        parts=("input_wait",),
        refuted_by=f"{slow} stays as slow with input that is in memory before the step begins",
        intervention=f"give {slow} more loader workers, or input that is already in memory",
    )


def host_bound(facts: Facts) -> Iterable[Claim]:
    """The device waits for its host to launch work, or the host is busy between operators."""
    gap, idle = facts.more("host_gap"), facts.more("idle")
    more = gap + idle
    if facts.slower is None or facts.share_of(more) < MATTERS:
        return
    slow, fast = _slow_fast(facts)
    launches = facts.ratio("traced_launches", TRACED)
    why = f", with {times(launches)} times as many launches" if launches and launches > 1 + ALIKE else ""
    yield facts.claim(
        "host_bound",
        f"{slow} does nothing for {seconds(more)} a step more than {fast} while its host prepares work{why}; "
        f"{_accounts(facts, more)}.",
        metrics=("host_gap", "idle", "kernel_launch_gap", "traced_launches"),
        parts=("host_gap", "idle"),
        refuted_by=f"{slow} gains nothing where its launches are recorded once (graphs, compilation) or made fewer",
        intervention=f"compile {slow}'s step or capture it as a graph, or give each launch more work",
    )


def communication(facts: Facts) -> Iterable[Claim]:
    """Communication that nothing covers: for a late rank, for more bytes, for slower links, or for want of overlap."""
    more = _leads(facts, "exposed_communication")
    if more is None:
        return
    slow, fast = _slow_fast(facts)
    waits, transfers = (facts.both(name, TRACED) for name in ("peer_wait", "transfer_time"))
    side = facts.slower or 0
    late = waits[side] - waits[1 - side] if waits else 0.0
    moved = transfers[side] - transfers[1 - side] if transfers else 0.0
    traffic, link = facts.ratio("collective_bytes", TRACED), facts.ratio("bus_bandwidth", TRACED)
    if waits and late > max(moved, more / 2):
        code, why = "straggler", f"{seconds(late)} of it is waiting for the last rank to arrive, not the link"
        todo, refuted = "find what delays that rank", "all ranks arrive alike and the collectives still take as long"
    elif traffic and traffic > 1 + ALIKE and (link is None or link > 1 - 2 * ALIKE):
        code, why = "more_traffic", f"it moves {times(traffic)} times as many bytes over links that are as fast"
        todo, refuted = "move as many bytes as the other side does", "equal bytes take as long"
    elif link and link < 1 - 2 * ALIKE:
        code, why = "slower_links", f"its links carry {share(link)} of the other side's bandwidth"
        todo, refuted = f"run {slow} with the communication library and links of {fast}", "equal links leave it as slow"
    else:
        code, why = "exposed_communication", "less of it is covered by compute, or it takes longer"
        todo, refuted = "overlap communication with compute", "covered communication leaves the step as long"
    yield facts.claim(
        code,
        f"{slow} communicates {seconds(more)} a step longer than {fast} with nothing else to do: {why}; "
        f"{_accounts(facts, more)}.",
        metrics=("exposed_communication", "peer_wait", "transfer_time", "collective_bytes", "bus_bandwidth"),
        parts=("exposed_communication",),
        refuted_by=refuted,
        intervention=todo,
    )


def copies(facts: Facts) -> Iterable[Claim]:
    """Copies between host and device that nothing covers."""
    more = _leads(facts, "exposed_copy")
    if more is None:
        return
    slow, fast = _slow_fast(facts)
    yield facts.claim(
        "exposed_copy",
        f"{slow} copies for {seconds(more)} a step longer than {fast} with nothing else to do; "
        f"{_accounts(facts, more)}.",
        metrics=("exposed_copy",),
        parts=("exposed_copy",),
        refuted_by="pinned memory and copies on a stream of their own leave the step as long",
        intervention=f"pin {slow}'s host memory and copy ahead of use",
    )


def compute(facts: Facts) -> Iterable[Claim]:
    """More work, slower kernels of one class, or a device that holds its clocks down."""
    more = _leads(facts, "compute")
    if more is None:
        return
    slow, fast = _slow_fast(facts)
    throttled, flops = _throttled(facts), facts.ratio("traced_flops", TRACED)
    timed = facts.both("throttled_share") is not None
    if throttled:
        yield facts.claim(
            "throttled",
            f"{slow} computes {seconds(more)} a step longer than {fast}, and heat or power held its clocks down in "
            f"{share(throttled)} of the samples; {_accounts(facts, more)}.",
            metrics=("compute", "average_power", *(() if timed else ("throttled_share",))),
            timed=("throttled_share",) if timed else (),
            parts=("compute",),
            refuted_by=f"{slow} stays as slow on a device that nothing throttles",
            intervention="cool the device, or set both sides to the same lower clock",
        )
    elif flops and flops > 1 + ALIKE:
        yield facts.claim(
            "more_flops",
            f"{slow} does {times(flops)} times the floating-point work of {fast} in a step, and computes "
            f"{seconds(more)} longer; {_accounts(facts, more)}.",
            metrics=("compute", "traced_flops"),
            parts=("compute",),
            refuted_by="equal work takes as long",
            intervention="give both sides the same work, or compare work done a second",
        )
    else:
        yield _slower_class(facts, more, equal=flops is not None)


def _slower_class(facts: Facts, more: float, *, equal: bool) -> Claim:
    slow, fast = _slow_fast(facts)
    classes = [part.id for part in facts.accounting.parts if part.id.startswith(INNER)]
    worst = max(classes, key=facts.more, default="compute")
    part = facts.part(worst)
    named = facts.more(worst) >= more / 2 and part is not None
    what = f"most of it in {part.title.removeprefix('Compute: ')}" if named and part else "over several kinds of work"
    work = "with as many floating-point operations" if equal else "(how many operations each does is not known)"
    return facts.claim(
        "slower_class" if named else "slower_compute",
        f"{slow} computes {seconds(more)} a step longer than {fast} {work}, {what}; {_accounts(facts, more)}.",
        metrics=("compute", *((worst,) if named and worst != "compute" else ()), "traced_flops"),
        parts=("compute",),
        refuted_by=f"{fast}'s kernels of that kind, run in {slow}, take as long",
        intervention=f"run {slow} with {fast}'s kernels of that kind, or the other way round",
    )


def _throttled(facts: Facts) -> float | None:
    """The slower side's throttled share, where it is throttled and the other is not as much."""
    found = facts.both("throttled_share") or facts.both("throttled_share", TRACED)
    if found is None or facts.slower is None:
        return None
    own, other = found[facts.slower], found[1 - facts.slower]
    return own if own >= THROTTLED and own - other >= THROTTLED else None


def overlap_is_no_goal(facts: Facts) -> Iterable[Claim]:
    """The slower side covers more of its communication."""
    found = facts.both("overlap_share", TRACED)
    if found is None or facts.slower is None or found[facts.slower] - found[1 - facts.slower] < ALIKE:
        return
    slow, fast = _slow_fast(facts)
    yield facts.claim(
        "overlap_no_goal",
        f"{slow} covers {share(found[facts.slower])} of its communication with compute and {fast} "
        f"{share(found[1 - facts.slower])}, and still takes longer: overlap is no goal by itself.",
        metrics=("overlap_share", "traced_step_time"),
        refuted_by=f"{slow}'s step is not the longer one",
    )


def noisy_rank(facts: Facts) -> Iterable[Claim]:
    """One rank of a side computes longer than the others, in every launch the same one."""
    for side in (0, 1):
        own, other = facts.mean(side, "rank_imbalance", TRACED), facts.mean(1 - side, "rank_imbalance", TRACED)
        if own is None or own < IMBALANCED or (other is not None and other >= IMBALANCED):
            continue
        ranks = {
            row.value
            for run in facts.runs(side, TRACED)
            if (row := run.find("straggler_rank")) and row.value is not None
        }
        which = f"rank {int(next(iter(ranks)))} in every launch" if len(ranks) == 1 else "not always the same one"
        yield facts.claim(
            "noisy_rank",
            f"One rank of {facts.names[side]} computes {times(own)} times as long as the mean of them ({which}).",
            metrics=("rank_imbalance", "straggler_rank"),
            refuted_by="on other nodes all ranks compute alike",
            intervention="put that rank's work on another device or node",
        )


def compile_repaid(facts: Facts) -> Iterable[Claim]:
    """The quicker side pays for it in its first step."""
    first, step = facts.both("first_step_time"), facts.both("step_time")
    if first is None or step is None or facts.slower is None:
        return
    fast = 1 - facts.slower
    cost, gain = first[fast] - first[facts.slower], step[facts.slower] - step[fast]
    if cost <= 10 * gain or gain <= 0:
        return
    yield facts.claim(
        "compile_repaid",
        f"{facts.names[fast]}'s first step takes {seconds(cost)} longer than {facts.names[facts.slower]}'s; at "
        f"{seconds(gain)} a step that is repaid after {round(cost / gain):,} steps.",
        metrics=("first_step_time", "step_time"),
        refuted_by="a first step that finds everything compiled takes no longer",
        role=Role.TIMED,
    )


RULES: tuple[Callable[[Facts], Iterable[Claim]], ...] = (
    input_wait,
    host_bound,
    communication,
    copies,
    compute,
    overlap_is_no_goal,
    noisy_rank,
    compile_repaid,
)
