"""A row in the making, and the collection that is made of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from collector.importers import values
from collector.importers.dialect import Dialect, Entry
from collector.importers.files import Files, unique
from collector.importers.interface import Facts
from collector.importers.values import Absent
from ledger.canonical import digest
from ledger.errors import InputError
from ledger.public import TOPICS, Collection, Origin, Problem, Quantity, Row

NOT_TOLD = "the source does not tell"


@dataclass
class Draft:
    """What is known of one row so far."""

    id: str
    title: str
    state: str = "completed"
    failure: str | None = None
    workload: dict[str, Any] = field(default_factory=dict)
    hardware: dict[str, Any] = field(default_factory=dict)
    framework: str | None = None
    framework_version: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    shows: dict[str, str] = field(default_factory=dict)
    cannot_show: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def take(self, entry: Entry, raw: object) -> None:
        """Keep a published value, or why there is none."""
        self.keep(entry.metric, entry.read(raw))

    def keep(self, metric: str, found: float | Absent) -> None:
        """Keep a value that is read already; the first one of a metric counts."""
        if isinstance(found, Absent):
            if metric not in self.values:
                self.missing.setdefault(metric, found.reason)
        elif metric not in self.values:
            self.missing.pop(metric, None)
            self.values[metric] = found

    def withdraw(self, metric: str, reason: str) -> None:
        """Take a value back that is none."""
        if self.values.pop(metric, None) is not None:
            self.missing[metric] = reason

    def problem(self, code: str, what: str) -> None:
        """Note what a reader of the row must know."""
        self.problems.append(Problem(code, what))

    def row(self) -> Row:
        """The finished row: facts that stand for nothing are left out, topics not spoken of are not told."""
        cannot = {topic: self.cannot_show.get(topic, NOT_TOLD) for topic in TOPICS if topic not in self.shows}
        return Row(
            id=self.id,
            title=self.title,
            state=self.state,
            failure=self.failure,
            workload=_told(self.workload),
            hardware=_told(self.hardware),
            framework=self.framework,
            framework_version=self.framework_version,
            settings={name: _plain(value) for name, value in self.settings.items()},
            values=self.values,
            missing=self.missing,
            shows=self.shows,
            cannot_show=cannot,
            problems=tuple(self.problems),
        )


def finish(
    source: str,
    title: str,
    drafts: Sequence[Draft],
    dialect: Dialect,
    files: Files,
    facts: Facts,
    problems: Iterable[Problem] = (),
) -> Collection:
    """The collection of all drafts: work stated by the user added, equal rows once, ids made unique.

    Raises InputError when nothing is left to import, or the user's work fits no row.
    """
    if not drafts:
        raise InputError("holds no result", where=str(files.path), todo="name the file or folder with the results")
    _add_work(drafts, facts)
    try:
        rows, found = _once([draft.row() for draft in drafts])
    except UnicodeEncodeError:
        what = "holds text with half a character, which is no Unicode"
        raise InputError(what, where=str(files.path), todo="get the original file") from None
    except RecursionError:
        raise InputError("nests too deep", where=str(files.path), todo="get the original file") from None
    rows = [replace(row, id=each) for row, each in zip(rows, unique(row.id for row in rows), strict=True)]
    used = {metric for row in rows for metric in (*row.values, *row.missing)}
    quantities: tuple[Quantity, ...] = dialect.quantities(used)
    origin = Origin((*files.taken, *facts.files), facts.version, facts.commit, facts.licence)
    return Collection(source, title, origin, quantities, tuple(rows), (*problems, *found))


def _once(rows: list[Row]) -> tuple[list[Row], list[Problem]]:
    """Rows without those that say the same again, and what to tell about both kinds of doubles."""
    seen: dict[str, set[str]] = {}
    kept, same, other = [], [], []
    for row in rows:
        content = digest({**vars(row), "problems": [vars(each) for each in row.problems]})
        before = seen.setdefault(row.id, set())
        if content in before:
            same.append(row.id)
            continue
        if before:
            other.append(row.id)
        before.add(content)
        kept.append(row)
    problems = []
    if same:
        problems.append(Problem("duplicate", f"taken once though it stands there again: {_named(same)}"))
    if other:
        problems.append(Problem("same_name", f"one name for different results, told apart as #2, …: {_named(other)}"))
    return kept, problems


def _named(ids: list[str]) -> str:
    names = list(dict.fromkeys(ids))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def _add_work(drafts: Sequence[Draft], facts: Facts) -> None:
    for work in facts.work:
        fitting = [draft for draft in drafts if fnmatchcase(draft.id, work.rows)]
        if not fitting:
            names = ", ".join(draft.id for draft in drafts[:3])
            raise InputError(f"no row is named like {work.rows!r}", where=work.where, todo=f"rows are: {names}, …")
        for draft in fitting:
            draft.workload |= {"samples_per_step": work.samples, "tokens_per_step": work.tokens}
            told = [
                f"{count:,} {what}" for count, what in ((work.samples, "samples"), (work.tokens, "tokens")) if count
            ]
            draft.shows["work_per_step"] = f"{' and '.join(told)}, stated by who imported it: {work.source}"


def _told(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in facts.items() if not values.is_nothing(value)}


def _plain(value: Any) -> Any:
    """A value that canonical JSON can hold: NaN and infinities as text."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
