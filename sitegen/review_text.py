"""A review as GitHub Markdown and as JSON.

Words that come from evidence are hostile: they stand in code spans, where neither Markdown nor HTML nor a mention means
anything, with all that cannot be seen spelled out.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from markupsafe import Markup

from ledger.plain_text import neutral
from sitegen.review import Review, VerdictChange
from sitegen.templates import render

LONGEST = 400
"""Characters of one piece of text from evidence."""
MOST = 40
"""Lines of one list: a comment has an end."""
_SHOWN = 3
"""Comparisons that the first line names."""
_PLAIN = re.compile(r"[a-z0-9-]+(/[a-z0-9-]+)?")


def to_markdown(review: Review) -> str:
    """The comment. Its first line says how it stands."""
    return render("review.md.jinja", review=review, headline=headline(review), code=code, most=MOST, counted=counted)


def to_json(review: Review) -> dict[str, Any]:
    """Plain JSON data, with the text of the evidence as it is."""
    return {
        "state": headline(review),
        "ok": not review.violations,
        "base": review.base,
        "merge_base": review.change.base,
        "head": review.change.head,
        "runs": [
            {"name": each.name, "outcome": None if each.run is None else asdict(each.run.outcome)}
            for each in review.runs
        ],
        "by_stack": [asdict(each) for each in review.outcomes],
        "verdicts": [{**asdict(each), "changed": each.changed} for each in review.verdicts],
        "violations": [each.to_json() for each in review.violations],
        "status_records": [each.to_json() for each in review.records],
        "declared": [{**asdict(each), "judged": each.judged} for each in review.declared],
        "already_broken": review.already_broken,
    }


def headline(review: Review) -> str:
    """`3 runs added, all intact, verdict unchanged (eager-vs-compile: compile wins, ready)`."""
    added = f"{counted(len(review.runs), 'run')} added" if review.runs else "no run added"
    if review.violations:
        parts = [counted(len(review.violations), "violation"), added]
    else:
        parts = [added, "all intact" if review.runs else "nothing broken"]
    records = [f"{counted(len(review.records), 'status record')} added"] if review.records else []
    if review.declared:
        records.append(f"{counted(len(review.declared), 'declared field')} changed")
    return ", ".join([*parts, *records, _verdicts(review.verdicts)])


def counted(number: int, word: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def code(text: object, *, cell: bool = False) -> Markup:
    """`text` as a Markdown code span; in a table's `cell` without the character that ends one."""
    line = neutral(" ".join(str(text).split()))
    line = f"{line[: LONGEST - 1]}…" if len(line) > LONGEST else line
    line = line.replace("|", "\uff5c") if cell else line
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line[:1] in ("`", "") or line[-1:] == "`" else ""
    return Markup(f"{fence}{space}{line}{space}{fence}")  # noqa: S704 (nothing has a meaning in a code span)


def _verdicts(verdicts: tuple[VerdictChange, ...]) -> str:
    if not verdicts:
        return "no comparison to judge"
    changed = [each for each in verdicts if each.changed]
    several = len({each.benchmark for each in verdicts}) > 1
    chosen = changed or list(verdicts)
    said = [f"{_name(each, several)}: {_step(each)}" for each in chosen[:_SHOWN]]
    said += [f"and {len(chosen) - _SHOWN} more"] if len(chosen) > _SHOWN else []
    word = "verdict" if len(chosen) == 1 else "verdicts"
    return f"{word} {'changed' if changed else 'unchanged'} ({'; '.join(said)})"


def _name(change: VerdictChange, several: bool) -> str:
    name = f"{change.benchmark}/{change.slug}" if several else change.slug
    return name if _PLAIN.fullmatch(name) else "a comparison"


def _step(change: VerdictChange) -> str:
    return f"{change.before} → {change.after}" if change.changed else change.after
