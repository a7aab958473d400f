"""Tuning paths and the transfer matrix in words, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from sitegen.comparison.tuning_path import Transfer, TransferCell, TuningPath
from sitegen.format import count, interval, ratio, ratios, value


def path_lines(path: TuningPath) -> Iterator[tuple[str, str]]:
    """(bullet, text) of one stack's search: how far it went, what was chosen, what failed."""
    lost = [f"{len(path.failed)} without a value"] if path.failed else []
    lost += [f"{len(path.outside)} outside the envelope"] if path.outside else []
    lost += [f"{len(path.refused)} passed over"] if path.refused else []
    took = f"{value(path.seconds, 's')} of launches"
    apart = f" ({', '.join(lost)})" if lost else ""
    tried = f"{path.stack}: {count(len(path.counting), 'trial')} of {', '.join(path.settings)} by {path.method}"
    yield "- ", f"{tried}{apart}, {took}{f'; {path.ended}' if path.ended else ''}"
    chosen = next((trial for trial in path.counting if trial.number == path.chosen), None)
    aside = next((trial for trial in path.trials if trial.number == path.chosen and trial.set_aside), None)
    if chosen is None and aside is not None:
        yield "    ", f"chosen: trial {aside.number} ({aside.parameters}), set aside since: {aside.set_aside}"
    elif chosen is None:
        yield "    ", "no timed launch has the settings of its best trial yet"
    else:
        again = f"{value(path.confirmed, path.unit)} in {count(path.launches, 'timed launch')}"
        bounds = f", 95 % interval {interval(path.low, path.high, path.unit)}" if path.low is not None else ""
        found = f"trial {chosen.number} ({chosen.parameters}): {value(path.searched, path.unit)} in the search"
        yield "    ", f"chosen: {found}, {again}{bounds}"
    for effect in path.effects:
        said = "not tried alone" if effect.ratio is None else f"x {ratio(effect.ratio)} alone"
        yield "    ", f"{effect.after} instead of {effect.before}: {said}"
    if path.interaction is not None:
        yield "    ", f"interaction of these: x {ratio(path.interaction)}"
    for trial in path.failed:
        why = (trial.reason or "not measured").replace("_", " ")
        yield "    ", f"trial {trial.number} ({trial.parameters}) {trial.state}: {why}"


def matrix_rows(moved: Transfer) -> list[tuple[str, ...]]:
    """A head and a row a pair of stacks: (launched, settings of, slowdown, interval, rounds)."""
    rows = [("launched", "settings of", "times worse", "95 % interval", "rounds")]
    return rows + [_row(cell) for row in moved.rows for cell in row if cell.stack != cell.settings_of]


def _row(cell: TransferCell) -> tuple[str, ...]:
    if cell.slowdown is None:
        return cell.stack, cell.settings_of, "none", cell.absent or "", str(cell.rounds)
    bounds = ratios(cell.low, cell.high, cell.slowdown) if cell.low is not None else cell.absent or ""
    return cell.stack, cell.settings_of, ratio(cell.slowdown, cell.low, cell.high), bounds, str(cell.rounds)
