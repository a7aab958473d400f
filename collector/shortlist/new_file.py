"""A first draft of a benchmark file whose workload comes from what public rows tell of theirs.

What the rows do not tell is marked `To do`. Where an adapter of ours launches a row's framework on our kind of work it
is a `serve` benchmark; all else is `command`: the user's own launch scripts, under one description of the job.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

import jinja2

from collector.shortlist import frameworks
from collector.shortlist.text import comment, one_line, scalar
from ledger.shortlist import PublicRow

COMMON = ("model", "precision", "dataset", "input_length", "output_length", "concurrency", "request_rate")
WORK = ("samples_per_step", "tokens_per_step", "sequence_length")
_SLUG = re.compile(r"[^a-z0-9]+")


def text(name: str, rows: Sequence[PublicRow]) -> str:
    """The file, with a mark where its stacks go."""
    facts, differing = common(rows)
    served = rows[0].kind == "serve" and any(frameworks.adapter(row.framework) != frameworks.COMMAND for row in rows)
    environment = jinja2.Environment(  # noqa: S701 (YAML, and each value passes `scalar`)
        loader=jinja2.PackageLoader("collector.shortlist", "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["scalar"] = scalar
    model = facts.get("model")
    return environment.get_template("serve.yaml.jinja" if served else "command.yaml.jinja").render(
        name=name,
        kind=rows[0].kind,
        model=one_line(model) if model else "a model that no row names",
        slug=_SLUG.sub("-", PurePosixPath(str(model or "model")).name.lower()).strip("-") or "model",
        facts={name: _harmless(facts.get(name)) for name in (*COMMON, *WORK)},
        work={name: int(facts[f"{name}_per_step"]) for name in ("samples", "tokens") if facts.get(f"{name}_per_step")},
        differing="\n".join(line for each in differing for line in comment(each, "  ")),
        job=_job(rows[0].kind, facts),
    )


def common(rows: Iterable[PublicRow]) -> tuple[dict[str, Any], list[str]]:
    """({fact: what most rows tell}, a sentence for each fact in which rows differ)."""
    facts: dict[str, Any] = {}
    differing: list[str] = []
    rows = list(rows)
    for name in (*COMMON, *WORK):
        told = [row.workload[name] for row in rows if isinstance(row.workload.get(name), str | int | float)]
        if not told:
            continue
        counts = Counter(told)
        facts[name] = counts.most_common(1)[0][0]
        silent = len(rows) - len(told)
        if len(counts) > 1 or silent:
            values = ", ".join(f"{one_line(value)} ({count})" for value, count in counts.most_common())
            more = f"; {silent} do not tell it" if silent else ""
            differing.append(f"The rows differ in {name}: {values}{more}")
    return facts, differing


def _harmless(value: Any) -> Any:
    return one_line(value) if isinstance(value, str) else value


def _job(kind: str | None, facts: dict[str, Any]) -> str:
    """The job in a sentence, of what most rows tell."""
    parts = [f"{'Serve' if kind == 'serve' else 'Train'} {one_line(facts.get('model', 'the model'))}"]
    named = {
        "precision": "in {}",
        "dataset": "on {}",
        "samples_per_step": "{} sequences a step",
        "sequence_length": "sequences of {} tokens",
        "input_length": "prompts of {} tokens",
        "output_length": "answers of {} tokens",
        "concurrency": "{} requests in flight",
    }
    served = {"input_length", "output_length", "concurrency"}
    for name, words in named.items():
        if name in facts and (kind == "serve" or name not in served):
            parts.append(words.format(one_line(facts[name])))
    return f"{', '.join(parts)}."
