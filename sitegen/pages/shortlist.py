"""What others have published: all of it on one page, and what fits each benchmark's work. Labelled, never judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger import public, shortlist
from ledger.benchmark import Benchmark
from ledger.errors import EvidenceError
from ledger.public import LABEL, TOPICS, Collection, Quantity
from ledger.shortlist import Entry, PublicRow, Published, Shortlist, Standing
from sitegen.format import count
from sitegen.templates import render

PATH = "shortlist.md"
HEADLINES = (
    "step_time",
    "tokens_per_second",
    "output_token_throughput",
    "total_token_throughput_per_device",
    "ttft",
    "tpot",
    "e2e",
    "mfu",
)
"""Quantities that get a column where a row has one, in this order; all values of a row are in its details."""
MOST_COLUMNS = 3
SHOWN_CONDITIONS = {
    "concurrency": "requests in flight",
    "request_rate": "requests a second",
    "input_length": "tokens in",
    "output_length": "tokens out",
    "samples_per_step": "sequences a step",
    "tokens_per_step": "tokens a step",
}


@dataclass(frozen=True)
class Line:
    """One row of a page's table."""

    entry: Entry
    number: int
    cells: tuple[Published | None, ...]
    values: tuple[Published, ...]
    """Everything that is published of it."""
    conditions: str

    @property
    def row(self) -> PublicRow:
        """The public row."""
        return self.entry.row


@dataclass(frozen=True)
class Source:
    """One imported collection."""

    collection: Collection
    digest: str

    @property
    def address(self) -> str:
        """Its file on the site, from the top."""
        return f"{public.FOLDER}/{self.collection.source}/{self.digest}.json"


def path(benchmark: str) -> str:
    """Where the page of what fits a benchmark stands in the site."""
    return f"shortlists/{benchmark}.md"


def sources(evidence: Path) -> list[tuple[Path, Source]]:
    """(file, what it holds) of every imported collection that can be read; the others are told with broken evidence."""
    found = []
    for file in public.paths(public.folder(evidence)):
        try:
            found.append((file, Source(public.read(file), file.stem)))
        except EvidenceError:
            continue
    return found


def page(rows: Sequence[PublicRow], imported: Sequence[Source], fitting: Iterable[tuple[str, int]]) -> str:
    """The Markdown of the page of all rows; `fitting` is how many rows fit which benchmark."""
    return render(
        "pages/shortlist.md.jinja",
        root="",
        label=LABEL,
        topics=TOPICS,
        sources=imported,
        quantities=_quantities(imported),
        fitting=list(fitting),
        choices=_choices(rows),
        **_table(shortlist.select(rows, None), ()),
    )


def _quantities(imported: Sequence[Source]) -> list[Quantity]:
    """Every definition that an imported collection states, once."""
    found = {each for source in imported for each in source.collection.quantities}
    return sorted(found, key=lambda each: (each.metric, each.name, each.definition))


def fits(benchmark: Benchmark, rows: Sequence[PublicRow]) -> Shortlist:
    """The rows that fit a benchmark. Its file tells no hardware, so that rows of every class stay in."""
    return shortlist.select(rows, shortlist.asked(benchmark, rows=rows))


def benchmark_page(benchmark: Benchmark, listed: Shortlist) -> str:
    """The Markdown of the page of what fits one benchmark."""
    return render(
        "pages/shortlist_of.md.jinja",
        root="../",
        label=LABEL,
        topics=TOPICS,
        benchmark=benchmark,
        asked=listed.asked,
        listed=listed,
        fitting=count(len(listed.entries), "public row"),
        choices=_choices([entry.row for entry in listed.entries]),
        **_table(listed, listed.metrics),
    )


def _table(listed: Shortlist, first: Sequence[str]) -> dict[str, Any]:
    """Columns and lines: `first` are metrics that come before the usual ones."""
    rows = [entry.row for entry in listed.entries]
    columns = _columns(rows, first)
    return {
        "columns": columns,
        "lines": [
            Line(
                entry,
                number,
                tuple(entry.row.values.get(each.metric) for each in columns),
                tuple(entry.row.values.values()),
                _conditions(entry),
            )
            for number, entry in enumerate(listed.entries, 1)
        ],
        "standing": Standing,
    }


def _columns(rows: Sequence[PublicRow], first: Sequence[str]) -> list[Published]:
    """One published value of each metric that gets a column, for its unit and definition."""
    counts: Counter[str] = Counter()
    examples: dict[str, Published] = {}
    for row in rows:
        for metric, told in row.values.items():
            if told.value is not None:
                counts[metric] += 1
                examples.setdefault(metric, told)
    chosen = list(first)
    for name in HEADLINES:
        family = [each for each in counts if each.partition("@")[0].partition(".")[0] == name and each not in chosen]
        chosen += sorted(family, key=lambda each: (-counts[each], each))[:1]
    return [examples[each] for each in chosen[:MOST_COLUMNS]]


def _conditions(entry: Entry) -> str:
    if entry.group is None:
        return ""
    return ", ".join(f"{value:,.6g} {SHOWN_CONDITIONS[name]}" for name, value in entry.group.conditions)


def _choices(rows: Sequence[PublicRow]) -> dict[str, list[str]]:
    """What the table can be filtered by."""
    found: dict[str, set[str | None]] = {
        "source": {row.source for row in rows},
        "phase": {row.kind for row in rows},
        "framework": {row.framework for row in rows},
        "hardware": {row.device for row in rows},
        "class": {row.device_class for row in rows},
    }
    return {name: sorted(each for each in values if each) for name, values in found.items()}
