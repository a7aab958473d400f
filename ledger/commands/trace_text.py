"""What `stackproof trace` prints for people: 80 columns, whatever the traces hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from rich.cells import cell_len, set_cell_size

from ledger.commands.trace_side import Examined, Side, grouped
from ledger.plain_text import neutral
from ledger.traces.breakdown import PARTS, Breakdown
from ledger.traces.classes import CLASSES
from ledger.traces.difference import LEVELS, Difference, Row, Spent
from ledger.traces.integrity import ASSUMED

WIDTH = 80
BAR = 20
ABSENT = "–"
NO_OPERATOR = "(no operator is known)"
_PLURAL = {"part": "parts", "class": "classes", "operator": "operators", "kernel": "kernels"}


def explained(side: Side, top: int) -> Iterator[str]:
    """Each trace by itself, then the ranks together."""
    for place, each in enumerate(side.traces):
        if place:
            yield ""
        yield from _trace(each, top, alone=not side.is_one_run)
    yield from _together(side)


def compared(after: Side, before: Side, found: Difference, top: int) -> Iterator[str]:
    """Where the sides differ."""
    for word, side in (("before", before), ("after", after)):
        for each in side.traces:
            yield from _cut(f"{word + ':':<8}{neutral(_named(each))}, {_about(each.breakdown)}")
            yield from _findings(each)
    yield from _parts(found)
    yield from _changes(found, "operator", top)
    yield from _changes(found, "kernel", top)
    yield ""
    yield from _matched(found)
    for word, side in (("before", before), ("after", after)):
        if side.is_one_run:
            yield ""
            yield f"{word}:"
            yield from _together(side)


def _matched(found: Difference) -> Iterator[str]:
    """How far down the sides have the same things, and what one side alone has at each level, the longest named."""
    shares = {level: share for level, share in found.aligned.items() if share is not None}
    words = ", ".join(f"{level} {share:.1%}" for level, share in shares.items())
    yield from _cut(f"share of time in rows that both sides have: {words}")
    finest = next((level for level in reversed(LEVELS) if shares.get(level)), "part")
    yield from _cut(f"matched by {_PLURAL[finest]}, the finest level at which the sides have anything in common")
    for level in shares:
        rows = [path[-1] for path in found.unmatched(level)]
        yield from _alone(level, "before", [row for row in rows if row.after is None], found)
        yield from _alone(level, "after", [row for row in rows if row.before is None], found)


def _alone(level: str, side: str, rows: Sequence[Row], found: Difference) -> Iterator[str]:
    if rows:
        what = f"1 {level}" if len(rows) == 1 else f"{len(rows)} {_PLURAL[level]}"
        time = _decimal(sum(abs(row.change) for row in rows) / found.steps / 1e6)
        yield f"not matched: {what} of {side} alone, {time} ms a step"
        longest = neutral(rows[0].name or NO_OPERATOR)
        yield "  " + _fitted(longest if len(rows) == 1 else f"the longest: {longest}", WIDTH - 2)


def _trace(found: Examined, top: int, *, alone: bool) -> Iterator[str]:
    breakdown = found.breakdown
    yield neutral(_named(found))
    yield _about(breakdown)
    if not breakdown.duration:
        yield "no timed event: nothing to explain"
    else:
        yield from _breakdown(breakdown)
        yield from _kernels(found, top)
        if breakdown.has_device:
            yield from _operators(found, top)
        yield from _use(found)
        if alone:
            yield from _collectives((found,))
    yield from _findings(found)


def _named(found: Examined) -> str:
    return f"{found.path}, {found.share}" if found.share else str(found.path)


def _about(found: Breakdown) -> str:
    rank = "rank unknown" if found.rank is None else f"rank {found.rank}"
    of = f" of {found.world_size}" if found.world_size else ""
    return f"{rank}{of}, {'device' if found.has_device else 'host only'}, steps: {_numbers(found)}"


def _numbers(found: Breakdown) -> str:
    numbers = [step.number for step in found.steps if step.number is not None]
    if not numbers or found.step_count == 1:
        return str(found.step_count)
    return f"{found.step_count} ({numbers[0]} to {numbers[-1]})"


def _breakdown(found: Breakdown) -> Iterator[str]:
    def row(label: str, time: int) -> str:
        return f"{label:<30}{_decimal(time / found.step_count / 1e6):>12}{time / found.duration:>9.1%}"

    yield ""
    yield f"{'part of a step':<30}{'ms':>12}{'share':>9}"
    yield row("step", found.duration)
    for name in PARTS:
        yield f"{row('  ' + name, found.part(name))}  {'█' * round(BAR * found.part(name) / found.duration)}".rstrip()
        if name == "compute":
            kinds = [(kind, found.kind(kind)) for kind in CLASSES if found.kind(kind)]
            for kind, time in sorted(kinds, key=lambda each: -each[1]):
                yield row("    " + kind, time)


def _kernels(found: Examined, top: int) -> Iterator[str]:
    """Kernels by folded name, for what tells variants apart is more than a line has room for; the rest is in JSON."""
    rows: dict[tuple[str, str], Spent] = {}
    for key, spent in found.profile.spent.items():
        rows[key.name, key.kind] = rows.get((key.name, key.kind), Spent(0, 0)) + spent
    ordered = sorted(rows.items(), key=lambda row: (-row[1].time, row[0]))
    named = [(name, kind, spent) for (name, kind), spent in ordered[:top]]
    total = sum(spent.time for spent in rows.values())
    steps = found.breakdown.step_count
    yield from _spent("kernel, variants together" if found.breakdown.has_device else "operator", named, total, steps)


def _operators(found: Examined, top: int) -> Iterator[str]:
    rows = found.operators()
    total = sum(row.spent.time for row in rows)
    named = [(row.name or NO_OPERATOR, row.kind, row.spent) for row in rows[:top]]
    yield from _spent("operator that launched it", named, total, found.breakdown.step_count)


def _spent(title: str, rows: Sequence[tuple[str, str, Spent]], total: int, steps: int) -> Iterator[str]:
    if not rows or not total:
        return
    yield ""
    yield f"{'ms a step':>10}{'share':>7}{'calls':>7}  {'class':<14}{title}"
    for name, kind, spent in rows:
        start = f"{_decimal(spent.time / steps / 1e6):>10}{spent.time / total:>7.1%}{_count(spent.calls / steps):>7}"
        start += f"  {kind:<14}"
        yield start + _fitted(neutral(name), WIDTH - len(start))


def _use(found: Examined) -> Iterator[str]:
    use = found.use
    lines = []
    if use.gap is not None:
        lines.append(f"launch gap {use.gap / 1e3:.1f} µs (median of {use.gaps} on an idle device)")
    if use.covered is not None:
        lines.append(f"multiprocessors covered {use.covered:.1%} (thread blocks, by kernel time)")
    for way, copies in use.copies.items():
        speed = f"{copies.bytes / copies.time:.2f} GB/s"
        lines.append(f"copies {way}: {copies.count}, {_size(copies.bytes)}, {speed} while they ran")
    for where, memory in (("device", use.device_memory), ("host", use.host_memory)):
        if memory is not None:
            peak = f"peak {_size(memory.peak)} in use, " if memory.peak is not None and where == "device" else ""
            lines.append(f"{where} memory: {peak}grew by {_size(memory.growth)} at most while profiled")
    yield from ("", *lines) if lines else ()


def _size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}" if count < 1000 * factor else f"{count / factor:.0f} {unit}"
    return f"{count} B"


def _findings(found: Examined) -> Iterator[str]:
    if not found.integrity.usable:
        yield from _cut(f"not to be relied on: {neutral(found.integrity.reason or '')}")
    said = {"no_rank", *ASSUMED}  # in the head, and by the breakdown
    texts = [each.text for each in found.integrity.findings if not each.gates and each.code not in said]
    for text in dict.fromkeys((*texts, *found.breakdown.warnings)):
        if text not in (found.integrity.reason or ""):
            yield from _cut(f"note: {neutral(text)}")


def _together(side: Side) -> Iterator[str]:
    """What several ranks of one run show."""
    if side.is_one_run:
        yield from _ranks(side)
        yield from _collectives(side.traces)
        for finding in side.findings:
            yield from _cut(f"{'not to be relied on' if finding.gates else 'note'}: {neutral(finding.text)}")
    elif side.apart:
        yield ""
        yield from _cut(f"not compared as ranks: {neutral(side.apart)}")


def _collectives(traces: Sequence[Examined]) -> Iterator[str]:
    """Means a step and a rank."""
    groups, unsplit, notes = grouped(traces)
    steps = sum(each.breakdown.step_count for each in traces)
    if not groups:
        return
    yield ""
    yield f"{'collective, a step':<20}{'ranks':>6}{'calls':>8}{'bytes':>11}{'ms':>11}{'peer wait':>12}{'bus GB/s':>12}"
    for each in groups:
        size = ABSENT if each.bytes is None else _size(round(each.bytes / steps))
        wait = ABSENT if each.peer_wait is None else _decimal(each.peer_wait / steps / 1e6)
        bus = ABSENT if each.bus_bandwidth is None else f"{each.bus_bandwidth / 1e9:.2f}"
        ranks = ABSENT if each.size is None else str(each.size)
        start = f"{each.operation:<20}{ranks:>6}{_count(each.calls / steps):>8}{size:>11}"
        yield f"{start}{_decimal(each.time / steps / 1e6):>11}{wait:>12}{bus:>12}"
    if unsplit:
        yield from _cut(f"waiting for other ranks is not told from transfer: {neutral(unsplit)}")
    for note in notes:
        yield from _cut(f"note: {neutral(note)}")


def _ranks(side: Side) -> Iterator[str]:
    found = [each.breakdown for each in side.traces if each.breakdown.step_count]
    if not found:
        return
    yield ""
    heads = ("step", "compute", "exp. comm.", "copies", "input", "host gap", "idle")
    yield (
        f"{'rank, ms a step':<16}"
        + "".join(f"{head:>9}" for head in heads[:2])
        + "".join(f"{head:>11}" if head == "exp. comm." else f"{head:>9}" for head in heads[2:])
    )
    for each in sorted(found, key=lambda breakdown: breakdown.rank or 0):
        times = [each.duration, *(each.part(part) for part in PARTS)]
        cells = [_decimal(time / each.step_count / 1e6) for time in times]
        yield f"{each.rank!s:<16}" + "".join(
            f"{cell:>11}" if place == 2 else f"{cell:>9}" for place, cell in enumerate(cells)
        )
    straggler, imbalance = slowest(found)
    yield from _cut(
        f"rank {straggler.rank} computes longest, {imbalance:.3f} times the mean: "
        + ("the others wait for it" if imbalance >= 1.02 else "the ranks are balanced")
    )


def slowest(found: Sequence[Breakdown]) -> tuple[Breakdown, float]:
    """The rank that computes longest a step, and its compute over the mean of all (1 where none computes)."""
    times = [each.part("compute") / each.step_count for each in found]
    place = max(range(len(found)), key=times.__getitem__)
    mean = fmean(times)
    return found[place], times[place] / mean if mean else 1.0


def _parts(found: Difference) -> Iterator[str]:
    yield ""
    yield f"{'part of a step':<30}{'before ms':>12}{'after ms':>12}{'change ms':>13}{'of before':>12}"
    whole = found.step.before.time if found.step.before else 0
    for row, depth in _walked(found.step, 0):
        share = f"{row.change / whole:+.1%}" if whole else ""
        cells = f"{_ms(row.before, found):>12}{_ms(row.after, found):>12}{_signed(row.change, found):>13}{share:>12}"
        yield f"{'  ' * depth + (row.name or ''):<30}{cells}"


def _walked(row: Row, depth: int) -> Iterator[tuple[Row, int]]:
    """Step, parts and classes; what runs at once only where it keeps the classes from adding up."""
    if row.level in ("operator", "kernel"):
        return
    if row.level == "overlap" and depth > 2:
        return
    if row.level != "step" and not (row.before and row.before.time) and not (row.after and row.after.time):
        return
    yield row, depth
    for below in row.rows if row.level in ("step", "part") else ():
        yield from _walked(below, depth + 1)


def _changes(found: Difference, level: str, top: int) -> Iterator[str]:
    rows = sorted(_by_name(path[-1] for path in found.step.below(level)), key=lambda row: -abs(row.change))
    if not rows or not top:
        return
    yield ""
    yield f"{level:<38}{'calls':>11}{'before ms':>10}{'after ms':>10}{'change ms':>11}"
    for row in rows[:top]:
        calls = f"{_calls(row.before, found)}→{_calls(row.after, found)}"
        name = _fitted(neutral(row.name or NO_OPERATOR), 48 - len(calls))
        times = f"{_ms(row.before, found):>10}{_ms(row.after, found):>10}{_signed(row.change, found):>11}"
        yield f"{_padded(name, 49 - len(calls))}{calls}{times}"
    yield from _rest(rows[top:], level, found)


def _by_name(rows: Iterable[Row]) -> list[Row]:
    """One row a name: a kernel that several operators launch, an operator that launches work of several classes."""
    found: dict[str | None, Row] = {}
    for row in rows:
        other = found.get(row.name)
        before, after = (row.before, row.after) if other is None else _both(row, other)
        found[row.name] = Row(row.level, row.name, before, after)
    return list(found.values())


def _both(row: Row, other: Row) -> Iterator[Spent | None]:
    for one, two in ((row.before, other.before), (row.after, other.after)):
        yield one + two if one and two else one or two


def _rest(rows: Sequence[Row], level: str, found: Difference) -> Iterator[str]:
    """What the table has no room for, never left out silently."""
    for words, chosen in (
        ("that both sides have", [row for row in rows if row.is_matched]),
        ("of before alone", [row for row in rows if row.after is None]),
        ("of after alone", [row for row in rows if row.before is None]),
    ):
        if chosen:
            label = f"{len(chosen)} further {level}{'s' if len(chosen) > 1 else ''} {words}"
            yield f"{label:<69}{_signed(sum(row.change for row in chosen), found):>11}"


def _ms(spent: Spent | None, found: Difference) -> str:
    return ABSENT if spent is None else _decimal(spent.time / found.steps / 1e6)


def _calls(spent: Spent | None, found: Difference) -> str:
    return ABSENT if spent is None else _count(spent.calls / found.steps)


def _count(calls: float) -> str:
    return f"{calls:.4g}" if calls < 10_000 else f"{calls:.0f}"


def _signed(time: int, found: Difference) -> str:
    return _decimal(time / found.steps / 1e6, "+")


def _decimal(milliseconds: float, sign: str = "") -> str:
    """Whatever the size, nine characters or fewer up to months."""
    decimals = 3 if abs(milliseconds) < 1e4 else 1 if abs(milliseconds) < 1e6 else 0
    return f"{milliseconds:{sign}.{decimals}f}"


def _padded(name: str, width: int) -> str:
    return name + " " * (width - cell_len(name))


def _fitted(name: str, width: int) -> str:
    name = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("at::native::", "")
    return name if cell_len(name) <= width else set_cell_size(name, width - 1).rstrip() + "…"


def _cut(text: str, width: int = WIDTH) -> Iterator[str]:
    """A sentence on as many lines as it needs; a word longer than a line is broken."""
    indent = ""
    while len(text) + len(indent) > width:
        room = width - len(indent)
        at = text.rfind(" ", 1, room + 1)
        at = at if at > 0 else room
        yield indent + text[:at]
        text, indent = text[at:].lstrip(), "  "
    yield indent + text
