"""One public row as the text of a stack: what was taken, where from, what could not be carried over, what is to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from collector.shortlist import frameworks
from collector.shortlist.frameworks import COMMAND
from collector.shortlist.text import block, comment, one_line, scalar
from collector.stacks.interface import SettingsError
from collector.stacks.registry import ADAPTERS
from ledger.benchmark import Benchmark
from ledger.public import LABEL
from ledger.shortlist import PublicRow

LONGEST_NAME = 63
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_NO_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class StackDraft:
    """A stack that could be added to a benchmark file."""

    name: str
    row: PublicRow
    adapter: str
    settings: dict[str, Any]
    not_carried: tuple[str, ...]
    inactive: str | None
    """Why it is written as a comment alone: it cannot be launched under this workload as it is."""
    todo: tuple[str, ...]


def draft(row: PublicRow, name: str, benchmark: Benchmark) -> StackDraft:
    """The row as a stack of `benchmark`, which need not hold it yet."""
    kind = benchmark.workload.kind
    if kind == COMMAND or frameworks.adapter(row.framework) == COMMAND:
        mapped = frameworks.as_command(row, name)
    else:
        mapped = frameworks.mapped(row, getattr(getattr(benchmark.workload, "model", None), "precision", None))
    adapter, settings = mapped.adapter, mapped.settings
    inactive = _inactive(row, adapter, settings, benchmark)
    return StackDraft(name, row, adapter, settings, mapped.not_carried, inactive, _todo(row, adapter, settings))


def unique_name(row: PublicRow, taken: set[str]) -> str:
    """A stack's name made of the row's, that none in `taken` has."""
    base = _NO_NAME.sub("-", row.row_id.lower()).strip("-")[:LONGEST_NAME].strip("-") or "public-row"
    name, number = base, 2
    while name in taken:
        end = f"-{number}"
        name, number = f"{base[: LONGEST_NAME - len(end)].strip('-')}{end}", number + 1
    return name


def text(draft: StackDraft, indent: str, step: str) -> str:
    """The stack with its comments, a line each, without an end of line."""
    row, deep = draft.row, indent + step
    on = f"{row.devices} x {row.device}" if row.devices and row.device else row.device or "hardware not told"
    there = ", ".join(each for each in (row.framework or "framework not told", row.framework_version, on) if each)
    facts = ", ".join(each for each in (row.model, row.precision) if each)
    lines = comment(f"{LABEL}: {row.source}, {one_line(row.title)} ({row.file})", indent)
    lines += comment(f"There: {one_line(f'{there}; {facts}' if facts else there)}", indent)
    for code, what in row.problems:
        lines += comment(f"Known of it: {code.replace('_', ' ')}: {one_line(what)}", indent)
    if draft.not_carried:
        lines += comment(f"Not carried over: {', '.join(draft.not_carried)}", indent)
    for each in draft.todo:
        lines += comment(f"To do: {each}", indent)
    body = [
        f"{indent}{draft.name}:",
        f"{deep}adapter: {draft.adapter}",
        f"{deep}description: {scalar(f'Drafted from a public row of {row.source}, not verified here.')}",
        f"{deep}public: {scalar(row.link)}",
        *block("settings", draft.settings, deep, step),
    ]
    if draft.inactive:
        lines += comment(f"Not active: {draft.inactive}", indent)
        body = [f"{indent}# {line[len(indent) :]}" for line in body]
    return "\n".join([*lines, *body])


def _inactive(row: PublicRow, adapter: str, settings: dict[str, Any], benchmark: Benchmark) -> str | None:
    """Why the stack would stop the whole benchmark from being collected."""
    kind = benchmark.workload.kind
    if _NO_TEXT.search(row.link):
        return "its name holds a NUL or half a character, which no benchmark file can"
    if kind not in ADAPTERS[adapter].workload_kinds:
        named = row.framework or "a framework that is not told"
        work = " or ".join(f"`{each}`" for each in sorted(ADAPTERS[adapter].workload_kinds))
        known = f"{named} has no adapter of its own, and" if adapter == COMMAND else f"it is {named}, and"
        return f"{known} `{adapter}` launches {work} work, which this `{kind}` benchmark is not"
    try:
        ADAPTERS[adapter].resolve(settings, benchmark)
    except SettingsError as error:
        return f"{adapter} cannot take these settings: {f'{error.key} ' if error.key else ''}{error.what}"
    return None


def _todo(row: PublicRow, adapter: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """What a person has to add before this stack does what was published."""
    found = ["a price of the hardware, where cost is asked for"]
    if adapter == COMMAND:
        found.insert(0, f"write {settings['script']}, which launches {row.framework or 'it'} with these parameters")
    elif adapter in ("vllm", "llamacpp", "transformers"):
        version = f"=={row.framework_version}" if row.framework_version else ""
        found.insert(0, f"environment: {{requirements: FILE}} with {row.framework}{version}")
    return tuple(found)
