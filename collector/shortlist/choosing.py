"""Which public rows are drafted: the first that fit, or those that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ledger import shortlist
from ledger.errors import InputError
from ledger.shortlist import Asked, Entry, PublicRow, Standing, models
from ledger.suggestion import nearest

FAILED = "that failed there"
SILENT = "that do not tell what is asked for"
DOUBLES = "whose result another collection holds too"
SHOWN = 6


@dataclass(frozen=True)
class Choice:
    """The chosen rows, and what was not chosen."""

    entries: tuple[Entry, ...]
    fitting: int
    left_out: dict[str, int]
    unranked: str | None


def choose(
    rows: Sequence[PublicRow], wanted: Asked, named: Sequence[str], most: int, *, of_one_kind: bool = False
) -> Choice:
    """At most `most` rows that fit and did not fail there, or those called `named`.

    `of_one_kind` asks for rows of one kind of work and one model, from which a new file can be drafted. Raises
    InputError where there are none, or where they are of several.
    """
    if wanted.hardware is not None:
        _check_hardware(rows, wanted.hardware)
    if named:
        chosen = {row.link: row for row in (_named(rows, each) for each in named)}
        entries = tuple(Entry(row, (), unranked="it was named") for row in chosen.values())
        found = Choice(entries, len(entries), {}, "the rows were named")
    else:
        listed = shortlist.select(rows, wanted)
        fitting = [entry for entry in listed.entries if entry.row.state != "failed"]
        failed = len(listed.entries) - len(fitting)
        told = [entry for entry in fitting if not of_one_kind or _tells(entry)]
        silent, fitting = len(fitting) - len(told), told
        counts = {f"of another {fact}": count for fact, count in listed.left_out.items()}
        left_out = {
            why: n for why, n in (counts | {DOUBLES: listed.doubles, FAILED: failed, SILENT: silent}).items() if n
        }
        found = Choice(tuple(fitting), len(fitting), left_out, listed.unranked)
    if of_one_kind:
        _check_one_kind(found)
    return Choice(found.entries if named else found.entries[:most], found.fitting, found.left_out, found.unranked)


def _tells(entry: Entry) -> bool:
    """Whether a row tells phase, model and hardware where they are asked for: a new file is made of such rows alone."""
    return not any(
        fact.standing is Standing.UNKNOWN and fact.asked is not None
        for fact in entry.facts
        if fact.name != "model size"
    )


def _named(rows: Sequence[PublicRow], name: str) -> PublicRow:
    found = [row for row in rows if name in (row.link, row.row_id)]
    if len(found) == 1:
        return found[0]
    if found:
        links = ", ".join(row.link for row in found[:SHOWN])
        raise InputError(f"{len(found)} public rows have this name", where=f"--row {name}", todo=f"name one: {links}")
    names = nearest(name, [row.row_id for row in rows])
    todo = names if names.startswith("did") else 'see `stackproof query "SELECT row_id FROM shortlist"`'
    raise InputError("no public row has this name", where=f"--row {name}", todo=todo)


def _check_hardware(rows: Sequence[PublicRow], hardware: str) -> None:
    known = sorted({each for row in rows for each in (row.device_class, row.device, row.vendor) if each})
    if hardware.casefold() not in {each.casefold() for each in known}:
        raise InputError(
            "no public row is of this hardware", where=f"--hardware {hardware}", todo=nearest(hardware, known)
        )


def _check_one_kind(found: Choice) -> None:
    if not found.entries:
        said = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
        raise InputError(f"no public row fits ({said})", where="shortlist", todo="ask for another model or hardware")
    kinds = sorted({str(entry.row.kind or "a kind that is not told") for entry in found.entries})
    if len(kinds) > 1:
        what = f"the public rows that fit are of {' and '.join(kinds)} work, and a new file holds one kind"
        raise InputError(what, where="shortlist", todo="say which with --phase")
    if found.entries[0].row.kind is None:
        raise InputError(
            "no row tells whether it is train or serve work", where="shortlist", todo="name others with --row"
        )
    families = {models.family(entry.row.model) for entry in found.entries}
    sizes = [size for entry in found.entries if (size := models.size(entry.row.model)) is not None]
    if len(families) > 1 or (sizes and not models.same_size(min(sizes), max(sizes))):
        names = sorted({str(entry.row.model or "not told") for entry in found.entries})
        shown = f"{', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''}"
        what = f"the public rows that fit are of several models ({shown}), and a new file holds one"
        raise InputError(what, where="shortlist", todo="say which with --model, or name rows with --row")
