"""From chosen public rows to the text of a benchmark file, new or added to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collector.shortlist import frameworks, insertion, new_file, stack_text
from collector.shortlist.stack_text import StackDraft
from ledger import benchmark as benchmark_file
from ledger.benchmark import BenchmarkFile
from ledger.durable import storage_errors, write_new
from ledger.errors import InputError
from ledger.shortlist import PublicRow

_MARK = "@stacks@"
UNWRITTEN = "its launch script is still to be written"


@dataclass(frozen=True)
class Drafted:
    """What a benchmark file would become."""

    path: Path
    before: str | None
    """None for a file that is not there yet."""
    after: str
    added: tuple[StackDraft, ...]
    there: tuple[PublicRow, ...]
    """Rows that the file names already."""
    shown: str
    """The text that is new."""


def into(file: BenchmarkFile, rows: Sequence[PublicRow], known: Sequence[PublicRow]) -> Drafted:
    """The file with stacks for those of `rows` that it does not name yet; `known` are all. Raises InputError."""
    named = insertion.rows_there(file.source.text)
    results = {row.result for row in known if row.link in named}
    fresh = [row for row in rows if row.link not in named and row.result not in results]
    there = tuple(row for row in rows if row not in fresh)
    place = insertion.place(file)
    taken = set(file.benchmark.stacks)
    drafts = []
    for row in fresh:
        name = stack_text.unique_name(row, taken)
        taken.add(name)
        drafts.append(_unwritten(stack_text.draft(row, name, file.benchmark)))
    texts = [stack_text.text(each, place.indent, place.step) for each in drafts]
    after = insertion.inserted(file, texts, place) if texts else file.source.text
    return Drafted(file.source.path, file.source.text, after, tuple(drafts), there, "\n".join(texts))


def new(path: Path, rows: Sequence[PublicRow]) -> Drafted:
    """A file of its own, drafted from `rows`, which are of one kind of work. Raises InputError."""
    outline = new_file.text(path.stem, rows)
    frame = benchmark_file.parse(outline.replace(_MARK, "  draft: {adapter: openai}"), path).benchmark
    drafts: list[StackDraft] = []
    for row in rows:
        name = stack_text.unique_name(row, {each.name for each in drafts})
        drafts.append(stack_text.draft(row, name, frame))
    if all(draft.inactive for draft in drafts):
        first = drafts[0]
        raise InputError(f"no row can become a stack: {first.inactive}", where=first.row.link, todo="choose others")
    text = outline.replace(_MARK, "\n".join(stack_text.text(each, "  ", "  ") for each in drafts))
    benchmark_file.parse(text, path)
    return Drafted(path, None, text, tuple(drafts), (), text)


def write(drafted: Drafted) -> None:
    """Write the file, whole or not at all. Raises InputError where it was changed meanwhile, StorageError."""
    path, data = drafted.path.resolve(), drafted.after.encode()
    with storage_errors(path):
        if drafted.before is None:
            try:
                write_new(path, data)
            except FileExistsError:
                raise InputError("was made meanwhile", where=str(path), todo="run the same command again") from None
            return
        if path.read_bytes() != drafted.before.encode():
            raise InputError("was changed meanwhile", where=str(path), todo="run the same command again")
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            write_new(aside, data)
            aside.chmod(path.stat().st_mode)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def _unwritten(draft: StackDraft) -> StackDraft:
    """In a file that works a stack without its script would stop every other one from being collected."""
    if draft.adapter == frameworks.COMMAND and draft.inactive is None:
        return replace(draft, inactive=UNWRITTEN)
    return draft
